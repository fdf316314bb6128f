//! Zero, partial and full reads of one attempt, and what the next one sends.

use super::super::Replay;
use super::super::record::tests::Buffers;
use super::*;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full, StreamBody};
use proptest::prelude::*;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};

type Chunks = Vec<Result<Frame<Bytes>, io::Error>>;
use std::io;

fn body(
    chunks: &[&'static str],
    limit: usize,
) -> ReplayBody<impl Body<Data = Bytes, Error = io::Error> + use<>> {
    let frames = chunks
        .iter()
        .map(|chunk| Ok(Frame::data(Bytes::from_static(chunk.as_bytes()))));
    let frames: Chunks = frames.collect();
    ReplayBody::with_limit(StreamBody::new(futures_util::stream::iter(frames)), limit)
}

fn read<B: Body<Data = Bytes, Error = BoxError> + Unpin>(body: &mut B, frames: usize) -> String {
    let mut text = Vec::new();
    for _ in 0..frames {
        let next = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))
            .now_or_never()
            .unwrap();
        match next {
            Some(frame) => text.extend(frame.unwrap().into_data().unwrap()),
            None => break,
        }
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn whatever_the_first_attempt_read_the_second_sends_all() {
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
fn over_the_limit_a_body_is_sent_once_and_whole() {
    let mut first = body(&["abc", "de"], 4);
    let second = first.replay().unwrap();
    assert_eq!(read(&mut first, 9), "abcde");
    assert!(!second.can_replay(false));
    assert!(body(&["a"], 0).replay().is_none());
}

#[test]
fn an_early_answer_forbids_a_second_sending() {
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
fn an_attempt_that_is_still_sending_fails_when_the_next_begins() {
    let mut first = body(&["ab", "c"], 64);
    let mut second = first.replay().unwrap();
    read(&mut first, 1);
    assert_eq!(read(&mut second, 1), "ab");
    let stale = poll_fn(|cx| Pin::new(&mut first).poll_frame(cx))
        .now_or_never()
        .unwrap();
    assert_eq!(
        stale.unwrap().unwrap_err().to_string(),
        "a later attempt sends this body now"
    );
    assert_eq!(read(&mut second, 9), "c");
}

#[test]
fn a_stream_that_failed_is_not_sent_again() {
    let frames: Chunks = vec![
        Ok(Frame::data(Bytes::from_static(b"a"))),
        Err(io::Error::other("gone")),
    ];
    let mut first = ReplayBody::new(StreamBody::new(futures_util::stream::iter(frames)));
    let second = first.replay().unwrap();
    read(&mut first, 1);
    let failed = poll_fn(|cx| Pin::new(&mut first).poll_frame(cx))
        .now_or_never()
        .unwrap();
    assert!(failed.unwrap().is_err());
    assert!(!second.can_replay(false));
}

#[test]
fn nothing_is_kept_where_no_attempt_can_follow() {
    let mut only = body(&["ab", "c"], 64);
    assert_eq!(read(&mut only, 1), "ab");
    assert!(only.replay().is_none());
    assert_eq!(read(&mut only, 9), "c");
}

#[test]
fn trailers_are_recorded_too() {
    let trailers =
        http::HeaderMap::from_iter([(http::header::ETAG, http::HeaderValue::from_static("7"))]);
    let frames = vec![
        Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"a"))),
        Ok(Frame::trailers(trailers)),
    ];
    let first = ReplayBody::new(StreamBody::new(futures_util::stream::iter(frames)));
    let second = first.replay().unwrap();
    for body in [first, second] {
        let whole = body.collect().now_or_never().unwrap().unwrap();
        assert_eq!(whole.trailers().unwrap()["etag"], "7");
        assert_eq!(whole.to_bytes(), "a");
    }
}

/// The first frame that an attempt gives, which is an error.
fn refusal<B: Body<Data = Bytes, Error = BoxError> + Unpin>(body: &mut B) -> String {
    let next = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).now_or_never();
    next.unwrap().unwrap().unwrap_err().to_string()
}

#[test]
fn what_is_lost_is_never_sent_as_if_it_were_all() {
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
    let frames: Chunks = vec![
        Ok(Frame::data(Bytes::from_static(b"a"))),
        Err(io::Error::other("gone")),
    ];
    let mut first = ReplayBody::new(StreamBody::new(futures_util::stream::iter(frames)));
    let mut second = first.replay().unwrap();
    read(&mut first, 1);
    assert_eq!(refusal(&mut first), "gone");
    assert_eq!(read(&mut second, 1), "a");
    assert!(!second.is_end_stream());
    assert!(refusal(&mut second).contains("not there"));
}

