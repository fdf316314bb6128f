//! Bodies that were read in part, or whole.

use super::super::errors::Unchanged;
use super::super::record::tests::Buffers;
use super::*;
use crate::error::BoxError;
use crate::policy::Verdict;
use futures_util::FutureExt;
use http::HeaderValue;
use http_body_util::{BodyExt, Full, StreamBody};
use http_retry_core::reading::BodyProbe;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

type Frames = Vec<Result<Frame<Bytes>, io::Error>>;

fn data(text: &'static str) -> Result<Frame<Bytes>, io::Error> {
    Ok(Frame::data(Bytes::from(text)))
}

/// A body with boxed errors that the layer has not read.
fn untouched<B: Body>(body: B) -> RetryBody<B> {
    RetryBody::untouched(body, false)
}

fn body(frames: Frames) -> RetryBody<impl Body<Data = Bytes, Error = io::Error> + Unpin> {
    untouched(StreamBody::new(futures_util::stream::iter(frames)))
}

fn trailers() -> Result<Frame<Bytes>, io::Error> {
    let mut trailers = HeaderMap::new();
    trailers.insert("checksum", HeaderValue::from_static("7"));
    Ok(Frame::trailers(trailers))
}

#[tokio::test]
async fn bytes_that_were_read_come_first_and_trailers_last() {
    let frames = vec![data("ab"), data("c"), trailers()];
    let mut body = body(frames);
    assert_eq!(
        part(&mut body, BodyPart::Rest(3)).await,
        Some(Inspected::AtTheEnd)
    );
    assert_eq!(body.size_hint().exact(), Some(3));
    assert!(!body.is_end_stream());
    let whole = body.collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["checksum"], "7");
    assert_eq!(whole.to_bytes(), "abc");
}

#[tokio::test]
async fn bytes_that_were_read_do_not_keep_the_buffers_of_their_frames() {
    let buffers = Buffers::default();
    let slices = || (0..500).map(|_| Ok(Frame::data(buffers.slice()))).collect();
    let mut drained = body(slices());
    assert_eq!(
        part(&mut drained, BodyPart::Rest(500)).await,
        Some(Inspected::AtTheEnd)
    );
    let mut seen = body(slices());
    assert_eq!(inspect(&mut seen, 500).await.0.len(), 500);
    assert_eq!(buffers.kept(), 0);
    for body in [drained, seen] {
        assert_eq!(body.size_hint().lower(), 500);
        let whole = body.collect().await.unwrap().to_bytes();
        assert_eq!(whole, "x".repeat(500));
    }
}

