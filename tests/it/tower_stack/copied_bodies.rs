//! Bodies that a function of the caller's copies: those that are no `http_body::Body`, and those that copy themselves.

use super::stack::{body_of, layer, report, status, text};
use bytes::Bytes;
use futures_util::FutureExt;
use http_retry::StopReason;
use std::fmt::Debug;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use tower::{BoxError, Layer, ServiceExt, service_fn};

fn request<B>(body: B) -> http::Request<B> {
    let request = http::Request::put("http://api.example/a?b").header("x", "1");
    request.body(body).unwrap()
}

/// Three attempts that get the same body as the caller gave, by the caller's own type.
fn is_sent_three_times<B, F>(body: B, copy: F)
where
    B: Clone + PartialEq + Debug + Send + 'static,
    F: Fn(&B) -> Option<B> + Clone + Send + 'static,
{
    let received = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&received);
    let server = service_fn(move |request: http::Request<B>| {
        assert_eq!(request.uri(), "http://api.example/a?b");
        assert_eq!(request.headers()["x"], "1");
        record.lock().unwrap().push(request.into_body());
        std::future::ready(Ok::<_, BoxError>(status(503)))
    });
    let service = layer().copy_value(copy).layer(server);
    let sent = service.oneshot(request(body.clone())).now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 503);
    assert_eq!(
        *received.lock().unwrap(),
        [body.clone(), body.clone(), body]
    );
}

#[test]
fn what_is_no_http_body_is_sent_again_by_a_function() {
    is_sent_three_times(Bytes::from("all of it"), |body: &Bytes| Some(body.clone()));
    is_sent_three_times(vec![1, 2], |body: &Vec<u8>| Some(body.clone()));
    is_sent_three_times("all of it", |body: &&str| Some(*body));
    is_sent_three_times((), |(): &()| Some(()));
}

/// A body that gives so many copies.
#[derive(Debug)]
struct Copies(Arc<AtomicUsize>);

impl Copies {
    fn new(copies: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(copies)))
    }

    fn try_clone(&self) -> Option<Self> {
        let left = self.0.load(Relaxed).checked_sub(1)?;
        self.0.store(left, Relaxed);
        Some(Self(Arc::clone(&self.0)))
    }
}

/// How often a body is sent that gives so many copies, how many it has left, and why it was not sent again.
fn sent(copies: usize) -> (usize, usize, StopReason) {
    let body = Copies::new(copies);
    let left = Arc::clone(&body.0);
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let server = service_fn(move |_: http::Request<Copies>| {
        counted.fetch_add(1, Relaxed);
        std::future::ready(Ok::<_, BoxError>(text(503, "no room")))
    });
    let service = layer().copy_value(Copies::try_clone).layer(server);
    let answer = service.oneshot(request(body)).now_or_never();
    let answer = answer.unwrap().unwrap();
    let stop = report(&answer).stop;
    assert_eq!(body_of(answer), "no room");
    (attempts.load(Relaxed), left.load(Relaxed), stop)
}

#[test]
fn a_body_is_sent_as_often_as_it_gives_copies() {
    for copies in [0, 1] {
        let once_more = (copies + 1, 0, StopReason::BodyNotReplayable);
        assert_eq!(sent(copies), once_more);
    }
    // The last attempt needs none.
    assert_eq!(sent(9), (3, 7, StopReason::AttemptsExhausted));
}

#[test]
fn a_copied_body_goes_with_unchanged_errors_and_across_threads() {
    fn is_send<F: Future + Send>(future: F) -> F {
        future
    }
    let server =
        service_fn(|_: http::Request<Copies>| std::future::ready(Ok::<_, BoxError>(status(200))));
    let first = layer().unchanged_errors().copy_value(Copies::try_clone);
    let then = layer().copy_value(Copies::try_clone).unchanged_errors();
    for layer in [first, then] {
        let sent = is_send(layer.layer(server).oneshot(request(Copies::new(1))));
        assert_eq!(sent.now_or_never().unwrap().unwrap().status(), 200);
    }
}
