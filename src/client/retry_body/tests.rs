//! Bodies that were read in part, or whole.

use super::super::record::tests::Buffers;
use super::*;
use http::HeaderValue;
use http_body_util::{BodyExt, Full, StreamBody};
use std::convert::Infallible;
use std::future::{pending, ready};
use std::io;
use std::ops::ControlFlow;

type Frames = Vec<Result<Frame<Bytes>, io::Error>>;

fn data(text: &'static str) -> Result<Frame<Bytes>, io::Error> {
    Ok(Frame::data(Bytes::from(text)))
}

fn body(frames: Frames) -> RetryBody<impl Body<Data = Bytes, Error = io::Error> + Unpin> {
    RetryBody::untouched(StreamBody::new(futures_util::stream::iter(frames)))
}

fn trailers() -> Result<Frame<Bytes>, io::Error> {
    let mut trailers = HeaderMap::new();
    trailers.insert("checksum", HeaderValue::from_static("7"));
    Ok(Frame::trailers(trailers))
}

#[tokio::test]
async fn what_was_read_comes_first_and_trailers_last() {
    let frames = vec![data("ab"), data("c"), trailers()];
    let body = body(frames).drained(Version::HTTP_11, 3).await.unwrap();
    assert_eq!(body.size_hint().exact(), Some(3));
    assert!(!body.is_end_stream());
    let whole = body.collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["checksum"], "7");
    assert_eq!(whole.to_bytes(), "abc");
}

#[tokio::test]
async fn what_was_read_keeps_no_buffer_that_it_was_cut_from() {
    let buffers = Buffers::default();
    let slices = || (0..500).map(|_| Ok(Frame::data(buffers.slice()))).collect();
    let drained = body(slices()).drained(Version::HTTP_11, 500).await.unwrap();
    let mut seen = body(slices());
    assert_eq!(look(&mut seen, 500, pending()).await.0.len(), 500);
    assert_eq!(buffers.kept(), 0);
    for body in [drained, seen] {
        assert_eq!(body.size_hint().lower(), 500);
        let whole = body.collect().await.unwrap().to_bytes();
        assert_eq!(whole, "x".repeat(500));
    }
}

#[tokio::test]
async fn a_body_that_was_read_does_not_show() {
    let mut body = body(vec![data("secret"), Err(io::Error::other("secret"))]);
    look(&mut body, 99, pending()).await;
    let shown = format!("{body:?}");
    assert!(shown.contains("read_bytes: 6"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn an_untouched_body_is_the_inner_one() {
    let body = RetryBody::untouched(Full::new(Bytes::from("abc")));
    assert_eq!(body.size_hint().exact(), Some(3));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
    assert!(RetryBody::untouched(Full::new(Bytes::new())).is_end_stream());
}

/// Sees this many bytes.
async fn look<B: Body<Data = Bytes> + Unpin>(
    body: &mut RetryBody<B>,
    bytes: usize,
    time: impl Future<Output = ()>,
) -> (Vec<u8>, Inspected) {
    let mut first = Vec::new();
    let mut see = |data: &[u8]| {
        first.extend_from_slice(data);
        match first.len() < bytes {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let looked = body.look(&mut see, time).await;
    (first, looked)
}

#[tokio::test]
async fn a_look_at_the_start_takes_nothing_away() {
    let mut body = body(vec![data("abc"), data("def"), data("ghi"), trailers()]);
    for _ in 0..2 {
        let seen = look(&mut body, 4, pending()).await;
        assert_eq!(seen, (b"abcdef".to_vec(), Inspected::Enough));
    }
    let whole = body.collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["checksum"], "7");
    assert_eq!(whole.to_bytes(), "abcdefghi");
}

#[tokio::test]
async fn a_look_ends_with_its_time_or_with_the_body() {
    let stalled = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
    let mut stalled = RetryBody::untouched(StreamBody::new(stalled));
    let seen = look(&mut stalled, 4, ready(())).await;
    assert_eq!(seen, (Vec::new(), Inspected::TimeIsUp));
    let mut short = RetryBody::untouched(Full::new(Bytes::from("ab")));
    let seen = look(&mut short, 4, pending()).await;
    assert_eq!(seen, (b"ab".to_vec(), Inspected::AtTheEnd));
    assert_eq!(short.size_hint().exact(), Some(2));
}

#[tokio::test]
async fn an_error_after_the_start_still_comes_after_it() {
    let mut body = body(vec![data("ab"), Err(io::Error::other("cut"))]);
    let seen = look(&mut body, 9, pending()).await;
    assert_eq!(seen, (b"ab".to_vec(), Inspected::AtAnError));
    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "ab");
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "cut");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn frames_without_bytes_do_not_go_on_for_ever() {
    let empty = futures_util::stream::repeat_with(|| data(""));
    let mut body = RetryBody::untouched(StreamBody::new(empty));
    let seen = look(&mut body, 4, pending()).await;
    assert_eq!(seen, (Vec::new(), Inspected::Enough));
    assert!(body.drained(Version::HTTP_11, 4).await.is_none());
}
