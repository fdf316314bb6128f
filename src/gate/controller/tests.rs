//! The rules of the controller, one by one, and its arithmetic at the ends of the numbers.

mod batch;
mod chance;
mod properties;
mod quota;
mod tempo;

use super::*;

/// A gate that calls have gone through.
struct Scene {
    gate: Controller,
    now: u64,
}

impl Scene {
    fn new() -> Self {
        Self {
            gate: Controller::new(0, false),
            now: 0,
        }
    }

    /// Sends so many, one after another, as from a line that never ends.
    fn send<const N: usize>(&mut self) -> [Permit; N] {
        [(); N].map(|()| {
            assert_eq!(self.gate.next(self.now, 0), Ok(()));
            self.gate.sends()
        })
    }

    fn refuse(&mut self, permit: Permit, asked: u64) {
        self.gate.refused(self.now, permit, Some(asked), None);
    }

    fn succeed(&mut self, permit: Permit) {
        self.gate.succeeded(self.now, permit, None);
    }

    /// Goes to the end of the pause.
    fn open(&mut self) {
        let opening = self.gate.opening;
        self.now = self.gate.until;
        assert!(self.gate.closed);
        let _ = self.gate.next(self.now, 0);
        assert_eq!(self.gate.opening, opening + 1);
    }

    fn pause(&self) -> Option<u64> {
        self.gate.closed.then(|| self.gate.until - self.now)
    }
}

impl Controller {
    fn sends(&mut self) -> Permit {
        self.go(self.sent + 1)
    }
}

fn quota(remaining: u64, reset: u64) -> Option<Quota> {
    Some(Quota {
        limit: Some(10),
        remaining,
        reset,
    })
}

#[test]
fn a_refusal_closes_the_gate_for_what_it_asks() {
    for (asked, pause) in [
        (Some(3 * SECOND), 3 * SECOND),
        (None, NO_WISH),
        (Some(0), 0),
    ] {
        let mut scene = Scene::new();
        let [call] = scene.send();
        scene.gate.refused(0, call, asked, None);
        assert_eq!(scene.pause(), Some(pause));
    }
}

#[test]
fn a_pause_is_prolonged_and_never_shortened() {
    let mut scene = Scene::new();
    let calls = scene.send::<3>();
    for (call, asked) in calls.into_iter().rev().zip([10, 20, 5]) {
        scene.refuse(call, asked * SECOND);
    }
    assert_eq!(scene.pause(), Some(20 * SECOND));
    assert_eq!(scene.gate.asked, 20 * SECOND);
}

#[test]
fn a_success_sent_before_the_refused_call_contradicts_nothing() {
    let mut scene = Scene::new();
    let [early, refused] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(early);
    assert_eq!(scene.pause(), Some(SECOND));
}

#[test]
fn one_of_two_contradicts_only_with_a_second_or_the_last() {
    let mut scene = Scene::new();
    let [refused, a, b, c, d] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    scene.refuse(b, SECOND);
    assert_eq!((scene.gate.witnesses.later, scene.gate.closed), (2, true));
    scene.succeed(c);
    assert!(scene.gate.closed, "two of four, and one is out");
    scene.succeed(d);
    assert!(!scene.gate.closed, "the last of them, and three of five");

    let mut scene = Scene::new();
    let [refused, a, b, _out] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    assert!(scene.gate.closed);
    scene.succeed(b);
    assert!(!scene.gate.closed, "two for one");
}

#[test]
fn a_contradiction_neither_finds_a_rate_nor_voids_tickets() {
    let mut scene = Scene::new();
    let [first] = scene.send();
    scene.refuse(first, SECOND);
    scene.open();
    let (each, from) = (scene.gate.each, scene.gate.release.unwrap().from);
    let [refused, a] = scene.send();
    let gone = scene.gate.release.unwrap().gone;
    scene.now += 7;
    scene.refuse(refused, SECOND);
    scene.now += 500;
    scene.succeed(a);
    assert!(!scene.gate.closed);
    assert_eq!(scene.gate.each, each);
    assert_eq!(scene.gate.release.unwrap().gone, gone);
    assert_eq!((scene.gate.opening, scene.gate.credit), (1, CREDIT));
    assert_eq!(scene.gate.release.unwrap().from, from + 500);
}

#[test]
fn witnesses_that_are_heard_after_the_pause_give_credit_alone() {
    let mut scene = Scene::new();
    let [refused, a, b] = scene.send();
    scene.refuse(refused, SECOND);
    scene.open();
    let [again] = scene.send();
    assert!(again.0 > b.0);
    for slow in [a, b] {
        scene.succeed(slow);
    }
    assert_eq!((scene.gate.credit, scene.gate.opening), (CREDIT, 1));
}

