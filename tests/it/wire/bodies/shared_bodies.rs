//! Bodies that are `Clone`: sent again where a copy is what the first attempt sent, and once where it may be less.

use super::super::connections::client::{HyperClient, Speaks, bare_hyper, without_waits};
use super::super::server::{Act, Answer, FaultServer, Received};
use super::super::shared_body::{Hint, Shared};
use super::text;
use crate::in_time::in_time;
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Collected, Either, Empty, Full, Limited, StreamBody};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Replay, ReplayBody, RetryBudget, RetryReport, StopReason};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use tower::{BoxError, Layer, Service, ServiceExt};

const LENGTH: usize = 3_000;

/// What came of a PUT.
#[derive(Debug)]
struct Put {
    /// The answer's status and body; nothing where there was no answer.
    answer: Option<(u16, Bytes)>,
    stop: Option<StopReason>,
    received: Vec<Received>,
}

impl Put {
    fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|(status, _)| *status)
    }

    /// The bodies that reached the server.
    fn bodies(&self) -> Vec<&[u8]> {
        let received = self.received.iter();
        received.map(|request| &request.body[..]).collect()
    }
}

fn layer() -> RetryLayer {
    RetryLayer::new(without_waits(3))
        .budget(RetryBudget::unlimited())
        .runtime(ManualRuntime::new())
}

async fn put<B>(body: B, act: Act) -> Put
where
    B: Body + Replay + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    put_through(layer(), body, act).await
}

/// Sends a body through a client of hyper to a server that does this first.
async fn put_through<L, B, A>(layer: L, body: B, act: Act) -> Put
where
    L: Layer<HyperClient<B>>,
    L::Service: Service<http::Request<B>, Response = http::Response<A>>,
    B: Body + Send,
    B::Data: Send,
    A: Body,
{
    let server = FaultServer::start([act]).await;
    let slot = RetryReport::slot();
    let request = http::Request::put(server.url("/")).extension(slot.clone());
    let client = layer.layer(bare_hyper(Speaks::Http1));
    let sent = client.oneshot(request.body(body).unwrap());
    let answer = match in_time(sent).await {
        Err(_) => None,
        Ok(answer) => {
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await;
            let body = body.map(Collected::to_bytes).unwrap_or_default();
            Some((status, body))
        }
    };
    Put {
        answer,
        stop: slot.take().map(|report| report.stop),
        received: server.received(),
    }
}

async fn is_sent_again<B>(what: &str, body: impl Fn() -> B, whole: &[u8])
where
    B: Body + Replay + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    for act in [Act::status(503), Act::ResetAfterRequest] {
        let why = format!("{what} after {act:?}");
        let put = put(body(), act).await;
        assert_eq!(put.status(), Some(200), "{why}");
        assert_eq!(put.bodies(), [whole; 2], "{why}");
    }
}

#[tokio::test]
async fn a_body_whose_copy_is_whole_is_sent_again() {
    let text = text(LENGTH);
    let full = || Full::new(text.clone());
    let string = String::from_utf8(text.to_vec()).unwrap();
    type Choice = Either<Full<Bytes>, Empty<Bytes>>;
    is_sent_again("String", || string.clone(), &text).await;
    is_sent_again("empty String", String::new, b"").await;
    is_sent_again("Full", full, &text).await;
    is_sent_again("empty Full", Full::<Bytes>::default, b"").await;
    is_sent_again("Empty", Empty::<Bytes>::new, b"").await;
    is_sent_again("Either", || Choice::Left(full()), &text).await;
    is_sent_again("empty Either", || Choice::Right(Empty::new()), b"").await;
    is_sent_again("Limited", || Limited::new(full(), LENGTH), &text).await;
    is_sent_again("Box", || Box::new(full()), &text).await;
    is_sent_again("Pin", || Box::pin(full()), &text).await;
    let never = |never: Infallible| -> io::Error { match never {} };
    is_sent_again("map_err", || full().map_err(never), &text).await;
    let deque = || Full::new(VecDeque::from(text.to_vec()));
    is_sent_again("Full of a deque", deque, &text).await;
}

#[tokio::test]
async fn a_copy_that_shares_what_was_sent_is_not_sent() {
    let text = text(LENGTH);
    for hint in [Hint::Right, Hint::NoLength, Hint::NeverAtItsEnd] {
        for act in [Act::status(503), Act::ResetAfterRequest, Act::CutBody(502)] {
            let why = format!("{hint:?} after {act:?}");
            let put = put(Shared::new(&text, hint), act).await;
            assert_eq!(put.bodies(), [&text[..]], "{why}");
            assert_ne!(put.status(), Some(200), "{why}");
            assert_eq!(put.stop, Some(StopReason::BodyNotReplayable), "{why}");
        }
    }
}

#[tokio::test]
async fn the_answer_to_a_body_that_is_gone_comes_back_whole() {
    let sorry = Act::Answer(Answer::new(503).body("no room"));
    let put = put(Shared::new(&text(LENGTH), Hint::Right), sorry).await;
    assert_eq!(put.answer, Some((503, Bytes::from("no room"))));
}

#[tokio::test]
async fn what_is_half_sent_when_the_answer_comes_is_not_sent_again() {
    let body = Shared::new(&text(LENGTH), Hint::Right).stops_after(1);
    let put = put(body, Act::AnswerEarly(Answer::new(503))).await;
    assert_eq!((put.status(), put.received.len()), (Some(503), 1));
    assert_eq!(put.stop, Some(StopReason::BodyNotReplayable));
}