#[test]
fn from_the_moment_of_a_retry_earlier_attempts_read_no_more() {
    let mut first = body(&["ab", "c"], 64);
    let mut second = first.replay().unwrap();
    read(&mut first, 1);
    second.next_in_turn();
    assert_eq!(refusal(&mut first), "a later attempt sends this body now");
    assert_eq!(read(&mut second, 9), "abc");
}

#[test]
fn a_copy_made_early_can_be_sent_late() {
    let mut first = body(&["ab", "c"], 64);
    let mut outer = first.replay().unwrap();
    let mut inner = first.replay().unwrap();
    read(&mut first, 1);
    inner.next_in_turn();
    assert_eq!(read(&mut inner, 9), "abc");
    outer.next_in_turn();
    assert_eq!(read(&mut outer, 9), "abc");
}

#[derive(Default)]
struct Woken(AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_attempt_that_waits_is_woken_when_its_time_is_over() {
    let mut first = ReplayBody::new(StreamBody::new(futures_util::stream::pending::<
        Result<Frame<Bytes>, io::Error>,
    >()));
    let mut second = first.replay().unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let waiting = Pin::new(&mut first).poll_frame(&mut Context::from_waker(&waker));
    assert!(waiting.is_pending() && !woken.0.load(Ordering::Relaxed));
    second.next_in_turn();
    assert!(woken.0.load(Ordering::Relaxed));
}

#[test]
fn empty_frames_take_no_memory_and_change_nothing() {
    let mut first = body(&["", "", "ab", "", ""], 64);
    let mut second = first.replay().unwrap();
    assert_eq!(read(&mut first, 9), "ab");
    assert_eq!(second.tape().read.bytes, 2);
    assert_eq!(read(&mut second, 9), "ab");
}

#[test]
fn what_is_recorded_keeps_no_buffer_that_it_was_cut_from() {
    let buffers = Buffers::default();
    let frames: Chunks = (0..500).map(|_| Ok(Frame::data(buffers.slice()))).collect();
    let mut first = ReplayBody::new(StreamBody::new(futures_util::stream::iter(frames)));
    let mut second = first.replay().unwrap();
    assert_eq!(read(&mut first, 200).len(), 200);
    assert_eq!(buffers.kept(), 300, "those that are still to come");
    assert_eq!(read(&mut second, 999), "x".repeat(500));
    assert_eq!(buffers.kept(), 0);
    assert_eq!(read(&mut second.replay().unwrap(), 9), "x".repeat(500));
}

#[test]
fn a_recording_takes_less_than_twice_what_was_sent() {
    for (frames, length) in [(500, 1), (64, 1_000), (1, 64_000)] {
        let text = &*"x".repeat(length).leak();
        let mut first = body(&vec![text; frames], 64 * 1024);
        let second = first.replay().unwrap();
        let kept = allocation_counter::measure(|| {
            read(&mut first, frames);
        });
        let most = i64::try_from(2 * frames * length).unwrap() + 256;
        assert!(
            kept.bytes_current <= most,
            "{kept:?} of {frames} x {length}"
        );
        assert!(second.can_replay(false));
    }
}

#[test]
fn a_stream_of_nothing_is_still_a_stream_at_the_next_attempt() {
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
    let mut first = ReplayBody::new(StreamBody::new(futures_util::stream::iter(frames)));
    let second = first.replay().unwrap();
    assert!(!second.can_replay(true));
    let _ = poll_fn(|cx| Pin::new(&mut first).poll_frame(cx)).now_or_never();
    assert!(second.can_replay(true) && first.is_end_stream());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn an_attempt_sends_all_or_there_is_none(
        chunks in prop::collection::vec("[a-z]{0,9}", 0..12),
        reads in prop::collection::vec(0_usize..14, 1..5),
        limit in 0_usize..60,
    ) {
        let whole = chunks.concat();
        let frames: Chunks = chunks.into_iter().map(|chunk| Ok(Frame::data(Bytes::from(chunk)))).collect();
        let mut current = ReplayBody::with_limit(StreamBody::new(futures_util::stream::iter(frames)), limit);
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