#[tokio::test]
async fn debug_output_shows_no_bytes_of_the_body() {
    let mut body = body(vec![data("secret"), Err(io::Error::other("secret"))]);
    inspect(&mut body, 99).await;
    let shown = format!("{body:?}");
    assert!(shown.contains("read_bytes: 6"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn an_untouched_body_is_the_inner_one() {
    let body = untouched(Full::new(Bytes::from("abc")));
    assert_eq!(body.size_hint().exact(), Some(3));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
    assert!(untouched(Full::new(Bytes::new())).is_end_stream());
}

/// A probe that wants to see this many bytes.
struct FirstBytes {
    most: usize,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl BodyProbe for FirstBytes {
    fn push(&mut self, chunk: &[u8]) -> ControlFlow<()> {
        let mut seen = self.seen.lock().unwrap();
        seen.extend_from_slice(chunk);
        if seen.len() < self.most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn verdict(&mut self, _: Inspected) -> Option<Verdict> {
        None
    }
}

/// Reads a part of a body as if over HTTP/1, or of one that stalls nothing.
async fn part<B: Body<Data = Bytes> + Unpin, X>(
    body: &mut RetryBody<B, X>,
    mut part: BodyPart,
) -> Option<Inspected> {
    let mut seen = 0;
    let read = poll_fn(|cx| body.poll_part(&mut part, &mut seen, Version::HTTP_11, cx));
    read.now_or_never()
}

/// Shows this many bytes to a probe.
async fn inspect<B: Body<Data = Bytes> + Unpin, X>(
    body: &mut RetryBody<B, X>,
    most: usize,
) -> (Vec<u8>, Option<Inspected>) {
    let seen = Arc::default();
    let probe = FirstBytes {
        most,
        seen: Arc::clone(&seen),
    };
    let end = part(body, BodyPart::Probe(Box::new(probe))).await;
    let seen = seen.lock().unwrap().clone();
    (seen, end)
}

#[tokio::test]
async fn an_inspection_consumes_nothing() {
    let mut body = body(vec![data("abc"), data("def"), data("ghi"), trailers()]);
    for _ in 0..2 {
        let seen = inspect(&mut body, 4).await;
        assert_eq!(seen, (b"abcdef".to_vec(), Some(Inspected::Enough)));
    }
    let whole = body.collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["checksum"], "7");
    assert_eq!(whole.to_bytes(), "abcdefghi");
}

#[tokio::test]
async fn an_inspection_ends_with_its_time_or_with_the_body() {
    let stalled = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let mut stalled = untouched(StreamBody::new(stalled));
    let seen = inspect(&mut stalled, 4).await;
    assert_eq!(seen, (Vec::new(), None));
    let mut short = untouched(Full::new(Bytes::from("ab")));
    let seen = inspect(&mut short, 4).await;
    assert_eq!(seen, (b"ab".to_vec(), Some(Inspected::AtTheEnd)));
    assert_eq!(short.size_hint().exact(), Some(2));
}

#[tokio::test]
async fn an_error_after_the_start_still_comes_after_it() {
    let mut body = body(vec![data("ab"), Err(io::Error::other("cut"))]);
    let seen = inspect(&mut body, 9).await;
    assert_eq!(seen, (b"ab".to_vec(), Some(Inspected::AtAnError)));
    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "ab");
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "cut");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn reading_ends_after_too_many_empty_frames() {
    let empty = futures_util::stream::repeat_with(|| data(""));
    let mut body = untouched(StreamBody::new(empty));
    let seen = inspect(&mut body, 4).await;
    assert_eq!(seen, (Vec::new(), Some(Inspected::Enough)));
    assert_ne!(
        part(&mut body, BodyPart::Rest(4)).await,
        Some(Inspected::AtTheEnd)
    );
}

/// A body that announces a length.
struct Announced<E> {
    frames: std::vec::IntoIter<Result<Frame<Bytes>, E>>,
    left: u64,
    /// `true` if its hint counts down as frames are read.
    counts: bool,
}

impl<E> Announced<E> {
    fn new(left: u64, frames: Vec<Result<Frame<Bytes>, E>>) -> RetryBody<Self> {
        Self::in_form(left, frames)
    }

    /// A body whose errors keep their type.
    fn unchanged(left: u64, frames: Vec<Result<Frame<Bytes>, E>>) -> RetryBody<Self, Unchanged> {
        Self::in_form(left, frames)
    }

    fn in_form<X>(left: u64, frames: Vec<Result<Frame<Bytes>, E>>) -> RetryBody<Self, X> {
        let body = Self {
            frames: frames.into_iter(),
            left,
            counts: true,
        };
        RetryBody::untouched(body, false)
    }
}

impl<E> Unpin for Announced<E> {}

impl<E> Body for Announced<E> {
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        let frame = self.frames.next();
        if let (true, Some(Ok(frame))) = (self.counts, &frame) {
            let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
            self.left = self.left.saturating_sub(bytes);
        }
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

fn chunk<E>(text: &'static str) -> Result<Frame<Bytes>, E> {
    Ok(Frame::data(Bytes::from(text)))
}

fn last<E>() -> Result<Frame<Bytes>, E> {
    Ok(trailers()
        .unwrap()
        .into_trailers()
        .map(Frame::trailers)
        .unwrap())
}

/// The bytes and the trailers of a body, and the error that it ends with.
async fn read<B>(body: &mut B) -> (String, bool, Option<B::Error>)
where
    B: Body<Data = Bytes> + Unpin,
{
    let (mut text, mut has_trailers, mut error) = (String::new(), false, None);
    while let Some(frame) = body.frame().await {
        assert!(error.is_none(), "a frame after the error");
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => text.push_str(std::str::from_utf8(&data).unwrap()),
            Ok(Err(_)) => has_trailers = true,
            Err(broken) => error = Some(broken),
        }
    }
    (text, has_trailers, error)
}

fn shown(error: Option<BoxError>) -> Option<String> {
    let error = error?;
    IncompleteBody::of(&*error).map(ToString::to_string)
}

#[tokio::test]
async fn half_a_body_that_was_filled_ends_with_an_error() {
    for (frames, text, has_trailers, received) in [
        (vec![chunk("ab"), chunk("c")], "abc", false, 3),
        (vec![chunk("abc"), last()], "abc", true, 3),
        (vec![], "", false, 0),
    ] {
        let mut body = Announced::<BoxError>::new(9, frames);
        let filled = part(&mut body, BodyPart::Whole(100)).await;
        assert_eq!(filled, Some(Inspected::AtAnError));
        assert_eq!(
            (body.size_hint().exact(), body.is_end_stream()),
            (Some(9), false)
        );
        let (got, trailers, error) = read(&mut body).await;
        let error = shown(error).unwrap();
        assert_eq!((&*got, trailers), (text, has_trailers));
        assert_eq!(
            error,
            format!("the answer ended after {received} of 9 bytes")
        );
    }
}

#[tokio::test]
async fn half_a_body_beyond_the_limit_ends_with_an_error() {
    let frames = || vec![chunk("abc"), chunk("def"), last()];
    for limit in [0, 4, 8] {
        let mut body = Announced::<BoxError>::new(9, frames());
        let filled = part(&mut body, BodyPart::Whole(limit)).await;
        assert_eq!(filled, Some(Inspected::Enough));
        let (text, trailers, error) = read(&mut body).await;
        assert_eq!((&*text, trailers), ("abcdef", true));
        assert_eq!(shown(error).unwrap(), "the answer ended after 6 of 9 bytes");
        assert!(body.frame().await.is_none());
    }
    let mut seen = Announced::<BoxError>::new(9, frames());
    let inspected = inspect(&mut seen, 99).await;
    assert_eq!(inspected, (b"abcdef".to_vec(), Some(Inspected::AtAnError)));
    assert!(shown(read(&mut seen).await.2).is_some());
}

#[tokio::test]
async fn a_body_that_breaks_has_no_second_error() {
    let broken = || vec![chunk("abc"), Err("cut".into())];
    for limit in [4, 100] {
        let mut body = Announced::<BoxError>::new(9, broken());
        part(&mut body, BodyPart::Whole(limit)).await;
        let (text, _, error) = read(&mut body).await;
        assert_eq!((&*text, error.unwrap().to_string()), ("abc", "cut".into()));
    }
}

#[tokio::test]
async fn a_type_without_such_an_error_still_tells_what_is_missing() {
    let mut body = Announced::<Infallible>::unchanged(9, vec![chunk("abc")]);
    let filled = part(&mut body, BodyPart::Whole(100)).await;
    assert_eq!(filled, Some(Inspected::AtAnError));
    let (text, _, error) = read(&mut body).await;
    assert_eq!((&*text, error), ("abc", None));
    assert_eq!(
        (body.size_hint().exact(), body.is_end_stream()),
        (Some(6), false)
    );

    // So that a layer around it notices it too.
    let mut inner = Announced::<Infallible>::unchanged(9, vec![]);
    part(&mut inner, BodyPart::Whole(100)).await;
    let mut outer = untouched(inner);
    let filled = part(&mut outer, BodyPart::Whole(100)).await;
    assert_eq!(filled, Some(Inspected::AtAnError));
}

#[tokio::test]
async fn a_complete_body_is_no_early_end() {
    let frames = || vec![chunk("abc"), chunk("def")];
    let mut unknown = Announced::<BoxError>::new(0, frames());
    let mut stays = Announced::<BoxError>::new(6, frames());
    if let Some(rest) = &mut stays.rest {
        rest.counts = false;
    }
    for body in [&mut unknown, &mut stays, &mut Announced::new(6, frames())] {
        let filled = part(body, BodyPart::Whole(100)).await;
        assert_eq!(filled, Some(Inspected::AtTheEnd));
        assert_eq!(body.size_hint().exact(), Some(6));
        let (text, _, error) = read(body).await;
        assert_eq!((&*text, error.is_none()), ("abcdef", true));
        assert!(body.is_end_stream());
    }
}

#[tokio::test]
async fn half_a_body_that_was_not_filled_ends_with_an_error() {
    let half = || Announced::<io::Error>::new(9, vec![chunk("abc"), chunk("def"), last()]);
    let mut seen = half();
    inspect(&mut seen, 2).await;
    let mut drained = half();
    assert_ne!(
        part(&mut drained, BodyPart::Rest(100)).await,
        Some(Inspected::AtTheEnd)
    );
    for mut body in [half(), seen, drained] {
        let (text, has_trailers, error) = read(&mut body).await;
        assert_eq!((&*text, has_trailers), ("abcdef", true));
        assert_eq!(shown(error).unwrap(), "the answer ended after 6 of 9 bytes");
        assert_eq!(body.size_hint().exact(), Some(0));
        assert!(body.is_end_stream());
    }
}

#[tokio::test]
async fn a_body_that_shows_its_end_needs_no_length() {
    // It never shows it, since it has no `is_end_stream` of its own.
    let cut = || StreamBody::new(futures_util::stream::iter([data("ab")]));
    let mut body: RetryBody<_> = RetryBody::untouched(cut(), true);
    let (text, _, error) = read(&mut body).await;
    let error = error.unwrap();
    let incomplete = IncompleteBody::of(&*error).unwrap();
    assert_eq!((&*text, incomplete.received()), ("ab", 2));
    assert_eq!(incomplete.expected(), None);
    assert_eq!(
        error.to_string(),
        "the answer ended after 2 bytes, before its end"
    );
    let mut filled: RetryBody<_> = RetryBody::untouched(cut(), true);
    let end = part(&mut filled, BodyPart::Whole(100)).await;
    assert_eq!(end, Some(Inspected::AtAnError));
    let whole = Full::new(Bytes::from("ab"));
    let mut whole: RetryBody<_> = RetryBody::untouched(whole, true);
    assert!(read(&mut whole).await.2.is_none());
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn half_a_body_never_becomes_plain_bytes() {
    let half = || Announced::<Infallible>::unchanged(9, vec![chunk("abc")]);
    let mut filled = half();
    part(&mut filled, BodyPart::Whole(100)).await;
    let mut seen = half();
    inspect(&mut seen, 99).await;
    for body in [filled, seen] {
        let body = body.into_bytes().unwrap_err();
        assert_eq!(body.size_hint().exact(), Some(9));
    }
    let mut whole = Announced::<Infallible>::unchanged(3, vec![chunk("abc")]);
    part(&mut whole, BodyPart::Whole(100)).await;
    assert_eq!(whole.into_bytes().unwrap(), "abc");
}
