//! The messages of one channel that nobody has read yet.
//!
//! Anybody who may publish can publish as much as the connection carries, and a message that is read costs a lock, a look
//! at the line of waiting calls, and maybe a command. So messages are not read as they come: what they say together is
//! kept, and read at most every ten milliseconds.

use crate::gate::GatePush;
use std::time::Duration;

/// The shortest time from one reading to the next.
const INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// The message about the last change, and the end of the longest cooldown that it was told with.
    unread: Option<(GatePush, Duration)>,
    /// When the next reading may be.
    next: Duration,
}

impl Inbox {
    /// Adds a message, and returns `true` if it is the first since the last reading.
    pub(super) fn add(&mut self, push: GatePush, now: Duration) -> bool {
        let until = now.saturating_add(push.closed);
        let Some((before, latest)) = &mut self.unread else {
            self.unread = Some((push, until));
            return true;
        };
        if push.change > before.change {
            (*before, *latest) = (push, until);
        } else if push.change == before.change {
            *latest = until.max(*latest);
        }
        false
    }

    /// Returns when the messages may be read, or `None` if there are none.
    pub(super) fn due(&self, now: Duration) -> Option<Duration> {
        // After a clock was set back, the next reading is no further off than it can have been planned.
        let next = self.next.min(now.saturating_add(INTERVAL));
        self.unread.map(|_| next)
    }

    /// Takes what the messages say together. A cooldown that is over by now is none.
    pub(super) fn read(&mut self, now: Duration) -> Option<GatePush> {
        self.next = now.saturating_add(INTERVAL);
        let (push, until) = self.unread.take()?;
        let closed = until.saturating_sub(now);
        let is_over = closed.is_zero() && !push.closed.is_zero();
        (!is_over).then_some(GatePush { closed, ..push })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn push(change: u64, millis: u32) -> GatePush {
        let closed = MILLI * millis;
        GatePush { change, closed }
    }

    /// What is read 10 ms after these came.
    fn read(pushes: &[GatePush]) -> Option<GatePush> {
        let mut inbox = Inbox::default();
        for (place, push) in pushes.iter().enumerate() {
            assert_eq!(inbox.add(*push, Duration::ZERO), place == 0);
        }
        inbox.read(MILLI * 10)
    }

    #[test]
    fn the_longest_cooldown_of_the_last_change_is_read() {
        assert_eq!(read(&[push(1, 900), push(1, 30)]), Some(push(1, 890)));
        assert_eq!(read(&[push(1, 30), push(1, 900)]), Some(push(1, 890)));
        assert_eq!(read(&[push(1, 900), push(3, 30)]), Some(push(3, 20)));
        assert_eq!(read(&[push(1, 900), push(2, 0)]), Some(push(2, 0)));
        assert_eq!(read(&[push(2, 0), push(1, 900)]), Some(push(2, 0)));
    }

    #[test]
    fn a_cooldown_that_is_over_is_no_contradiction() {
        assert_eq!(read(&[push(1, 10)]), None);
    }

    #[test]
    fn messages_are_read_at_once_and_then_every_ten_milliseconds() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.due(MILLI), None);
        inbox.add(push(1, 50), MILLI);
        assert_eq!(inbox.due(MILLI), Some(Duration::ZERO));
        assert!(inbox.read(MILLI).is_some());
        inbox.add(push(1, 60), MILLI * 2);
        assert_eq!(inbox.due(MILLI * 2), Some(MILLI * 11));
        assert_eq!(inbox.due(Duration::ZERO), Some(MILLI * 10));
    }
}
