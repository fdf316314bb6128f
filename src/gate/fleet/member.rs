//! One process's half of one shared gate: what it reports, when, and what it makes of the store's news.

use super::{GatePush, GateWords, NextWords};
use crate::gate::controller::numbers::{MOST, part, sum};
use crate::gate::controller::{MILLISECOND, NO_WISH, SECOND};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Reports come at most this often, but for a gate that closes.
const INTERVAL: u64 = 10 * MILLISECOND;
/// After a message that the gate is closed each process asks the store once, within this time and within the first half of
/// the cooldown: for a probe, and whether it is true. A store that all ask at once keeps them waiting.
const SPREAD: u64 = 200 * MILLISECOND;
/// A message about a change that is further ahead is not believed: its number would stay.
const MAX_AHEAD: u64 = 1 << 32;
/// A store that fails is asked again after this time, which doubles up to the longest.
const MIN_BACKOFF: u64 = 250 * MILLISECOND;
const MAX_BACKOFF: u64 = 5 * SECOND;
const MAX_BACKOFF_DOUBLINGS: u32 = 5;

/// The memory of a process that shares a gate. Times are the process's.
#[derive(Debug, Default)]
pub(in crate::gate) struct Member {
    /// By which the driver knows it.
    pub(in crate::gate) half: Arc<()>,
    /// The longest time that an answer may take.
    wait: u64,
    /// The longest cooldown that a call of this process waits for. A longer one holds nobody here, as a refusal that asks
    /// for as much closes no gate.
    pub(in crate::gate) longest: u64,
    /// The store tells this process of closed gates.
    subscribed: bool,
    /// The last change that is known.
    change: u64,
    /// Calls of this process have contradicted a cooldown, and the store has not said since that it is over.
    disagrees: bool,
    /// Which of several processes this is that share a quota.
    rank: Option<u64>,
    says: Says,
}

/// The next report, and when it may be sent.
#[derive(Debug, Default)]
struct Says {
    words: GateWords,
    /// There is nothing to report, but something to hear: from this time on.
    look_at: Option<u64>,
    /// The gate has closed here for longer than the interval of reports.
    has_closed: bool,
    /// The driver, and when it asks by itself.
    waker: Option<Waker>,
    asks_at: u64,
    /// The next call is to wake it.
    is_parked: bool,
    /// When the words in flight were sent, and when the last ones were.
    in_flight: Option<u64>,
    last: u64,
    /// The store failed so often; it is not asked before this time.
    failures: u32,
    not_before: u64,
    /// How often successes are reported by themselves.
    flush: u64,
}

/// What the store's news means for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) enum Heard {
    Nothing,
    ClosedUntil(u64),
    /// Successes of some processes contradicted the cooldown.
    Contradicted,
    /// The store knows of no cooldown.
    IsOver,
}

impl Member {
    pub(in crate::gate) fn new(wait: u64) -> Self {
        let says = Says {
            look_at: Some(0),
            ..Says::default()
        };
        Self {
            wait,
            says,
            ..Self::default()
        }
    }

    /// Returns `true` if calls may go without a look at this.
    pub(in crate::gate) fn is_idle(&self) -> bool {
        !self.says.is_parked
    }

    /// A call was refused, and its refusal is a vote, which `closes` the gate here or does not.
    pub(in crate::gate) fn refused(&mut self, asked: Option<u64>, closes: bool) {
        let says = &mut self.says;
        says.words.refusals = sum(says.words.refusals, 1);
        says.words.asked = asked;
        // The other processes are to hear of that soon. Short cooldowns would be reported without an interval.
        says.has_closed |= closes && asked.unwrap_or(NO_WISH) > INTERVAL;
    }

    /// Calls have succeeded; `later` is whether they count against a run of refusals here.
    pub(in crate::gate) fn succeeded(&mut self, successes: u64, later: bool) {
        let words = &mut self.says.words;
        let counted = if later || self.disagrees {
            &mut words.later
        } else {
            &mut words.successes
        };
        *counted = sum(*counted, successes);
    }

    /// Calls of this process have contradicted the cooldown: for them it is over, whatever the store makes of it.
    pub(in crate::gate) fn disagrees(&mut self) {
        self.disagrees = true;
    }

