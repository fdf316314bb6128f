//! The subscription of a gate to the channel in which the store notifies all processes.

use super::link::GateLink;
use super::message::GateNotice;
use crate::shared::Shared;
use crate::store::Subscriber;
use crate::sync::lock;
use http_retry_core::runtime::{Runtime, Sleep};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

/// The subscription of one gate, for as long as its task runs.
pub(super) struct Subscription {
    link: GateLink,
    shared: Arc<Shared>,
    runtime: Arc<dyn Runtime>,
    is_live: AtomicBool,
    /// The time when it was granted.
    granted: Mutex<Duration>,
    inbox: Mutex<Inbox>,
    /// The task that reads the inbox, and renews the subscription.
    task: Mutex<Option<Waker>>,
}

impl Subscription {
    pub(super) fn new(link: GateLink, shared: Arc<Shared>, runtime: Arc<dyn Runtime>) -> Arc<Self> {
        Arc::new(Self {
            link,
            shared,
            runtime,
            is_live: AtomicBool::new(false),
            granted: Mutex::default(),
            inbox: Mutex::default(),
            task: Mutex::default(),
        })
    }

    pub(super) fn is_live(&self) -> bool {
        self.is_live.load(Ordering::SeqCst)
    }

    /// Accepts notices from now on; the store may send them before it grants the subscription.
    pub(super) fn begin(&self, now: Duration) {
        *lock(&self.granted) = now;
        self.is_live.store(true, Ordering::SeqCst);
    }

    /// Records that the store has not granted it.
    pub(super) fn fail(&self) {
        self.is_live.store(false, Ordering::SeqCst);
    }

    /// Reads the inbox if it is due, or sleeps until it is.
    pub(super) fn poll_inbox(&self, cx: &mut Context<'_>, sleep: &mut Option<Sleep>) {
        // Before the look at the inbox, so that a notice that arrives in between wakes the task.
        *lock(&self.task) = Some(cx.waker().clone());
        let now = self.runtime.now();
        let Some(due) = lock(&self.inbox).due(now) else {
            *sleep = None;
            return;
        };
        if due > now {
            let sleep = sleep.get_or_insert_with(|| self.runtime.sleep(due.saturating_sub(now)));
            if sleep.as_mut().poll(cx).is_pending() {
                return;
            }
        }
        *sleep = None;
        let at = self.runtime.moment();
        let notice = lock(&self.inbox).read(at.now);
        if let Some(notice) = notice {
            self.link.notified(at, notice);
        }
    }
}

impl Subscriber for Subscription {
    fn notified(&self, notice: GateNotice) {
        // Before the locks, since the runtime may be the user's own.
        let now = self.runtime.now();
        let is_first = lock(&self.inbox).add(notice, now);
        // Later notices are merged into the first, which has woken the task.
        let task = if is_first {
            lock(&self.task).clone()
        } else {
            None
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    fn on_lost(&self) {
        let at = self.runtime.moment();
        // One that was never granted has been counted as a failure already.
        if self.is_live.swap(false, Ordering::SeqCst) {
            let granted = *lock(&self.granted);
            lock(&self.shared.resubscription).record_loss(granted, at);
        }
        self.link.set_subscribed(at, false);
        let task = lock(&self.task).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// The shortest interval between two readings.
const READ_INTERVAL: Duration = Duration::from_millis(10);

/// The unread notices of one channel.
///
/// Anybody with the right to publish can publish as much as the connection carries, and a message that is read costs a
/// lock, a look at the queue of waiting calls, and maybe a command. So messages are not read as they arrive: they are
/// merged, and read at most every ten milliseconds.
#[derive(Debug, Default)]
struct Inbox {
    /// The notice about the last change, and the latest end of its cooldowns.
    unread: Option<(GateNotice, Duration)>,
    /// The earliest time of the next reading.
    next: Duration,
}

impl Inbox {
    /// Adds a notice, and returns `true` if it is the first since the last reading.
    fn add(&mut self, notice: GateNotice, now: Duration) -> bool {
        let until = now.saturating_add(notice.closed);
        let Some((before, latest)) = &mut self.unread else {
            self.unread = Some((notice, until));
            return true;
        };
        if notice.change > before.change {
            // A later change ends the cooldown of an earlier one.
            (*before, *latest) = (notice, until);
        } else if notice.change == before.change {
            *latest = until.max(*latest);
        }
        false
    }

    /// Returns the time at which the notices may be read, or `None` if there are none.
    fn due(&self, now: Duration) -> Option<Duration> {
        // After a clock was set back, the next reading is no later than it can have been planned.
        let next = self.next.min(now.saturating_add(READ_INTERVAL));
        self.unread.map(|_| next)
    }

    /// Takes the merged notice. A cooldown that is over by now is dropped.
    fn read(&mut self, now: Duration) -> Option<GateNotice> {
        self.next = now.saturating_add(READ_INTERVAL);
        let (notice, until) = self.unread.take()?;
        let closed = until.saturating_sub(now);
        // Such a notice would now look like one of an open gate.
        let is_over = closed.is_zero() && !notice.closed.is_zero();
        (!is_over).then_some(GateNotice { closed, ..notice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn notice(change: u64, millis: u32) -> GateNotice {
        let closed = MILLI * millis;
        GateNotice { change, closed }
    }

    /// Returns the notice that is read 10 ms after these arrived.
    fn read(notices: &[GateNotice]) -> Option<GateNotice> {
        let mut inbox = Inbox::default();
        for (index, notice) in notices.iter().enumerate() {
            assert_eq!(inbox.add(*notice, Duration::ZERO), index == 0);
        }
        inbox.read(MILLI * 10)
    }

    #[test]
    fn the_longest_cooldown_of_the_last_change_is_read() {
        assert_eq!(read(&[notice(1, 900), notice(1, 30)]), Some(notice(1, 890)));
        assert_eq!(read(&[notice(1, 30), notice(1, 900)]), Some(notice(1, 890)));
        assert_eq!(read(&[notice(1, 900), notice(3, 30)]), Some(notice(3, 20)));
        assert_eq!(read(&[notice(1, 900), notice(2, 0)]), Some(notice(2, 0)));
        assert_eq!(read(&[notice(2, 0), notice(1, 900)]), Some(notice(2, 0)));
    }

    #[test]
    fn a_cooldown_that_is_over_is_no_contradiction() {
        assert_eq!(read(&[notice(1, 10)]), None);
    }

    #[test]
    fn notices_are_read_at_once_and_then_every_ten_milliseconds() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.due(MILLI), None);
        inbox.add(notice(1, 50), MILLI);
        assert_eq!(inbox.due(MILLI), Some(Duration::ZERO));
        assert!(inbox.read(MILLI).is_some());
        inbox.add(notice(1, 60), MILLI * 2);
        assert_eq!(inbox.due(MILLI * 2), Some(MILLI * 11));
        assert_eq!(inbox.due(Duration::ZERO), Some(MILLI * 10));
    }
}
