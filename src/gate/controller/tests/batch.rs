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

/// How long the batch takes, where `told` is the number by which the controller knows a call.
fn played(seed: u64, told: fn(u64) -> u64) -> u64 {
    let (mut gate, mut events, mut random) = (Controller::new(0, false), BinaryHeap::new(), seed);
    // Retries first.
    let (mut retries, mut newcomers) = (0_u64, WIDTH);
    let (mut begun, mut done) = (WIDTH, 0);
    events.push(Reverse((0, Event::Look)));
    while let Some(Reverse((now, event))) = events.pop().filter(|Reverse((now, _))| *now < HOUR) {
        match event {
            Event::Look => {}
            Event::Ready => retries += 1,
            Event::Answer(number) => {
                random = splitmix64(random);
                let permit = Permit(told(number));
                if random % 20 == 0 {
                    gate.refused(now, permit, Some(SECOND), None);
                    events.push(Reverse((now + SECOND, Event::Ready)));
                } else {
                    gate.succeeded(now, permit, None);
                    done += 1;
                    if begun < CALLS {
                        begun += 1;
                        newcomers += 1;
                    }
                }
            }
        }
        if done == CALLS {
            return now;
        }
        while retries + newcomers > 0 {
            if let Err(at) = gate.next(now, splitmix64(random ^ 1)) {
                events.push(Reverse((at.max(now + 1), Event::Look)));
                break;
            }
            match retries {
                0 => newcomers -= 1,
                _ => retries -= 1,
            }
            let permit = gate.sends();
            if retries + newcomers == 0 {
                gate.line_is_empty();
            }
            random = splitmix64(random);
            let way = TRIP + random % 400;
            events.push(Reverse((now + way, Event::Answer(permit.0))));
        }
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