#[tokio::test]
async fn a_stream_of_unknown_length_is_sent_once_though_it_is_clone() {
    let text = text(LENGTH);
    let pieces = [text.clone()].into_iter();
    let frames = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    let stream = StreamBody::new(futures_util::stream::iter(frames));
    let put = put(stream, Act::status(503)).await;
    assert_eq!((put.status(), put.bodies()), (Some(503), vec![&text[..]]));
    assert_eq!(put.stop, Some(StopReason::BodyNotReplayable));
}

#[tokio::test]
async fn a_body_that_tells_a_wrong_length_never_arrives_changed() {
    let text = text(LENGTH);
    let put = put(Shared::new(&text, Hint::FirstForEver), Act::status(503)).await;
    let whole = put.received.iter().filter(|request| request.whole);
    let whole: Vec<_> = whole.map(|request| &request.body[..]).collect();
    assert_eq!(whole, [&text[..]]);
}

#[tokio::test]
async fn nothing_is_still_nothing_when_it_is_shared() {
    for hint in [Hint::Right, Hint::NoLength] {
        let put = put(Shared::new(b"", hint), Act::status(503)).await;
        assert_eq!((put.status(), put.bodies()), (Some(200), vec![&b""[..]; 2]));
    }
}

#[tokio::test]
async fn a_body_that_copies_itself_is_sent_again_by_its_own_word() {
    let text = text(LENGTH);
    for hint in [Hint::Right, Hint::NoLength, Hint::NeverAtItsEnd] {
        for act in [Act::status(503), Act::ResetAfterRequest, Act::CutBody(502)] {
            let why = format!("{hint:?} after {act:?}");
            let layer = layer().copy_body(Shared::try_clone);
            let put = put_through(layer, Shared::new(&text, hint), act).await;
            assert_eq!(put.status(), Some(200), "{why}");
            assert_eq!(put.bodies(), [&text[..]; 2], "{why}");
        }
    }
}

#[tokio::test]
async fn a_copy_by_a_function_that_shares_what_was_sent_is_not_sent() {
    let text = text(LENGTH);
    for hint in [Hint::Right, Hint::NoLength, Hint::NeverAtItsEnd] {
        for act in [Act::status(503), Act::ResetAfterRequest, Act::CutBody(502)] {
            let why = format!("{hint:?} after {act:?}");
            let layer = layer().copy_body(|body: &Shared| Some(body.clone()));
            let put = put_through(layer, Shared::new(&text, hint), act).await;
            assert_eq!(put.bodies(), [&text[..]], "{why}");
            assert_ne!(put.status(), Some(200), "{why}");
            assert_eq!(put.stop, Some(StopReason::BodyNotReplayable), "{why}");
        }
    }
}

#[tokio::test]
async fn a_copy_by_a_function_that_is_too_short_is_not_sent() {
    let text = text(LENGTH);
    let short = |_: &Full<Bytes>| Some(Full::new(Bytes::from_static(b"short")));
    let put = put_through(
        layer().copy_body(short),
        Full::new(text.clone()),
        Act::status(503),
    );
    let put = put.await;
    assert_eq!((put.status(), put.bodies()), (Some(503), vec![&text[..]]));
    assert_eq!(put.stop, Some(StopReason::BodyNotReplayable));
}

#[tokio::test]
async fn half_a_body_is_not_sent_by_a_function_that_shares() {
    let body = Shared::new(&text(LENGTH), Hint::Right).stops_after(1);
    let early = Act::AnswerEarly(Answer::new(503));
    let layer = layer().copy_body(|body: &Shared| Some(body.clone()));
    let put = put_through(layer, body, early).await;
    assert_eq!((put.status(), put.received.len()), (Some(503), 1));
    assert_eq!(put.stop, Some(StopReason::BodyNotReplayable));
}

#[tokio::test]
async fn a_stream_that_a_function_copies_into_bytes_is_sent_again() {
    type Body = Either<Shared, Full<Bytes>>;
    let text = text(LENGTH);
    let bytes = text.clone();
    let copy = move |_: &Body| Some(Body::Right(Full::new(bytes.clone())));
    let body = Body::Left(Shared::new(&text, Hint::NoLength));
    let put = put_through(layer().copy_body(copy), body, Act::status(503)).await;
    assert_eq!(put.status(), Some(200));
    assert_eq!(put.bodies(), [&text[..]; 2]);
}

#[tokio::test]
async fn nothing_is_sent_again_whatever_its_copy_announces() {
    type Body = Either<Empty<Bytes>, Shared>;
    for hint in [Hint::Right, Hint::NoLength, Hint::NeverAtItsEnd] {
        let copy = move |_: &Body| Some(Body::Right(Shared::new(b"", hint)));
        let body = Body::Left(Empty::new());
        let put = put_through(layer().copy_body(copy), body, Act::status(503)).await;
        let twice = (Some(200), vec![&b""[..]; 2]);
        assert_eq!((put.status(), put.bodies()), twice, "{hint:?}");
    }
}

#[tokio::test]
async fn an_empty_body_is_recorded_whatever_the_limit() {
    type Body = UnsyncBoxBody<Bytes, BoxError>;
    let empty = Empty::<Bytes>::new().map_err(|never| match never {});
    let layer = layer().replay_limit(0);
    let layer = layer.record_body(|record: ReplayBody<Body>| record.boxed_unsync());
    let put = put_through(layer, empty.boxed_unsync(), Act::status(503)).await;
    assert_eq!((put.status(), put.bodies()), (Some(200), vec![&b""[..]; 2]));
}