#[test]
fn a_dropped_witness_leaves_the_last_word_to_the_others() {
    let mut scene = Scene::new();
    let [refused, a, b] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    assert!(scene.gate.closed);
    scene.gate.ended(0, b, None);
    assert!(scene.gate.closed, "a drop says nothing by itself");
    assert!(scene.gate.witnesses.later == 0);
}

#[test]
fn a_credit_of_twelve_pays_for_six_refusals() {
    let mut scene = Scene::new();
    let [refused, a, b] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    scene.succeed(b);
    for paid in scene.send::<6>() {
        scene.refuse(paid, SECOND);
        assert!(!scene.gate.closed);
    }
    let [seventh] = scene.send();
    scene.refuse(seventh, SECOND);
    assert!(scene.gate.closed);
}

#[test]
fn successes_fill_a_credit_that_there_is_up_to_its_most() {
    let mut scene = Scene::new();
    for call in scene.send::<3>() {
        scene.succeed(call);
    }
    assert_eq!(scene.gate.credit, 0);
    scene.gate.credit = 1;
    for call in scene.send::<40>() {
        scene.succeed(call);
    }
    assert_eq!(scene.gate.credit, FULL_CREDIT);
}

#[test]
fn an_empty_line_ends_the_release() {
    let mut scene = Scene::new();
    let [call] = scene.send();
    scene.refuse(call, SECOND);
    scene.open();
    scene.gate.sends();
    scene.gate.sends();
    assert!(scene.gate.next(scene.now, 0).is_err());
    scene.gate.sends();
    scene.gate.line_is_empty();
    assert_eq!(scene.gate.next(scene.now, 0), Ok(()));
}

#[test]
fn without_a_success_the_pause_doubles_up_to_20_s_or_the_wish() {
    for (asked, pauses) in [
        (
            1_000,
            [1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000, 20_000],
        ),
        (
            15_000,
            [
                15_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000,
            ],
        ),
        (1, [1, 20, 40, 80, 160, 320, 640, 1_280]),
        (90_000, [90_000; 8]),
    ] {
        let mut scene = Scene::new();
        for pause in pauses {
            let [call] = scene.send();
            scene.refuse(call, asked * MILLISECOND);
            assert_eq!(scene.pause(), Some(pause * MILLISECOND));
            scene.open();
        }
    }
}

#[test]
fn what_is_no_sign_of_a_longer_pause_doubles_nothing() {
    let closed_again = |between: fn(&mut Scene, Permit)| {
        let mut scene = Scene::new();
        let [first, old] = scene.send();
        scene.refuse(first, SECOND);
        scene.open();
        between(&mut scene, old);
        scene.pause()
    };
    let success = closed_again(|scene, _| {
        let [a, b] = scene.send();
        scene.succeed(a);
        scene.refuse(b, SECOND);
    });
    let late = closed_again(|scene, _| {
        let [call] = scene.send();
        scene.now += SOON;
        scene.refuse(call, SECOND);
    });
    let from_before = closed_again(|scene, old| scene.refuse(old, SECOND));
    assert_eq!([success, late, from_before], [Some(SECOND); 3]);
}

#[test]
fn a_wish_goes_before_the_reset_of_its_answer() {
    let mut scene = Scene::new();
    let [call] = scene.send();
    let told = quota(0, 90 * SECOND);
    scene.gate.refused(0, call, Some(5 * SECOND), told);
    assert_eq!(scene.pause(), Some(5 * SECOND));
    scene.open();
    assert_eq!(scene.gate.next(scene.now, 0), Ok(()), "the quota is whole");

    let mut scene = Scene::new();
    let [call] = scene.send();
    scene.gate.refused(0, call, None, told);
    assert_eq!(scene.pause(), Some(90 * SECOND));
}

#[test]
fn the_rate_is_found_from_one_cycle_and_never_halved_twice() {
    let mut scene = Scene::new();
    for call in scene.send::<50>() {
        scene.succeed(call);
    }
    let [refused] = scene.send();
    scene.now = 4 * SECOND;
    scene.refuse(refused, SECOND);
    scene.open();
    assert_eq!(scene.gate.each, 4 * SECOND / 50, "reach, of 50 calls");
    let release = scene.gate.release.unwrap();
    assert_eq!(
        (release.round, release.first, release.group),
        (4 * SECOND, 50, 4)
    );
    let [call] = scene.send();
    scene.refuse(call, SECOND);
    scene.open();
    assert_eq!(
        scene.gate.each,
        8 * SECOND / 50,
        "no more than twice the last"
    );
}