    /// Takes the store's news. `is_push` is whether the store has told everybody, so that there may be a probe to ask for.
    pub(in crate::gate) fn hears(
        &mut self,
        now: u64,
        push: GatePush,
        is_push: bool,
        random: u64,
    ) -> Heard {
        let is_new = push.change > self.change;
        let is_believed = !is_push || push.change <= sum(self.change, MAX_AHEAD);
        if push.change < self.change || !is_believed {
            return Heard::Nothing;
        }
        self.change = push.change;
        let closed = push.closed_for();
        self.disagrees &= !is_new && closed.is_some();
        let Some(closed) = closed else {
            return if is_new {
                Heard::Contradicted
            } else {
                Heard::IsOver
            };
        };
        if closed > self.longest || self.disagrees {
            return Heard::Nothing;
        }
        if is_new && is_push {
            let spread = part(random, (closed / 2).min(SPREAD));
            self.says.look_at = Some(sum(now, spread));
        }
        Heard::ClosedUntil(sum(now, closed))
    }

    /// Returns the number of this process among those that share a quota.
    pub(in crate::gate) fn rank(&mut self, random: u64) -> u64 {
        *self.rank.get_or_insert(random)
    }

    /// Returns the next report if it is due.
    pub(in crate::gate) fn says_next(&mut self, now: u64, random: u64) -> NextWords {
        match self.speaks_at() {
            Some(at) if at <= now => NextWords::Command(self.speak(now)),
            at => {
                let flush = self.says.flush;
                let poll = sum(now, sum(flush, part(random, flush / 4)));
                self.says.asks_at = at.map_or(poll, |at| at.min(poll));
                NextWords::Wait(Some(Duration::from_micros(self.says.asks_at)))
            }
        }
    }

    /// Returns the driver if there is something to report before it asks.
    pub(in crate::gate) fn calls_driver(&mut self) -> Option<Waker> {
        let at = self.speaks_at()?;
        if at >= self.says.asks_at {
            return None;
        }
        self.says.waker.take()
    }

    /// Returns when the next report is due.
    fn speaks_at(&self) -> Option<u64> {
        let says = &self.says;
        if says.in_flight.is_some() {
            return None;
        }
        let at_once = says.has_closed.then_some(0);
        let soon = says.words.refusals > 0 || says.words.later > 0;
        let soon = soon.then(|| sum(says.last, INTERVAL));
        // Successes alone matter to a gate that closes now and then.
        let flushes = says.words.successes > 0 && self.change > 0;
        let flush = flushes.then(|| sum(says.last, says.flush));
        let first = [at_once, soon, says.look_at, flush];
        let first = first.into_iter().flatten().min()?;
        Some(first.max(says.not_before))
    }

    fn speak(&mut self, now: u64) -> GateWords {
        let says = &mut self.says;
        (says.look_at, says.in_flight, says.last) = (None, Some(now), now);
        says.asks_at = MOST;
        says.has_closed = false;
        let words = std::mem::take(&mut says.words);
        GateWords {
            change: self.change,
            ..words
        }
    }

    /// The store has answered the words in flight. Returns `true` if this process is in the fleet from here on: it is told
    /// of closed gates, and the answer came in time.
    pub(in crate::gate) fn is_answered(&mut self, now: u64, random: u64) -> bool {
        let sent = self.says.in_flight.take();
        let in_time = sent.is_some_and(|sent| now.saturating_sub(sent) <= self.wait);
        if in_time {
            (self.says.failures, self.says.not_before) = (0, 0);
        } else {
            self.backs_off(now, random);
        }
        in_time && self.subscribed
    }

    /// The store has failed, and may not have heard the words.
    pub(in crate::gate) fn fails(&mut self, now: u64, random: u64) {
        self.says.in_flight = None;
        self.backs_off(now, random);
    }

    fn backs_off(&mut self, now: u64, random: u64) {
        let doublings = self.says.failures.min(MAX_BACKOFF_DOUBLINGS);
        let backoff = (MIN_BACKOFF << doublings).min(MAX_BACKOFF);
        self.says.failures = doublings.saturating_add(1);
        self.says.not_before = sum(now, sum(backoff, part(random, backoff / 4)));
        self.says.look_at = Some(0);
    }

    /// The store tells this process of closed gates, or no longer. If it does again, something may have been missed.
    pub(in crate::gate) fn is_subscribed(&mut self, subscribed: bool) {
        self.subscribed = subscribed;
        if subscribed {
            self.says.look_at = Some(0);
            self.says.not_before = 0;
        }
    }

    pub(in crate::gate) fn watches(&mut self, waker: &Waker) {
        self.says.waker = Some(waker.clone());
        self.says.is_parked = false;
    }

    pub(in crate::gate) fn flushes_each(&mut self, interval: u64) {
        self.says.flush = interval;
    }

    /// Nobody asks any more, until this one is woken.
    pub(in crate::gate) fn parks(&mut self, waker: &Waker, by_next_call: bool) {
        self.watches(waker);
        self.says.asks_at = MOST;
        self.says.is_parked = by_next_call;
    }
}
