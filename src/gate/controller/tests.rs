//! The rules of the controller, one by one, and its arithmetic at the ends of the numbers.

mod batch;
mod chance;
mod properties;
mod quota;
mod release;
mod tempo;
mod witnesses;

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
