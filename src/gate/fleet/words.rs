//! What a process tells the store, and what the store answers.

use super::release::{Release, SLOWEST};
use crate::gate::controller::numbers::sum;
use crate::gate::controller::{MOST, Quota, SECOND};
use std::time::Duration;

/// The longest pause, and the longest time until a quota's reset, that processes tell each other: as long as the store
/// keeps a gate that nobody speaks of.
pub(super) const LONGEST_PAUSE: u64 = 3_600 * SECOND;

/// The highest opening that anybody hears of. A process tells an empty store which opening it knows, so one at the end of
/// the numbers would stay there.
pub(super) const MOST_OPENINGS: u64 = 1 << 52;

/// The digits of [`MOST`].
const MOST_DIGITS: usize = 16;

/// What a process tells the store of a gate, and what it asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateWords {
    /// The opening that the refusal or the contradiction is about.
    pub(crate) opening: u64,
    /// How long a refusal asks everybody to wait.
    pub(crate) asked: Option<u64>,
    /// Whether this process accuses by that refusal, or takes back what it accused.
    pub(crate) accuses: Accuses,
    /// The calls that have succeeded since the last words.
    pub(crate) successes: u64,
    /// How many tickets it wants.
    pub(crate) tickets: u64,
    /// What was heard of the quota since the last words.
    pub(crate) quota: Option<QuotaWord>,
    /// Uniform below a million.
    pub(crate) random: u64,
}

/// Whether the process that speaks is one more of those that keep the gate closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Accuses {
    /// As before: its refusal, if there is one, only prolongs the pause.
    #[default]
    Same,
    /// From now on.
    Begins,
    /// No longer: calls that were sent later have contradicted it.
    Ends,
}

/// What a call heard of the quota, and in which turn it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaWord {
    pub(crate) turn: u64,
    /// Nothing where a success told of no quota.
    pub(crate) told: Option<Quota>,
}

/// What the store answers: its state after the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GateAnswer {
    /// The pauses that ended by themselves, and the turns of the quota while the gate was open.
    pub(crate) opening: u64,
    pub(crate) closed: bool,
    /// When a closed gate opens, or an open one has opened.
    pub(crate) until: u64,
    /// The first of the tickets that were asked for, and how many were given.
    pub(crate) ticket: u64,
    pub(crate) granted: u64,
    /// When tickets are due, on the store's clock, and the next that will be given.
    pub(crate) release: Release,
    /// What remains of the quota after the tickets given, if there is one, and when it is whole again.
    pub(crate) remaining: Option<u64>,
    pub(crate) reset: u64,
    /// The turns of the quota that have ended.
    pub(crate) turn: u64,
    /// The store's clock.
    pub(crate) now: u64,
}

impl GateAnswer {
    /// The gate is new, or has lost its state.
    pub(super) fn knows_of_no_release(&self) -> bool {
        self.release.first == 0
    }
}

/// How many numbers an answer has.
const NUMBERS: usize = 14;

impl GateWords {
    /// The script's arguments, in its order.
    pub(crate) fn numbers(&self) -> [i64; 10] {
        let accuses = match self.accuses {
            Accuses::Same => 0,
            Accuses::Begins => 1,
            Accuses::Ends => -1,
        };
        let told = self.quota.and_then(|word| word.told);
        let remaining = match (self.quota, told) {
            (None, _) => -1,
            (Some(_), None) => -2,
            (_, Some(told)) => signed(told.remaining),
        };
        [
            signed(self.opening),
            self.asked.map_or(-1, signed),
            accuses,
            signed(self.successes),
            signed(self.tickets),
            remaining,
            signed(told.and_then(|told| told.limit).unwrap_or(0)),
            signed(told.map_or(0, |told| told.reset)),
            signed(self.quota.map_or(0, |word| word.turn)),
            signed(self.random),
        ]
    }
}

/// What the store tells all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GatePush {
    pub(crate) opening: u64,
    /// How long the gate is closed from now on; zero where it is open again.
    pub(crate) closed: Duration,
}

impl GatePush {
    /// Reads a message, `opening:milliseconds`, of at most [`LONGEST_PAUSE`]. Anybody who may publish can write anything.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (opening, milliseconds) = text.split_once(':')?;
        let number = |text: &str| {
            let is_number = text.len() <= MOST_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|_| is_number)?;
            (number <= MOST).then_some(number)
        };
        let closed = Duration::from_millis(number(milliseconds)?);
        Some(Self {
            opening: number(opening).filter(|opening| *opening <= MOST_OPENINGS)?,
            closed: closed.min(Duration::from_micros(LONGEST_PAUSE)),
        })
    }
}

impl GateAnswer {
    /// Reads the script's answer, with no time further off than the script plans one; nothing where it is not one.
    pub(crate) fn of(numbers: &[i64]) -> Option<Self> {
        if numbers.len() != NUMBERS {
            return None;
        }
        let number = |at: usize| {
            let number = u64::try_from(*numbers.get(at)?).ok()?;
            (number <= MOST).then_some(number)
        };
        let remaining = match *numbers.get(10)? {
            -1 => None,
            _ => Some(number(10)?),
        };
        let now = number(13)?;
        let latest = sum(now, LONGEST_PAUSE);
        Some(Self {
            opening: number(0).filter(|opening| *opening <= MOST_OPENINGS)?,
            closed: number(1)? == 1,
            until: number(2)?.min(latest),
            ticket: number(3)?,
            granted: number(4)?,
            release: Release {
                gone: number(5)?,
                from: number(6)?.min(sum(now, SLOWEST)),
                round: number(7)?.min(SLOWEST),
                first: number(8)?,
                group: number(9)?,
            },
            remaining,
            reset: number(11)?.min(latest),
            turn: number(12)?,
            now,
        })
    }
}

/// No number is above [`MOST`].
fn signed(number: u64) -> i64 {
    i64::try_from(number.min(MOST)).unwrap_or_default()
}
