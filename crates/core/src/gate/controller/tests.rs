//! The five rules, one at a time.

mod provisional;
mod release;

use super::*;
use crate::gate::vote::DEFAULT_COOLDOWN;
use proptest::prelude::*;
use std::time::Duration;

const ASKED: u64 = 2 * SECOND;
/// A round is as long as the cooldown.
const ROUND: u64 = ASKED;
/// A divisor of no call number.
const NONE: u64 = u64::MAX;

/// A controller and the calls that go through it.
struct Scene {
    controller: Controller,
    sent: u64,
    now: u64,
}

impl Scene {
    fn new() -> Self {
        Self {
            controller: Controller::new(0),
            sent: 0,
            now: 0,
        }
    }

    fn go(&mut self) -> CallNumber {
        self.goes(false, false)
    }

    fn goes(&mut self, as_probe: bool, others_wait: bool) -> CallNumber {
        self.sent += 1;
        self.controller
            .go(self.now, self.sent, as_probe, others_wait)
    }

    /// Refuses a first attempt. Returns `true` if that closes the gate.
    fn refuse(&mut self) -> bool {
        let permit = self.go();
        self.is_refused(permit, true)
    }

    fn is_refused(&mut self, permit: CallNumber, is_first: bool) -> bool {
        self.controller
            .refused(self.now, permit, is_first, Some(ASKED), None)
    }

    /// Lets a first attempt succeed. Returns `true` if that contradicts a cooldown.
    fn succeed(&mut self, permit: CallNumber) -> bool {
        self.controller.succeeded(self.now, permit, true, None)
    }

    /// Lets a call succeed that was refused before.
    fn succeed_at_last(&mut self, permit: CallNumber) -> bool {
        self.controller.succeeded(self.now, permit, false, None)
    }

    fn next(&mut self) -> NextTurn {
        self.controller.next(self.now, false)
    }

    fn is_closed(&mut self) -> bool {
        matches!(self.next(), NextTurn::At(_))
    }

    /// Closes the gate, and waits until the cooldown is over. Returns its length.
    fn cool_down(&mut self) -> u64 {
        while !self.refuse() {}
        let NextTurn::At(until) = self.next() else {
            panic!("it is open");
        };
        let cooldown = until - self.now;
        self.now = until;
        cooldown
    }

    /// Makes calls that succeed, one per `interval`.
    fn succeed_each(&mut self, interval: u64, calls: u64) {
        for _ in 0..calls {
            self.now += interval;
            let good = self.go();
            self.succeed(good);
        }
    }

    /// Plays one round of a release, in which every call whose number is divisible by `bad` is refused, while others
    /// wait. Returns the time from one call to the next.
    fn round(&mut self, bad: u64) -> u64 {
        let (end, mut last, mut interval) = (self.now + ROUND, None, 0);
        while self.now < end {
            match self.next() {
                NextTurn::At(due) => self.now = due.min(end),
                NextTurn::First | NextTurn::Probe => {
                    let permit = self.goes(false, true);
                    if self.sent % bad == 0 {
                        self.is_refused(permit, false);
                    } else {
                        self.succeed_at_last(permit);
                    }
                    interval = last.replace(self.now).map_or(0, |last| self.now - last);
                }
            }
        }
        interval
    }

    /// Runs against a server that accepts one call per `interval`, but none whose number is divisible by `stray`, while
    /// others wait. Returns the numbers of accepted and refused calls.
    fn play(&mut self, interval: u64, stray: u64, time: u64) -> (u64, u64) {
        let (mut free_at, end, mut counts) = (self.now, self.now + time, (0, 0));
        while self.now < end {
            match self.next() {
                NextTurn::At(due) => self.now = due.min(end),
                NextTurn::First | NextTurn::Probe => {
                    let permit = self.goes(false, true);
                    if self.now >= free_at && self.sent % stray != 0 {
                        free_at = self.now + interval;
                        self.succeed_at_last(permit);
                        counts.0 += 1;
                    } else {
                        self.is_refused(permit, false);
                        counts.1 += 1;
                    }
                }
            }
        }
        counts
    }
}

#[test]
fn one_refusal_among_successes_never_closes_the_gate() {
    let mut scene = Scene::new();
    for _ in 0..1_000 {
        assert!(!scene.refuse() && !scene.refuse());
        let good = scene.go();
        scene.succeed(good);
        assert_eq!(scene.next(), NextTurn::First);
    }
}

#[test]
fn four_refusals_in_a_row_close_the_gate() {
    let mut scene = Scene::new();
    for closes in [false, false, false, true] {
        assert_eq!(scene.refuse(), closes);
    }
    assert_eq!(scene.next(), NextTurn::At(ASKED));
}

