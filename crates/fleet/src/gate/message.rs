//! The messages between a process and the store of a fleet's gate.

use std::time::Duration;

/// The largest number: the script's numbers are 64-bit floats, which count exactly up to it.
pub(super) const MAX_COUNT: u64 = (1 << 53) - 1;

/// The longest cooldown that processes share, in microseconds: the store keeps a gate without reports for as long.
pub(super) const MAX_COOLDOWN: u64 = 3_600 * 1_000_000;

/// The highest number of a change that the script takes from a process, and a process from a notice.
const MAX_CHANGES: u64 = 1 << 52;

/// The number of digits of [`MAX_COUNT`].
const MAX_DIGITS: usize = 16;

/// A report of one process to the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateReport {
    /// The last change that the process knows. Refusals and later successes of an older one no longer count.
    pub(crate) change: u64,
    /// The successes since the last report, without the later ones.
    pub(crate) successes: u64,
    /// The refusals since the last report, after those successes.
    pub(crate) refusals: u64,
    /// The successes of calls that were sent after the first refused one of a run that has not ended.
    pub(crate) later: u64,
    /// The delay that the last of the refusals asked for, if any, in microseconds.
    pub(crate) delay: Option<u64>,
}

/// The store's notice to all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GateNotice {
    /// The number of times that a vote closed the gate or successes opened it.
    pub(crate) change: u64,
    /// The remaining time for which the gate stays closed; zero if it is open.
    pub(crate) closed: Duration,
}

/// The store's reply to one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GateReply {
    pub(crate) notice: GateNotice,
    /// `true` if this process sends one of the probes.
    pub(crate) probe: bool,
}

impl GateReport {
    /// Returns the script's arguments in their order.
    pub(crate) fn numbers(&self) -> [i64; 5] {
        [
            // The script rejects a larger one, and a later report could not mend it.
            signed(self.change.min(MAX_CHANGES)),
            signed(self.successes),
            signed(self.refusals),
            signed(self.later),
            self.delay.map_or(-1, signed),
        ]
    }
}

impl GateNotice {
    /// Parses a notice, `change:milliseconds`, and limits its cooldown to [`MAX_COOLDOWN`]. Anybody with the right to
    /// publish can write anything.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (change, milliseconds) = text.split_once(':')?;
        let number = |text: &str| {
            let is_number = text.len() <= MAX_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|_| is_number)?;
            (number <= MAX_COUNT).then_some(number)
        };
        let closed = Duration::from_millis(number(milliseconds)?);
        let change = number(change).filter(|change| *change <= MAX_CHANGES)?;
        Some(Self::new(change, closed))
    }

    fn new(change: u64, closed: Duration) -> Self {
        let closed = closed.min(Duration::from_micros(MAX_COOLDOWN));
        Self { change, closed }
    }
}

impl GateReply {
    /// Parses the script's reply. Returns `None` if it is invalid.
    pub(crate) fn of(numbers: &[i64]) -> Option<Self> {
        let [change, closed, probe] = *numbers else {
            return None;
        };
        let number = |number: i64| {
            u64::try_from(number)
                .ok()
                .filter(|number| *number <= MAX_COUNT)
        };
        let closed = Duration::from_micros(number(closed)?);
        Some(Self {
            notice: GateNotice::new(number(change)?, closed),
            probe: number(probe)? == 1,
        })
    }
}

/// Returns the number as an argument, at most [`MAX_COUNT`].
fn signed(number: u64) -> i64 {
    i64::try_from(number.min(MAX_COUNT)).unwrap_or_default()
}
