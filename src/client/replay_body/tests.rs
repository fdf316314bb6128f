//! Attempts after one that has read none, a part or all of the body.

mod memory;
mod rewritten;
mod turns;

use super::super::Replay;
use super::*;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full, StreamBody};
use proptest::prelude::*;
use std::future::poll_fn;
use std::io;

type Chunks = Vec<Result<Frame<Bytes>, io::Error>>;

/// The body of a request whose caller streams these frames.
fn streamed(
    frames: Chunks,
    limit: usize,
) -> ReplayBody<impl Body<Data = Bytes, Error = io::Error> + use<>> {
    ReplayBody::with_limit(StreamBody::new(futures_util::stream::iter(frames)), limit)
}

fn body(
    chunks: &[&'static str],
    limit: usize,
) -> ReplayBody<impl Body<Data = Bytes, Error = io::Error> + use<>> {
    let frames = chunks
        .iter()
        .map(|chunk| Ok(Frame::data(Bytes::from_static(chunk.as_bytes()))));
    streamed(frames.collect(), limit)
}

/// A stream that fails after its first frame.
fn failing() -> ReplayBody<impl Body<Data = Bytes, Error = io::Error> + use<>> {
    let frames = vec![
        Ok(Frame::data(Bytes::from_static(b"a"))),
        Err(io::Error::other("gone")),
    ];
    streamed(frames, DEFAULT_LIMIT)
}

fn next<B: Body<Data = Bytes, Error = BoxError> + Unpin>(
    body: &mut B,
) -> Option<Result<Frame<Bytes>, BoxError>> {
    let next = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).now_or_never();
    next.expect("a frame is there")
}

fn read<B: Body<Data = Bytes, Error = BoxError> + Unpin>(body: &mut B, frames: usize) -> String {
    let mut text = Vec::new();
    for _ in 0..frames {
        match next(body) {
            Some(frame) => text.extend(frame.unwrap().into_data().unwrap()),
            None => break,
        }
    }
    String::from_utf8(text).unwrap()
}

/// Returns the error that is the next frame of an attempt.
fn refusal<B: Body<Data = Bytes, Error = BoxError> + Unpin>(body: &mut B) -> String {
    next(body).unwrap().unwrap_err().to_string()
}

#[test]
fn the_second_attempt_sends_all_after_any_part_of_the_first() {
    for frames in 0..=4 {
        let mut first = body(&["ab", "c", "de"], 64);
        let mut second = first.replay().unwrap();
        let third = second.replay();
        read(&mut first, frames);
        assert!(second.can_replay(false));
        assert_eq!(read(&mut second, 9), "abcde", "after {frames} frames");
        assert_eq!(read(&mut third.unwrap(), 9), "abcde");
    }
}

#[test]
fn a_body_over_the_limit_is_sent_once_and_whole() {
    let mut first = body(&["abc", "de"], 4);
    let second = first.replay().unwrap();
    assert_eq!(read(&mut first, 9), "abcde");
    assert!(!second.can_replay(false));
    assert!(body(&["a"], 0).replay().is_none());
}

#[test]
fn a_body_is_not_sent_again_after_an_early_response() {
    let mut first = body(&["ab", "c"], 64);
    let second = first.replay().unwrap();
    read(&mut first, 1);
    assert!(second.can_replay(false) && !second.can_replay(true));
    read(&mut first, 2);
    assert!(second.can_replay(true));
}

#[test]
fn a_body_of_known_length_is_over_when_its_last_byte_is_read() {
    let mut first = ReplayBody::new(Full::new(Bytes::from_static(b"abc")));
    let second = first.replay().unwrap();
    assert_eq!(second.size_hint().exact(), Some(3));
    assert_eq!(read(&mut first, 1), "abc");
    assert!(second.can_replay(true));
    assert_eq!(second.size_hint().exact(), Some(3));
    assert!(first.is_end_stream() && !second.is_end_stream());
}

#[test]
fn a_stream_that_failed_is_not_sent_again() {
    let mut first = failing();
    let second = first.replay().unwrap();
    read(&mut first, 1);
    assert!(next(&mut first).unwrap().is_err());
    assert!(!second.can_replay(false));
}

#[test]
fn trailers_are_recorded_too() {
    let trailers =
        http::HeaderMap::from_iter([(http::header::ETAG, http::HeaderValue::from_static("7"))]);
    let frames = vec![
        Ok(Frame::data(Bytes::from_static(b"a"))),
        Ok(Frame::trailers(trailers)),
    ];
    let first = streamed(frames, DEFAULT_LIMIT);
    let second = first.replay().unwrap();
    for body in [first, second] {
        let whole = body.collect().now_or_never().unwrap().unwrap();
        assert_eq!(whole.trailers().unwrap()["etag"], "7");
        assert_eq!(whole.to_bytes(), "a");
    }
}

#[test]
fn an_attempt_fails_if_earlier_bytes_were_not_recorded() {
    let mut first = body(&["abc", "de", "f"], 4);
    let mut second = first.replay().unwrap();
    assert_eq!(read(&mut first, 2), "abcde");
    assert!(!second.is_end_stream() && second.size_hint().exact().is_none());
    let lost = "what earlier attempts read of this body is not there any more";
    assert_eq!(refusal(&mut second), lost);
    assert_eq!(refusal(&mut second), lost);
}

#[test]
fn a_failed_stream_never_ends_as_if_complete() {
    let mut first = failing();
    let mut second = first.replay().unwrap();
    read(&mut first, 1);
    assert_eq!(refusal(&mut first), "gone");
    assert_eq!(read(&mut second, 1), "a");
    assert!(!second.is_end_stream());
    assert!(refusal(&mut second).contains("not there"));
}

#[test]
fn an_empty_stream_is_still_a_stream_on_the_next_attempt() {
    let mut first = body(&[], 64);
    let mut second = first.replay().unwrap();
    assert!(!first.is_end_stream());
    assert_eq!(read(&mut first, 1), "");
    assert!(!second.is_end_stream());
    assert_eq!(read(&mut second, 1), "");
}

#[test]
fn trailers_end_a_body() {
    let frames: Chunks = vec![Ok(Frame::trailers(http::HeaderMap::new()))];
    let mut first = streamed(frames, DEFAULT_LIMIT);
    let second = first.replay().unwrap();
    assert!(!second.can_replay(true));
    let _ = next(&mut first);
    assert!(second.can_replay(true) && first.is_end_stream());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_attempt_sends_the_whole_body(
        chunks in prop::collection::vec("[a-z]{0,9}", 0..12),
        reads in prop::collection::vec(0_usize..14, 1..5),
        limit in 0_usize..60,
    ) {
        let whole = chunks.concat();
        let frames: Chunks = chunks.into_iter().map(|chunk| Ok(Frame::data(Bytes::from(chunk)))).collect();
        let mut current = streamed(frames, limit);
        for frames in reads {
            let Some(next) = current.replay() else { break };
            let sent = read(&mut current, frames);
            prop_assert!(whole.starts_with(&sent));
            if !next.can_replay(false) {
                let rest = read(&mut current, 99);
                prop_assert_eq!(sent + &rest, whole);
                return Ok(());
            }
            current = next;
        }
        prop_assert_eq!(read(&mut current, 99), whole);
    }
}
