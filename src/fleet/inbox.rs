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
    /// The last opening, which ends every pause before it.
    opened: Option<GatePush>,
    /// The longest pause since, and its end.
    closed: Option<(GatePush, Duration)>,
    /// When the next reading may be.
    next: Duration,
}

impl Inbox {
    /// Adds a message, and returns `true` if it is the first since the last reading.
    pub(super) fn add(&mut self, push: GatePush, now: Duration) -> bool {
        let is_first = self.is_empty();
        if push.closed.is_zero() {
            (self.opened, self.closed) = (Some(push), None);
        } else {
            let until = now.saturating_add(push.closed);
            let before = self.closed.map_or(Duration::ZERO, |(_, until)| until);
            self.closed = Some((push, until.max(before)));
        }
        is_first
    }

    /// Returns when the messages may be read, or `None` if there are none.
    pub(super) fn due(&self, now: Duration) -> Option<Duration> {
        // After a clock was set back, the next reading is no further off than it can have been planned.
        let next = self.next.min(now.saturating_add(INTERVAL));
        (!self.is_empty()).then_some(next)
    }

    /// Takes what the messages say together, in their order.
    pub(super) fn read(&mut self, now: Duration) -> impl Iterator<Item = GatePush> + use<> {
        self.next = now.saturating_add(INTERVAL);
        let closed = self.closed.take().and_then(|(push, until)| {
            let closed = until.saturating_sub(now);
            (!closed.is_zero()).then_some(GatePush { closed, ..push })
        });
        self.opened.take().into_iter().chain(closed)
    }

    fn is_empty(&self) -> bool {
        self.opened.is_none() && self.closed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    fn push(opening: u64, millis: u32) -> GatePush {
        let closed = MILLI * millis;
        GatePush { opening, closed }
    }

    /// What is read 10 ms after these came.
    fn read(pushes: &[GatePush]) -> Vec<GatePush> {
        let mut inbox = Inbox::default();
        for (place, push) in pushes.iter().enumerate() {
            assert_eq!(inbox.add(*push, Duration::ZERO), place == 0);
        }
        inbox.read(MILLI * 10).collect()
    }

    #[test]
    fn the_longest_pause_since_the_last_opening_is_read() {
        assert_eq!(read(&[push(1, 900), push(1, 30)]), [push(1, 890)]);
        assert_eq!(read(&[push(1, 30), push(2, 900)]), [push(2, 890)]);
        assert_eq!(read(&[push(1, 900), push(1, 0)]), [push(1, 0)]);
        let both = read(&[push(1, 900), push(1, 0), push(1, 30)]);
        assert_eq!(both, [push(1, 0), push(1, 20)]);
    }

    #[test]
    fn a_pause_that_is_over_is_no_opening() {
        assert_eq!(read(&[push(1, 10)]), []);
    }

    #[test]
    fn messages_are_read_at_once_and_then_every_ten_milliseconds() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.due(MILLI), None);
        inbox.add(push(1, 50), MILLI);
        assert_eq!(inbox.due(MILLI), Some(Duration::ZERO));
        assert_eq!(inbox.read(MILLI).count(), 1);
        inbox.add(push(1, 60), MILLI * 2);
        assert_eq!(inbox.due(MILLI * 2), Some(MILLI * 11));
        assert_eq!(inbox.due(Duration::ZERO), Some(MILLI * 10));
    }
}
