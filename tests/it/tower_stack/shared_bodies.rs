//! A body whose copies share what it holds, lost to them while a retry waits.

use super::stack::{DELAY, SECOND, body_of, policy};
use crate::wire::shared_body::{Hint, Shared};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{AttemptTimeout, RetryBudget, RetryReport, StopReason};
use std::future::{Future, pending, ready};
use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

const TEXT: &[u8] = &[b'x'; 3_000];

type Attempt = Pin<Box<dyn Future<Output = Result<Response<String>, BoxError>> + Send>>;

/// Waits take no time; while a retry waits, the body loses this many pieces.
struct Losing(Shared, usize);

impl Runtime for Losing {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        if duration == DELAY {
            self.0.lose(self.1);
        }
        Box::pin(ready(()))
    }
}

fn is_refused() -> Attempt {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    Box::pin(ready(Err(refused.into())))
}

fn is_answered() -> Attempt {
    let mut response = Response::new("no room".to_owned());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    Box::pin(ready(Ok(response)))
}

fn is_cut_short() -> Attempt {
    Box::pin(pending())
}

/// What came of a PUT.
struct Put {
    answer: Result<(StatusCode, String), BoxError>,
    /// The bodies of later attempts.
    later: Vec<Bytes>,
    stop: Option<StopReason>,
    /// The tokens that are gone.
    spent: u64,
}

/// Sends a body of which the first attempt reads nothing, and which loses so many pieces before the second.
fn put(first: fn() -> Attempt, lost: usize) -> Put {
    let body = Shared::new(TEXT, Hint::Right);
    let budget = RetryBudget::default();
    let tokens = || budget.available(Duration::ZERO);
    let before = tokens();
    let (later, slot) = (Arc::default(), RetryReport::slot());
    let service = RetryLayer::new(policy().attempt_timeout(SECOND).build().unwrap())
        .runtime(Losing(body.clone(), lost))
        .budget(budget.clone())
        .layer(server(first, Arc::clone(&later)));
    let request = http::Request::put("http://api.example/").extension(slot.clone());
    let sent = service.oneshot(request.body(body).unwrap()).now_or_never();
    let answer = sent.unwrap();
    let answer = answer.map(|answer| (answer.status(), body_of(answer)));
    let later = later.lock().unwrap().clone();
    Put {
        answer,
        later,
        stop: slot.take().map(|report| report.stop),
        spent: before - tokens(),
    }
}

/// A server that reads the body from the second attempt on, and then answers 200.
fn server(
    first: fn() -> Attempt,
    later: Arc<Mutex<Vec<Bytes>>>,
) -> impl Service<http::Request<Shared>, Response = Response<String>, Error = BoxError, Future = Attempt>
+ Clone
+ Send {
    let attempts = Arc::new(AtomicUsize::new(0));
    service_fn(move |request: http::Request<Shared>| -> Attempt {
        if attempts.fetch_add(1, Relaxed) == 0 {
            return first();
        }
        let later = Arc::clone(&later);
        Box::pin(async move {
            let body = request.into_body().collect().await?.to_bytes();
            later.lock().unwrap().push(body);
            Ok(Response::new(String::new()))
        })
    })
}

#[test]
fn a_shared_body_that_nobody_has_read_is_sent_again() {
    for first in [is_refused, is_answered, is_cut_short] {
        let put = put(first, 0);
        assert_eq!(put.answer.unwrap().0, StatusCode::OK);
        assert_eq!(put.later, [TEXT]);
    }
}

#[test]
fn what_is_lost_while_a_retry_waits_is_not_sent() {
    for lost in [1, 2, 3] {
        for first in [is_refused, is_answered, is_cut_short] {
            let put = put(first, lost);
            assert!(put.later.is_empty(), "{:?}", put.later);
            assert_eq!(put.stop, Some(StopReason::BodyNotReplayable));
            assert_eq!(put.spent, 0, "the token is back");
        }
        let refused = put(is_refused, lost).answer.unwrap_err();
        let refused = refused.downcast::<io::Error>().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let answer = put(is_answered, lost).answer.unwrap();
        assert_eq!(
            answer,
            (StatusCode::SERVICE_UNAVAILABLE, "no room".to_owned())
        );
        let cut = put(is_cut_short, lost).answer.unwrap_err();
        assert!(cut.is::<AttemptTimeout>());
    }
}

/// Trailers alone are no bytes, and a copy that shares them has none left.
#[test]
fn trailers_that_are_gone_are_not_sent_as_nothing() {
    let trailers = HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("7"))]);
    let body = Shared::new(b"", Hint::Right).with_trailers(trailers);
    let server = service_fn(|request: http::Request<Shared>| async move {
        let sent = request.into_body().collect().await?;
        assert!(sent.trailers().is_some());
        is_answered().await
    });
    let service = RetryLayer::new(policy().build().unwrap())
        .runtime(ManualRuntime::new())
        .layer(server);
    let request = http::Request::put("http://api.example/").body(body);
    let answer = service.oneshot(request.unwrap()).now_or_never().unwrap();
    assert_eq!(answer.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
}