#[test]
fn a_retry_that_is_refused_has_no_vote() {
    let mut scene = Scene::new();
    for _ in 0..100 {
        let again = scene.go();
        assert!(!scene.is_refused(again, false));
    }
    assert!(!scene.is_closed());
}

#[test]
fn a_success_sent_before_the_refusals_contradicts_nothing() {
    let mut scene = Scene::new();
    let early = scene.go();
    while !scene.refuse() {}
    assert!(!scene.succeed(early));
    assert!(scene.is_closed());
}

#[test]
fn a_success_that_overtakes_the_refusals_contradicts_nothing() {
    let mut scene = Scene::new();
    let [first, overtakes, others @ ..] = [(); 30].map(|()| scene.go());
    scene.is_refused(first, true);
    let closes = others.map(|call| scene.is_refused(call, true));
    assert!(closes.contains(&true));
    assert!(!scene.succeed(overtakes));
    assert!(scene.is_closed());
}

#[test]
fn one_success_does_not_end_a_run_of_refusals() {
    let mut scene = Scene::new();
    assert!(!scene.refuse() && !scene.refuse() && !scene.refuse());
    let good = scene.go();
    scene.succeed(good);
    assert!(scene.refuse(), "four refusals, one success");
}

#[test]
fn half_as_many_successes_end_a_run_and_double_the_patience() {
    let mut scene = Scene::new();
    // For a run of sixteen a quarter is enough.
    for (most, enough) in [(4, 2), (8, 4), (16, 4), (16, 4)] {
        let refused: Vec<CallNumber> = (0..most).map(|_| scene.go()).collect();
        let later: Vec<CallNumber> = (0..enough).map(|_| scene.go()).collect();
        let closes: Vec<bool> = refused
            .into_iter()
            .map(|call| scene.is_refused(call, true))
            .collect();
        assert_eq!(closes.iter().position(|closes| *closes), Some(most - 1));
        let (last, later) = later.split_last().unwrap();
        for call in later {
            assert!(!scene.succeed(*call) && scene.is_closed());
        }
        assert!(scene.succeed(*last));
        assert!(!scene.is_closed());
    }
}

#[test]
fn an_uncontradicted_cooldown_halves_the_patience() {
    let mut scene = Scene::new();
    scene.cool_down();
    assert_eq!(scene.next(), NextTurn::First);
    assert!(!scene.refuse());
    assert!(scene.refuse(), "two are enough now");
}

#[test]
fn newcomers_probe_a_closed_gate_one_at_a_time() {
    let mut scene = Scene::new();
    while !scene.refuse() {}
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
    let probe = scene.goes(true, true);
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::At(ASKED));
    scene.is_refused(probe, true);
    let again = PROBE_INTERVAL;
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::At(again));
    scene.now = again;
    let probe = scene.goes(true, true);
    assert!(!scene.succeed(probe));
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
    let probe = scene.goes(true, true);
    assert!(!scene.succeed(probe), "two of five refused calls");
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
    let probe = scene.goes(true, true);
    assert!(scene.succeed(probe), "the limit is not everybody's");
    assert_eq!(scene.next(), NextTurn::First);
}

#[test]
fn a_closed_gate_is_shut_for_newcomers_after_the_last_probe() {
    let mut scene = Scene::new();
    while !scene.refuse() {}
    assert_eq!(scene.controller.shut_until(false), Some(ASKED));
    for _ in 0..2 {
        assert_eq!(scene.controller.shut_until(true), None, "a probe may go");
        let probe = scene.goes(true, true);
        assert_eq!(scene.controller.shut_until(true), None, "one is in flight");
        scene.is_refused(probe, true);
        scene.now += PROBE_INTERVAL;
    }
    let until = Some(PROBE_INTERVAL + ASKED);
    assert_eq!(scene.controller.shut_until(true), until);
}

#[test]
fn a_refused_probe_extends_the_cooldown() {
    let mut scene = Scene::new();
    let early = scene.go();
    while !scene.refuse() {}
    scene.now = SECOND;
    // A call that was in flight when the gate closed met the limit that closed it.
    scene.is_refused(early, true);
    assert_eq!(scene.next(), NextTurn::At(ASKED));
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
    let probe = scene.goes(true, true);
    scene.is_refused(probe, true);
    assert_eq!(scene.next(), NextTurn::At(SECOND + ASKED));
    // It never ends earlier: this one asks for less than is left.
    scene.now = SECOND + PROBE_INTERVAL;
    let probe = scene.goes(true, true);
    scene
        .controller
        .refused(scene.now, probe, true, Some(1), None);
    assert_eq!(scene.next(), NextTurn::At(SECOND + ASKED));
}

