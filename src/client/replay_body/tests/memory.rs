//! The memory that a recording takes.

use super::super::super::record::tests::Buffers;
use super::*;

#[test]
fn nothing_is_recorded_if_no_attempt_can_follow() {
    let mut only = body(&["ab", "c"], 64);
    assert_eq!(read(&mut only, 1), "ab");
    assert!(only.replay().is_none());
    assert_eq!(read(&mut only, 9), "c");
}

#[test]
fn empty_frames_take_no_memory_and_change_nothing() {
    let mut first = body(&["", "", "ab", "", ""], 64);
    let mut second = first.replay().unwrap();
    assert_eq!(read(&mut first, 9), "ab");
    assert_eq!(second.lock().read.bytes, 2);
    assert_eq!(read(&mut second, 9), "ab");
}

#[test]
fn a_recording_does_not_keep_the_buffers_of_its_frames() {
    let buffers = Buffers::default();
    let frames: Chunks = (0..500).map(|_| Ok(Frame::data(buffers.slice()))).collect();
    let mut first = streamed(frames, DEFAULT_LIMIT);
    let mut second = first.replay().unwrap();
    assert_eq!(read(&mut first, 200).len(), 200);
    assert_eq!(buffers.kept(), 300, "those that are still to come");
    assert_eq!(read(&mut second, 999), "x".repeat(500));
    assert_eq!(buffers.kept(), 0);
    assert_eq!(read(&mut second.replay().unwrap(), 9), "x".repeat(500));
}

#[test]
fn a_recording_takes_less_than_twice_the_bytes_sent() {
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
