//! The store's arithmetic, and its script on a real server.

mod batch;
mod behind;
mod far;
mod herds;
mod join;
pub(in crate::gate) mod joined;
mod processes;
mod properties;
mod script;
mod twin;
mod world;

use super::twin::{SharedGate, step};
use super::{Accuses, GateAnswer, GatePush, GateWords, NextWords, QuotaWord};
use crate::gate::Quota;
use std::time::Duration;

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// A store with one gate, and its clock.
#[derive(Default)]
struct Store {
    gate: Option<SharedGate>,
    now: u64,
    pushes: Vec<GatePush>,
    last: Option<GateAnswer>,
}

impl Store {
    fn new() -> Self {
        Self {
            now: 1_800_000_000 * SECOND,
            ..Self::default()
        }
    }

    /// Says these words about the opening that is known.
    fn say(&mut self, words: GateWords) -> GateAnswer {
        let opening = self.last.map_or(0, |last| last.opening);
        self.say_of(opening, words)
    }

    fn say_of(&mut self, opening: u64, words: GateWords) -> GateAnswer {
        let words = GateWords { opening, ..words };
        let (answer, push) = step(&mut self.gate, &words, self.now);
        self.pushes.extend(push);
        self.last = Some(answer);
        answer
    }

    fn refuse(&mut self, asked: u64) -> GateAnswer {
        self.say(refusal(asked))
    }

    fn contradict(&mut self) -> GateAnswer {
        self.say(GateWords {
            accuses: Accuses::Ends,
            ..GateWords::default()
        })
    }

    fn succeed(&mut self, successes: u64) -> GateAnswer {
        self.say(GateWords {
            successes,
            ..GateWords::default()
        })
    }

    fn ask(&mut self, tickets: u64) -> GateAnswer {
        self.say(GateWords {
            tickets,
            ..GateWords::default()
        })
    }

    fn tell(&mut self, turn: u64, told: Option<(u64, u64)>) -> GateAnswer {
        self.say(GateWords {
            quota: Some(word(turn, told)),
            ..GateWords::default()
        })
    }

    fn look(&mut self) -> GateAnswer {
        self.say(GateWords::default())
    }

    /// Goes to the end of the pause and looks.
    fn open(&mut self) -> GateAnswer {
        let closed = self.look();
        assert!(closed.closed);
        self.now = closed.until;
        let open = self.look();
        assert_eq!((open.closed, open.opening), (false, closed.opening + 1));
        open
    }

    fn pause(&mut self) -> Option<u64> {
        let seen = self.look();
        seen.closed.then(|| seen.until - self.now)
    }

    fn pushed(&mut self) -> Vec<u128> {
        let pushes = std::mem::take(&mut self.pushes);
        pushes.iter().map(|push| push.closed.as_millis()).collect()
    }
}

fn refusal(asked: u64) -> GateWords {
    GateWords {
        asked: Some(asked),
        accuses: Accuses::Begins,
        ..GateWords::default()
    }
}

/// What a call of this turn heard of a quota of 100: what remains, and for how long.
fn word(turn: u64, told: Option<(u64, u64)>) -> QuotaWord {
    let told = told.map(|(remaining, reset)| Quota {
        remaining,
        limit: Some(100),
        reset,
    });
    QuotaWord { turn, told }
}

#[test]
fn a_push_is_rounded_up_to_a_whole_millisecond() {
    let mut store = Store::new();
    store.refuse(1);
    assert_eq!(store.pushes[0].closed, Duration::from_millis(1));
}