#[test]
fn a_gate_that_closed_rightly_sends_no_probes() {
    let mut scene = Scene::new();
    scene.cool_down();
    scene.next();
    let held = scene.go();
    scene.succeed_at_last(held);
    while !scene.refuse() {}
    let due = scene.controller.next(scene.now, true);
    assert!(matches!(due, NextTurn::At(_)), "{due:?}");
}

#[test]
fn a_gate_whose_held_calls_never_succeeded_sends_probes_again() {
    let mut scene = Scene::new();
    scene.cool_down();
    scene.next();
    while !scene.refuse() {}
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
}

#[test]
fn newcomers_probe_in_a_release_until_a_held_call_succeeds() {
    let mut scene = Scene::new();
    scene.cool_down();
    assert_eq!(scene.next(), NextTurn::First);
    let held = scene.goes(false, true);
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
    let probe = scene.goes(true, true);
    scene.succeed(probe);
    assert_eq!(scene.controller.next(scene.now, true), NextTurn::Probe);
    scene.succeed_at_last(held);
    let due = scene.controller.next(scene.now, true);
    assert!(matches!(due, NextTurn::At(_)), "{due:?}");
}

#[test]
fn repeated_refusals_close_no_gate_while_newcomers_succeed() {
    let mut scene = Scene::new();
    scene.cool_down();
    scene.next();
    for _ in 0..100 {
        let newcomer = scene.goes(true, true);
        scene.succeed(newcomer);
        let held = scene.go();
        assert!(!scene.is_refused(held, false));
    }
    // A call that was refused before succeeds, so the limit is one that time ends.
    let held = scene.go();
    scene.succeed_at_last(held);
    let closes = (0..100).any(|_| {
        let held = scene.go();
        scene.is_refused(held, false)
    });
    assert!(closes);
}

#[test]
fn a_cooldown_doubles_while_nothing_succeeds() {
    let mut scene = Scene::new();
    assert_eq!(scene.cool_down(), ASKED);
    scene.next();
    assert_eq!(scene.cool_down(), 2 * ASKED);
    scene.next();
    assert_eq!(scene.cool_down(), 4 * ASKED);
    scene.next();
    assert_eq!(scene.cool_down(), 4 * ASKED, "the server named a time");
    scene.next();
    let good = scene.go();
    scene.succeed(good);
    assert_eq!(scene.cool_down(), ASKED);
}

#[test]
fn cooldowns_without_a_named_time_double_up_to_twenty_seconds() {
    let mut scene = Scene::new();
    let cooldowns = (0..12).map(|_| {
        while !{
            let permit = scene.go();
            scene
                .controller
                .refused(scene.now, permit, true, None, None)
        } {}
        let NextTurn::At(until) = scene.next() else {
            panic!("it is open");
        };
        let cooldown = until - scene.now;
        scene.now = until;
        scene.next();
        cooldown
    });
    let cooldowns: Vec<u64> = cooldowns.collect();
    assert_eq!(
        cooldowns[..4],
        [
            DEFAULT_COOLDOWN,
            2 * DEFAULT_COOLDOWN,
            4 * DEFAULT_COOLDOWN,
            8 * DEFAULT_COOLDOWN
        ]
    );
    assert_eq!(cooldowns.last(), Some(&(20 * SECOND)));
}

#[test]
fn a_spent_quota_holds_calls_until_its_reset() {
    let mut scene = Scene::new();
    let first = scene.go();
    let quota = |remaining| {
        Some(Quota {
            limit: Some(10),
            remaining,
            reset: Duration::from_secs(5),
            window: None,
        })
    };
    scene.controller.succeeded(0, first, true, quota(1));
    assert_eq!(scene.next(), NextTurn::First);
    let second = scene.go();
    assert_eq!(
        scene.next(),
        NextTurn::At(5 * SECOND),
        "one remains, and is in flight"
    );
    scene.controller.succeeded(0, second, true, quota(0));
    assert_eq!(scene.next(), NextTurn::At(5 * SECOND));
    scene.now = 5 * SECOND;
    assert_eq!(scene.next(), NextTurn::First);
}

#[test]
fn a_spent_quota_without_a_time_is_back_in_a_second() {
    let reset = |remaining, seconds| {
        let quota = Quota {
            limit: None,
            remaining,
            reset: Duration::from_secs(seconds),
            window: None,
        };
        quota.with_min_reset().reset.as_secs()
    };
    assert_eq!([reset(0, 0), reset(0, 60), reset(3, 0)], [1, 60, 0]);
}

