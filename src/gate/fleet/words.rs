//! The words of a process, and the store's answer.

use crate::gate::controller::{MOST, SECOND};
use crate::gate::micros;
use std::time::Duration;

/// The longest cooldown that processes tell each other: the store keeps a gate that nobody speaks of for as long.
pub(super) const LONGEST_COOLDOWN: u64 = 3_600 * SECOND;

/// The highest number of a change that the script takes from a process, and a process from a message.
const MOST_CHANGES: u64 = 1 << 52;

/// The digits of [`MOST`].
const MOST_DIGITS: usize = 16;

/// A report of one process to the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateWords {
    /// The last change that the process has heard of. Refusals and later successes of an older one no longer count.
    pub(crate) change: u64,
    /// The successes since the last words, but for the later ones.
    pub(crate) successes: u64,
    /// The refusals since the last words, after those successes.
    pub(crate) refusals: u64,
    /// The successes of calls that were sent after the first refused one of a run that has not ended.
    pub(crate) later: u64,
    /// The cooldown that the last of the refusals asked for, if for any.
    pub(crate) asked: Option<u64>,
}

/// The store's message to all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GatePush {
    /// How often a vote closed the gate or successes opened it, in all.
    pub(crate) change: u64,
    /// How long the gate stays closed from now on; zero if it is open.
    pub(crate) closed: Duration,
}

/// The store's answer to one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GateAnswer {
    pub(crate) push: GatePush,
    /// This process sends one of the probes.
    pub(crate) probes: bool,
}

/// The next thing for the driver of a key to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextWords {
    /// Sends these words, and gives the answer to [`GateLink::answered`](super::GateLink::answered).
    Command(GateWords),
    /// Asks again at this time, if there is one, or when it is woken.
    Wait(Option<Duration>),
    /// There is no such gate any more.
    Gone,
}

impl GateWords {
    /// The script's arguments, in its order.
    pub(crate) fn numbers(&self) -> [i64; 5] {
        [
            signed(self.change.min(MOST_CHANGES)),
            signed(self.successes),
            signed(self.refusals),
            signed(self.later),
            self.asked.map_or(-1, signed),
        ]
    }
}

impl GatePush {
    /// Reads a message, `change:milliseconds`, of at most [`LONGEST_COOLDOWN`]. Anybody who may publish can write anything.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (change, milliseconds) = text.split_once(':')?;
        let number = |text: &str| {
            let is_number = text.len() <= MOST_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|_| is_number)?;
            (number <= MOST).then_some(number)
        };
        let closed = Duration::from_millis(number(milliseconds)?);
        let change = number(change).filter(|change| *change <= MOST_CHANGES)?;
        Some(Self::new(change, closed))
    }

    fn new(change: u64, closed: Duration) -> Self {
        let closed = closed.min(Duration::from_micros(LONGEST_COOLDOWN));
        Self { change, closed }
    }

    /// The time for which the gate stays closed, if it is.
    pub(super) fn closed_for(&self) -> Option<u64> {
        (!self.closed.is_zero()).then(|| micros(self.closed))
    }
}

impl GateAnswer {
    /// Reads the script's answer; `None` if it is not one.
    pub(crate) fn of(numbers: &[i64]) -> Option<Self> {
        let [change, closed, probes] = *numbers else {
            return None;
        };
        let number = |number: i64| u64::try_from(number).ok().filter(|number| *number <= MOST);
        let closed = Duration::from_micros(number(closed)?);
        Some(Self {
            push: GatePush::new(number(change)?, closed),
            probes: number(probes)? == 1,
        })
    }
}

/// No number is above [`MOST`].
fn signed(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).unwrap_or_default()
}
