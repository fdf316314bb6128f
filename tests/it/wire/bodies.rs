//! What a server receives when a body is sent again: all of it, once, in the framing that it had.

mod early_answers;
mod given_up;
mod limits;
mod over_http2;
mod reqwest_bodies;
mod rewritten;
mod shared_bodies;
mod tower_bodies;

use super::connections::client::{HyperClient, Speaks, bare_hyper, without_waits};
use super::server::{Act, Answer, FaultServer, Received};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http_body::Frame;
use http_body_util::StreamBody;
use http_retry::RetryBudget;
use http_retry::runtime::Runtime;
use http_retry::tower::{Retry, RetryLayer};
use std::io;
use tokio::sync::mpsc;
use tower::Layer;

/// How much of a body the server has read when the first attempt ends, and how it ends.
fn first_ends() -> Vec<Act> {
    let nothing = [Act::CloseUnread, Act::ResetUnread];
    let a_part = [Act::ResetAfterRequestHead];
    let all = [
        Act::CloseAfterRequest,
        Act::ResetAfterRequest,
        Act::CloseInHead,
        Act::ResetInHead,
        Act::status(500),
        Act::Answer(Answer::new(503).header("retry-after", "0")),
        Act::CutBody(502),
        Act::ResetInBody(504),
    ];
    nothing.into_iter().chain(a_part).chain(all).collect()
}

/// How a body's end is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// There is no body, and nothing says that there is one.
    None,
}

fn framing(received: &Received) -> Framing {
    let head = received.head.to_ascii_lowercase();
    let value = |name| head.split(name).nth(1).and_then(|rest| rest.lines().next());
    match (value("content-length: "), value("transfer-encoding: ")) {
        (Some(length), None) => Framing::Length(length.parse().unwrap()),
        (None, Some("chunked")) => Framing::Chunked,
        (None, None) => Framing::None,
        both => panic!("{both:?}"),
    }
}

/// The last request is the body, byte for byte, and those before it are the same or were cut short.
fn assert_sent_again(server: &FaultServer, body: &[u8], told: Framing, why: &str) {
    let received = server.received();
    let (last, earlier) = received.split_last().unwrap();
    assert!(last.whole && last.body == body, "{why}: {last:?}");
    for request in earlier {
        assert!(body.starts_with(&request.body), "{why}: {request:?}");
        assert!(!request.whole || request.body == body, "{why}: {request:?}");
    }
    for request in &received {
        assert_eq!(framing(request), told, "{why}: {request:?}");
    }
}

/// So many bytes of which no two neighbouring runs are alike.
fn text(length: usize) -> Bytes {
    let text = (0..).flat_map(|number: usize| format!("{number},").into_bytes());
    text.take(length).collect()
}

/// Three pieces that are empty, short and long.
fn pieces(text: &Bytes) -> impl Stream<Item = io::Result<Bytes>> + Send + Sync + use<> {
    let (short, long) = (text.slice(..text.len() / 5), text.slice(text.len() / 5..));
    stream::iter([short, Bytes::new(), long].map(Ok))
}

type Frames = io::Result<Frame<Bytes>>;

/// A body that is fed by hand.
fn channel() -> (
    mpsc::UnboundedSender<Bytes>,
    impl Stream<Item = io::Result<Bytes>> + Send + Sync + 'static,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let stream = stream::unfold(receiver, |mut receiver| async {
        Some((Ok(receiver.recv().await?), receiver))
    });
    (sender, stream)
}

fn body_of(
    stream: impl Stream<Item = io::Result<Bytes>> + Send,
) -> StreamBody<impl Stream<Item = Frames> + Send> {
    use futures_util::TryStreamExt;
    StreamBody::new(stream.map_ok(Frame::data))
}

/// A client of hyper with retries on a clock that stands still.
fn hyper_client<B>(runtime: impl Runtime) -> Retry<HyperClient<B>>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    let retries = RetryLayer::new(without_waits(3)).budget(RetryBudget::unlimited());
    retries.runtime(runtime).layer(bare_hyper(Speaks::Http1))
}