#[test]
fn a_quota_comes_back_after_as_long_as_the_first_time() {
    let mut scene = Scene::new();
    let spent = Some(Quota {
        limit: Some(1),
        remaining: 0,
        reset: Duration::from_secs(5),
        window: None,
    });
    let first = scene.go();
    scene.controller.succeeded(0, first, true, spent);
    for turn in 1..4 {
        scene.now = turn * 5 * SECOND;
        assert_eq!(scene.next(), NextTurn::First);
        // Its response does not come, so nothing tells when the quota is back.
        scene.go();
        assert_eq!(scene.next(), NextTurn::At(scene.now + 5 * SECOND));
    }
}

#[test]
fn a_response_from_before_the_reset_does_not_count_after_it() {
    let mut scene = Scene::new();
    let quota = |remaining| {
        Some(Quota {
            limit: Some(2),
            remaining,
            reset: Duration::from_secs(5),
            window: None,
        })
    };
    let first = scene.go();
    scene.controller.succeeded(0, first, true, quota(1));
    let late = scene.go();
    scene.now = 5 * SECOND;
    assert_eq!(scene.next(), NextTurn::First);
    scene.controller.succeeded(scene.now, late, true, quota(0));
    assert_eq!(scene.next(), NextTurn::First, "both calls of the new turn");
}

#[test]
fn a_call_without_a_response_takes_one_from_the_quota() {
    let mut scene = Scene::new();
    let [first, lost] = [(); 2].map(|()| scene.go());
    let three = Some(Quota {
        limit: Some(10),
        remaining: 3,
        reset: Duration::from_secs(5),
        window: None,
    });
    scene.controller.succeeded(0, first, true, three);
    scene.controller.ended(0, lost, None);
    for _ in 0..2 {
        assert_eq!(scene.next(), NextTurn::First);
        scene.go();
    }
    assert_eq!(scene.next(), NextTurn::At(5 * SECOND));
}

#[test]
fn a_spent_quota_shuts_the_gate_once_no_call_is_in_flight() {
    let mut scene = Scene::new();
    let [first, second] = [(); 2].map(|()| scene.go());
    let spent = Some(Quota {
        limit: Some(10),
        remaining: 0,
        reset: Duration::from_secs(5),
        window: None,
    });
    scene.controller.succeeded(0, first, true, spent);
    // The response of the other one may say that more remains.
    assert_eq!(scene.controller.shut_until(true), None);
    scene.controller.succeeded(0, second, true, spent);
    for is_newcomer in [false, true] {
        let until = scene.controller.shut_until(is_newcomer);
        assert_eq!(until, Some(5 * SECOND));
    }
}

proptest! {
    #[test]
    fn the_next_turn_is_now_or_later(
        steps in prop::collection::vec((0_u8..6, 0_u64..3_000_000, any::<bool>()), 1..300),
        start in prop_oneof![Just(0), Just(MAX_COUNT - 5_000_000)],
    ) {
        let mut scene = Scene { now: start, ..Scene::new() };
        scene.controller = Controller::new(start);
        let mut flying: Vec<CallNumber> = Vec::new();
        for (step, time, flag) in steps {
            match step {
                0 => scene.now = scene.now.saturating_add(time),
                1 => match scene.controller.next(scene.now, flag) {
                    NextTurn::At(due) => prop_assert!(due > scene.now.min(MAX_COUNT) || due == MAX_COUNT),
                    next => {
                        let permit = scene.goes(next == NextTurn::Probe, flag);
                        flying.push(permit);
                    }
                },
                _ => {
                    let Some(permit) = flying.pop() else { continue };
                    match step {
                        2 => { scene.controller.refused(scene.now, permit, flag, Some(time), None); }
                        3 => { scene.controller.refused(scene.now, permit, flag, None, None); }
                        4 => { scene.controller.succeeded(scene.now, permit, flag, None); }
                        _ => scene.controller.ended(scene.now, permit, None),
                    }
                }
            }
        }
    }
}

#[test]
fn old_successes_weigh_less_while_the_gate_is_open() {
    assert_eq!(faded(100, 0, MEMORY), (100, 0));
    let half = MEMORY / 2;
    assert_eq!(faded(100, 0, MEMORY + 1), (50, half + 1));
    assert_eq!(faded(100, 0, 3 * MEMORY), (12, 2 * MEMORY + half));
    assert_eq!(faded(MAX_COUNT, 0, MAX_COUNT), (0, MAX_COUNT - half));
    assert_eq!(fades_at(0), MEMORY + 1);
}