#[test]
fn no_more_calls_are_in_flight_than_remain() {
    let mut scene = Scene::new();
    let [first] = scene.send();
    scene.gate.succeeded(0, first, quota(3, 10 * SECOND));
    let [a, b, _c] = scene.send();
    assert_eq!(scene.gate.next(0, 0), Err(10 * SECOND));
    scene.gate.succeeded(0, a, quota(2, 10 * SECOND));
    assert_eq!(scene.gate.next(0, 0), Err(10 * SECOND));
    scene.gate.ended(0, b, None);
    assert_eq!(scene.gate.quota.left, 1, "the server may have counted it");
    scene.now = 10 * SECOND;
    assert_eq!(scene.send::<10>().len(), 10);
    assert_eq!(scene.gate.next(scene.now, 0), Err(20 * SECOND));
}

#[test]
fn answers_of_another_turn_say_nothing_of_this_one() {
    let mut scene = Scene::new();
    let [first, old] = scene.send();
    scene.gate.succeeded(0, first, quota(3, SECOND));
    scene.now = SECOND;
    let [new] = scene.send();
    scene.gate.succeeded(SECOND, old, quota(0, SECOND));
    assert_eq!((scene.gate.quota.left, scene.gate.quota.flying), (10, 1));
    scene.gate.succeeded(SECOND, new, None);
    assert!(!scene.gate.quota.known, "there is no quota any more");
}

#[test]
fn a_turn_of_which_nothing_is_heard_lets_one_call_ask() {
    let mut scene = Scene::new();
    let [first] = scene.send();
    scene.gate.succeeded(0, first, quota(1, SECOND));
    scene.now = SECOND;
    for call in scene.send::<10>() {
        scene.gate.ended(SECOND, call, None);
    }
    assert_eq!(scene.gate.quota.left, 1);
}

#[test]
fn a_turn_after_a_pause_is_paced_where_others_use_the_quota() {
    for (ours, paced) in [(5, false), (4, true)] {
        let mut scene = Scene::new();
        for call in scene.send::<10>().into_iter().take(ours) {
            scene.succeed(call);
        }
        let [refused] = scene.send();
        scene.gate.refused(0, refused, None, quota(0, SECOND));
        scene.open();
        assert_eq!(scene.gate.release.is_some(), paced, "{ours} of 10");
    }
}

#[test]
fn a_gate_is_idle_only_while_there_is_nothing_to_decide() {
    let mut scene = Scene::new();
    assert!(scene.gate.is_idle());
    let [refused, slow] = scene.send();
    scene.refuse(refused, SECOND);
    assert!(!scene.gate.is_idle(), "closed");
    scene.open();
    assert!(!scene.gate.is_idle(), "a release");
    scene.gate.line_is_empty();
    assert!(!scene.gate.is_idle(), "a witness is out");
    scene.gate.ended(scene.now, slow, None);
    assert!(scene.gate.is_idle());
    scene.gate.credit = 1;
    assert!(!scene.gate.is_idle(), "credit");
}

#[test]
fn what_happened_while_nobody_looked_is_taken_over() {
    let mut gate = Controller::new(0, false);
    gate.note_sent(7);
    gate.catch_up(Idle {
        in_flight: 3,
        ok: 3,
        since: 5,
    });
    assert_eq!((gate.sent, gate.quota.flying), (7, 3));
    assert_eq!((gate.ok, gate.since), (3, 5));
    assert_eq!(gate.go(8), Permit(8));
    gate.refused(9, Permit(5), Some(SECOND), None);
    assert_eq!(gate.witnesses.later, 3);
}

#[test]
fn the_head_of_a_release_may_go_ahead_of_the_others() {
    let mut gate = Controller::new(0, true);
    let call = gate.sends();
    gate.refused(0, call, Some(SECOND), None);
    assert_eq!(gate.next(SECOND, 0), Ok(()));
    gate.sends();
    let due = gate.next(SECOND, 0).unwrap_err();
    assert_eq!(due, SECOND + 100 * MILLISECOND);
}

#[test]
fn the_rate_of_a_release_doubles_from_round_to_round() {
    let release = Release {
        from: SECOND,
        round: SECOND,
        first: 100,
        group: 1,
        head_start: false,
        gone: 0,
    };
    let due: Vec<_> = (0..3_100).map(|call| release.due(call)).collect();
    let gone = [2, 3, 4, 5].map(|n| due.iter().filter(|due| **due < n * SECOND).count());
    assert_eq!(gone, [100, 300, 700, 1_500]);
}
