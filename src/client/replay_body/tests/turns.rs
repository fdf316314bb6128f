//! Only the latest attempt may read, from the moment of its retry on.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn an_attempt_that_is_still_sending_fails_when_the_next_begins() {
    let mut first = body(&["ab", "c"], 64);
    let mut second = first.replay().unwrap();
    read(&mut first, 1);
    assert_eq!(read(&mut second, 1), "ab");
    assert_eq!(refusal(&mut first), "a later attempt sends this body now");
    assert_eq!(read(&mut second, 9), "c");
}

#[test]
fn an_earlier_attempt_fails_once_a_retry_is_scheduled() {
    let mut first = body(&["ab", "c"], 64);
    let mut second = first.replay().unwrap();
    read(&mut first, 1);
    second.next_in_turn();
    assert_eq!(refusal(&mut first), "a later attempt sends this body now");
    assert_eq!(read(&mut second, 9), "abc");
}

#[test]
fn a_copy_made_first_can_be_sent_last() {
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
fn a_waiting_attempt_is_woken_when_a_retry_is_scheduled() {
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
