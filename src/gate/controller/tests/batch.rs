//! A batch in simulated time at a server without a limit that refuses 1 call in 20 and asks for a second.

use super::super::*;
use crate::policy::splitmix64;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const CALLS: u64 = 1_000;
const WIDTH: u64 = 200;
const TRIP: u64 = 4 * MILLISECOND;
const HOUR: u64 = 3_600 * SECOND;

/// What comes at its time: an answer to a call, or a refused call that has slept.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Answer(u64),
    Ready,
    Look,
}

/// The calls that wait, and those that are under way.
struct Batch {
    gate: Controller,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    random: u64,
    /// They go first.
    retries: u64,
    newcomers: u64,
    begun: u64,
    done: u64,
}

impl Batch {
    fn new(seed: u64) -> Self {
        Self {
            gate: Controller::new(0, false),
            events: BinaryHeap::from([Reverse((0, Event::Look))]),
            random: seed,
            retries: 0,
            newcomers: WIDTH,
            begun: WIDTH,
            done: 0,
        }
    }

    fn is_answered(&mut self, now: u64, permit: Permit) {
        self.random = splitmix64(self.random);
        if self.random % 20 == 0 {
            self.gate.refused(now, permit, Some(SECOND), None);
            self.events.push(Reverse((now + SECOND, Event::Ready)));
            return;
        }
        self.gate.succeeded(now, permit, None);
        self.done += 1;
        if self.begun < CALLS {
            self.begun += 1;
            self.newcomers += 1;
        }
    }

    /// Sends all that may go.
    fn goes_on(&mut self, now: u64) {
        while self.retries + self.newcomers > 0 {
            if let Err(at) = self.gate.next(now, splitmix64(self.random ^ 1)) {
                self.events.push(Reverse((at.max(now + 1), Event::Look)));
                return;
            }
            match self.retries {
                0 => self.newcomers -= 1,
                _ => self.retries -= 1,
            }
            let permit = self.gate.sends();
            if self.retries + self.newcomers == 0 {
                self.gate.line_is_empty();
            }
            self.random = splitmix64(self.random);
            let way = TRIP + self.random % 400;
            self.events
                .push(Reverse((now + way, Event::Answer(permit.0))));
        }
    }
}

/// How long the batch takes, where `told` is the number by which the controller knows a call.
fn played(seed: u64, told: fn(u64) -> u64) -> u64 {
    let mut batch = Batch::new(seed);
    while let Some(Reverse((now, event))) = batch.events.pop() {
        if now >= HOUR {
            break;
        }
        match event {
            Event::Look => {}
            Event::Ready => batch.retries += 1,
            Event::Answer(number) => batch.is_answered(now, Permit(told(number))),
        }
        if batch.done == CALLS {
            return now;
        }
        batch.goes_on(now);
    }
    HOUR
}

#[test]
fn witnesses_save_a_batch_that_is_refused_at_random() {
    for seed in 1..=2 {
        // Without a gate three refusals one after the other are what the unluckiest call meets.
        let time = played(seed, |number| number);
        assert!(time <= 5 * SECOND, "{time}");
        // A call without a number is nobody's witness.
        let without = played(seed, |_| 0);
        assert!(without > 20 * time, "{without}, {time}");
    }
}
