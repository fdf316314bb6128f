//! HTTP/2 frame by frame: a server that refuses, resets and goes away on purpose, and what retries make of it.
//!
//! Its frames are written by hand, since no HTTP/2 library lets a server leave out of its GOAWAY a stream that it has
//! read.

mod frames;
pub(crate) mod server;

use super::stacks::clock::let_all_run;
use super::table::clients::{Kit, Log as Attempts, Retries, Stack, hyper_client, layer, policy};
use super::table::ending::Ending;
use super::table::orders::{Load, Order, Payload};
use super::tls::certificates::trusting_nobody;
use crate::in_time::in_time;
use h2::Reason;
use http_retry::ErrorKind;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use server::{Got, Http2Server, Turn};
use tower::{Layer, ServiceExt};

/// A client of HTTP/2 that sends one request to this server.
async fn send(server: &Http2Server, stack: Stack, order: Order, load: Load) -> Ending {
    let kit = Kit {
        http2: true,
        load,
        ..Kit::new(server.url())
    };
    let sent = stack.send(&kit, order, &Retries::Silent);
    in_time(sent).await
}

/// What a POST comes to when these turns are taken: its status, and the requests that came.
async fn post(turns: impl IntoIterator<Item = Turn>, stack: Stack) -> (Option<u16>, Vec<Got>) {
    let server = Http2Server::start(turns).await;
    let ending = send(&server, stack, Order::Post, Load::Usual).await;
    (ending.status, server.got())
}

const WITHOUT_REDIRECTS: [Stack; 3] = [Stack::ReqwestAsIs, Stack::ReqwestServiceAsIs, Stack::Hyper];

#[tokio::test]
async fn a_post_that_was_refused_is_sent_again_on_the_same_connection() {
    for stack in WITHOUT_REDIRECTS {
        let refused = Turn::ResetStream(Reason::REFUSED_STREAM);
        let (status, got) = post([refused, Turn::Answer(200)], stack).await;
        let expected = [(1, 1, refused), (1, 3, Turn::Answer(200))];
        let expected = expected.map(|(connection, stream, turn)| Got {
            connection,
            stream,
            body: b"order".to_vec(),
            turn,
        });
        assert_eq!((status, got), (Some(200), expected.to_vec()), "{stack:?}");
    }
}

#[tokio::test]
async fn a_post_left_out_by_a_goaway_is_sent_again() {
    for stack in WITHOUT_REDIRECTS {
        for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR] {
            let away = Turn::GoAwayWithout(reason);
            let (status, got) = post([away, Turn::Answer(201)], stack).await;
            let connections: Vec<_> = got.iter().map(|got| got.connection).collect();
            assert_eq!((status, connections), (Some(201), vec![1, 2]), "{stack:?}");
            assert!(got.iter().all(|got| got.body == b"order"));
        }
    }
}

/// hyper reports a GOAWAY also to a request that it has begun to send, whose stream the server may have accepted. With a
/// body that request is not whole; without one it is.
#[tokio::test]
async fn a_post_without_a_body_is_sent_once_despite_a_goaway() {
    for stack in WITHOUT_REDIRECTS {
        for order in [Order::Post, Order::PostWithKey, Order::Get] {
            let away = Turn::GoAwayWithout(Reason::NO_ERROR);
            let server = Http2Server::start([away, Turn::Answer(200)]).await;
            send(&server, stack, order, Load::Empty).await;
            let sent = if order == Order::Post { 1 } else { 2 };
            assert_eq!(server.got().len(), sent, "{stack:?}, {order:?}");
        }
    }
}

#[tokio::test]
async fn a_post_that_may_have_been_processed_is_sent_once() {
    let doubtful = [
        Turn::GoAwayWith(Reason::NO_ERROR),
        Turn::GoAwayWith(Reason::INTERNAL_ERROR),
        Turn::ResetStream(Reason::INTERNAL_ERROR),
        Turn::ResetStream(Reason::CANCEL),
        Turn::ResetStream(Reason::ENHANCE_YOUR_CALM),
        Turn::Close,
    ];
    for turn in doubtful {
        for stack in Stack::ALL {
            let (status, got) = post([turn, Turn::Answer(200)], stack).await;
            assert_eq!((status, got.len()), (None, 1), "{turn:?} {stack:?}");
        }
    }
}

#[tokio::test]
async fn a_request_that_waits_for_a_stream_outlives_its_connection() {
    let server = Http2Server::with_streams([Turn::Stall, Turn::Answer(200)], 1).await;
    let kit = Kit {
        http2: true,
        ..Kit::new(server.url())
    };
    let client = hyper_client(&kit);
    let get = || {
        http::Request::get(&kit.url)
            .body(Payload::of(Load::Usual, Order::Get))
            .unwrap()
    };
    let first = tokio::spawn(client.request(get()));
    server.until_requests(1).await;

    let log = Attempts::default();
    let service = layer(&Retries::Told(log.clone())).unwrap().layer(client);
    let second = tokio::spawn(service.oneshot(get()));
    let_all_run().await;
    server.close_connections();

    let answer = in_time(second).await.unwrap();
    assert_eq!(answer.unwrap().status(), 200);
    let kinds: Vec<_> = log.attempts().iter().map(|attempt| attempt.error).collect();
    assert_eq!(kinds, [Some(ErrorKind::Reset), None]);
    assert!(in_time(first).await.unwrap().is_err());
}

#[tokio::test]
async fn reqwest_repeats_refused_streams_itself_unless_told_never() {
    let server = Http2Server::start([Turn::ResetStream(Reason::REFUSED_STREAM)]).await;
    let sends = async |client: reqwest::Client, retries: bool| {
        let before = server.got().len();
        let client = reqwest_middleware::ClientBuilder::new(client);
        let client = if retries {
            client.with(RetryMiddleware::new(policy()).runtime(ManualRuntime::new()))
        } else {
            client
        };
        let sent = client.build().get(server.url()).send();
        in_time(sent).await.unwrap_err();
        server.got().len() - before
    };
    let builder = || {
        reqwest::Client::builder()
            .http2_prior_knowledge()
            .no_proxy()
    };
    let builder = || builder().tls_backend_preconfigured(trusting_nobody());
    let own = || builder().build().unwrap();
    let never = || builder().retry(reqwest::retry::never()).build().unwrap();
    assert_eq!(
        (sends(never(), false).await, sends(own(), false).await),
        (1, 3)
    );
    assert_eq!(
        (sends(never(), true).await, sends(own(), true).await),
        (2, 6)
    );
}
