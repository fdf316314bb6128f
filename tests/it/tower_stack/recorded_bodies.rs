//! Bodies that are recorded while they are sent, and that the client gets as its own type.

use super::stack::{layer, report, status};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use http_retry::tower::RetryLayer;
use http_retry::{ReplayBody, StopReason};
use std::sync::{Arc, Mutex};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// A body that can hold any other, as those of tonic and jsonrpsee.
type Boxed = UnsyncBoxBody<Bytes, BoxError>;

/// A body that is no `Clone`, in two pieces.
fn body() -> Boxed {
    let pieces = ["all ", "of it"].map(|text| Ok(Frame::data(Bytes::from(text))));
    StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync()
}

fn boxed(record: ReplayBody<Boxed>) -> Boxed {
    record.boxed_unsync()
}

/// The bodies that a server reads that answers 503 each time, or that it does not read, and why there was no more.
fn sent(
    layer: &RetryLayer,
    wrap: fn(ReplayBody<Boxed>) -> Boxed,
    reads: bool,
) -> (Vec<Bytes>, StopReason) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&received);
    let server = service_fn(move |request: http::Request<Boxed>| {
        let record = Arc::clone(&record);
        async move {
            let mut read = Bytes::new();
            if reads {
                read = request.into_body().collect().await?.to_bytes();
            }
            record.lock().unwrap().push(read);
            Ok::<_, BoxError>(status(503))
        }
    });
    let service = layer.clone().record_body(wrap).layer(server);
    let request = http::Request::put("http://api.example/a").body(body());
    let answer = service.oneshot(request.unwrap()).now_or_never();
    let stop = report(&answer.unwrap().unwrap()).stop;
    let received = received.lock().unwrap().clone();
    (received, stop)
}

#[test]
fn a_recorded_body_is_sent_whole_each_time() {
    let (received, stop) = sent(&layer(), boxed, true);
    assert_eq!(received, ["all of it"; 3]);
    assert_eq!(stop, StopReason::AttemptsExhausted);
}

#[test]
fn a_body_over_the_limit_is_sent_once() {
    for (limit, times) in [(8, 1), (9, 3)] {
        let (received, _) = sent(&layer().replay_limit(limit), boxed, true);
        assert_eq!(received, vec!["all of it"; times], "{limit}");
    }
}

#[test]
fn a_body_that_was_answered_unread_is_sent_once() {
    let (received, stop) = sent(&layer(), boxed, false);
    assert_eq!((received.len(), stop), (1, StopReason::BodyNotReplayable));
}

#[test]
fn a_function_that_leaves_the_record_unused_gets_no_retry() {
    let (received, stop) = sent(&layer(), |_| body(), true);
    assert_eq!((received.len(), stop), (1, StopReason::BodyNotReplayable));
}
