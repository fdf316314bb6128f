//! Bodies that are as they would be without the layer.

use super::script::{Piece, Scripted, Turn, bytes, download, get, layer, policy};
use http::{Method, Request};
use http_retry::RetryOverride;
use http_retry::testing::ManualRuntime;
use tower::service_fn;
use tower::{Layer, ServiceExt};

fn own(own: RetryOverride) -> Request<String> {
    let mut request = get();
    request.extensions_mut().insert(own);
    request
}

/// What a request is, whether its body goes on, and the coding that it asks for.
type Row = (&'static str, Request<String>, bool, Option<&'static str>);

fn requests() -> [Row; 7] {
    let mut post = get();
    *post.method_mut() = Method::POST;
    let mut ranges = get();
    let several = "bytes=0-1,4-5".parse().unwrap();
    ranges.headers_mut().insert("range", several);
    let mut keeps = own(RetryOverride::new().resume(true));
    keeps
        .headers_mut()
        .insert("accept-encoding", "gzip".parse().unwrap());
    [
        ("a GET", get(), true, Some("identity")),
        ("a coding of its own", keeps, true, Some("gzip")),
        ("a POST", post, false, None),
        ("several ranges", ranges, false, Some("identity")),
        (
            "not to be resumed",
            own(RetryOverride::new().resume(false)),
            false,
            None,
        ),
        (
            "sent once",
            own(RetryOverride::off()),
            false,
            Some("identity"),
        ),
        (
            "no retries",
            own(RetryOverride::new().max_retries(0)),
            false,
            Some("identity"),
        ),
    ]
}

#[tokio::test]
async fn a_body_is_plain_where_it_may_not_go_on() {
    for (what, request, wanted, coding) in requests() {
        let turn = Turn::file(10).sends(0..5).then(Piece::Reset);
        let client = Scripted::new([turn, Turn::rest(0, 10).sends(0..10)]);
        let layer = layer(policy()).runtime(ManualRuntime::new());
        let ended = download(layer.resume_downloads(), &client, request).await;
        assert_eq!(ended.progress.is_some(), wanted, "{what}");
        assert_eq!(ended.error.is_none(), wanted, "{what}");
        assert_eq!(ended.interrupted(), None, "{what}");
        assert_eq!(ended.read, bytes(0..if wanted { 10 } else { 5 }), "{what}");
        let asked = client.asked("accept-encoding");
        assert_eq!(asked[0].as_deref(), coding, "{what}");
    }
}

/// Whether the layer watches the body of a request that is sent within this attempt.
async fn is_watched(nested: impl Fn(&mut Request<String>) + Clone + Send + 'static) -> bool {
    let client = Scripted::new([Turn::file(10).sends(0..10)]);
    let inner = layer(policy()).resume_downloads().layer(client);
    let outer = service_fn(move |mut request: Request<String>| {
        nested(&mut request);
        inner.clone().oneshot(request)
    });
    let service = layer(policy()).layer(outer);
    let response = service.oneshot(get()).await.unwrap();
    let watched = response
        .extensions()
        .get::<http_retry::resume::ResumeProgress>();
    watched.is_some()
}

#[tokio::test]
async fn within_another_layer_it_is_plain() {
    assert!(!is_watched(|_| ()).await);
    let retry_when_nested = |request: &mut Request<String>| {
        let own = RetryOverride::new().retry_when_nested();
        request.extensions_mut().insert(own);
    };
    assert!(is_watched(retry_when_nested).await);
}

#[tokio::test]
async fn a_copied_body_is_copied_for_the_rest_too() {
    let client = Scripted::new([
        Turn::file(10).sends(0..5).then(Piece::Reset),
        Turn::rest(0, 10).sends(0..10),
    ]);
    let layer = layer(policy()).runtime(ManualRuntime::new());
    let layer = layer.copy_body(|body: &String| Some(body.clone()));
    let ended = download(layer.resume_downloads(), &client, get()).await;
    assert_eq!(ended.read, bytes(0..10));
}
