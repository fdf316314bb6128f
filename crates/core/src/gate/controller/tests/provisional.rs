//! Refusals that are lifted or confirmed later.

use super::*;

impl Scene {
    /// Refuses a first attempt until it is judged. Returns it, and `true` if that closes the gate.
    pub(super) fn hold(&mut self, asked: u64) -> (CallNumber, bool) {
        let permit = self.go();
        let closes = self
            .controller
            .refused_for_now(self.now, permit, true, Some(asked), None);
        (permit, closes)
    }

    pub(super) fn lift(&mut self, permit: CallNumber) {
        self.controller.lift(self.now, permit, None);
    }

    fn confirm(&mut self, permit: CallNumber, asked: Option<u64>) {
        self.controller.confirm(self.now, permit, asked, None);
    }

    fn hold_all(&mut self, asked: [u64; 4]) -> [CallNumber; 4] {
        asked.map(|asked| self.hold(asked).0)
    }
}

#[test]
fn four_held_refusals_close_the_gate_and_a_lifted_one_opens_it() {
    for lifted in 0..4 {
        let mut scene = Scene::new();
        let held = scene.hold_all([ASKED; 4]);
        assert_eq!(scene.next(), NextTurn::At(ASKED));
        scene.lift(held[lifted]);
        assert_eq!(scene.next(), NextTurn::First);
        // The others are votes still: one more closes it.
        assert!(scene.refuse());
        assert!(scene.is_closed());
    }
}

#[test]
fn a_cooldown_stays_while_enough_refusals_remain() {
    let mut scene = Scene::new();
    let calls = [(); 5].map(|()| scene.go());
    for permit in calls {
        scene
            .controller
            .refused_for_now(0, permit, true, Some(ASKED), None);
    }
    scene.lift(calls[0]);
    assert_eq!(scene.next(), NextTurn::At(ASKED));
}

#[test]
fn a_gate_that_opens_again_is_as_it_was() {
    let mut scene = Scene::new();
    scene.succeed_each(SECOND, 20);
    scene.cool_down();
    assert_eq!(scene.next(), NextTurn::First);
    let before = (scene.controller.patience, scene.controller.doublings);
    // In a release all calls vote, and nothing has succeeded since it closed.
    let held = [scene.hold(ASKED).0, scene.hold(ASKED).0];
    assert!(scene.is_closed());
    held.into_iter().for_each(|permit| scene.lift(permit));
    assert!(!scene.controller.closed);
    let after = (scene.controller.patience, scene.controller.doublings);
    assert_eq!(before, after);
    assert!(scene.controller.release.is_some());
    assert!(!scene.controller.has_run());
}

#[test]
fn a_lift_after_the_cooldown_ends_its_release() {
    for kept in 0..4 {
        let mut scene = Scene::new();
        let held = scene.hold_all([ASKED; 4]);
        scene.now += ASKED;
        assert_eq!(scene.next(), NextTurn::First);
        assert!(scene.controller.release.is_some());
        for (number, permit) in held.into_iter().enumerate() {
            if number == kept {
                scene.confirm(permit, None);
            } else {
                scene.lift(permit);
            }
        }
        assert!(scene.controller.release.is_none());
        assert_eq!(scene.controller.patience, FIRST_PATIENCE);
    }
}

#[test]
fn a_confirmed_refusal_asks_for_the_longer_of_head_and_body() {
    let mut scene = Scene::new();
    let held = scene.hold_all([ASKED; 4]);
    scene.now += SECOND;
    scene.confirm(held[3], Some(9 * SECOND));
    assert_eq!(scene.next(), NextTurn::At(9 * SECOND));
    // A refusal that did not close the gate does not extend its cooldown, whatever it asks for.
    scene.confirm(held[0], Some(50 * SECOND));
    assert_eq!(scene.next(), NextTurn::At(9 * SECOND));
}

#[test]
fn a_refusal_confirmed_late_extends_no_later_cooldown() {
    let mut scene = Scene::new();
    let held = scene.hold_all([ASKED; 4]);
    scene.now += ASKED;
    assert_eq!(scene.next(), NextTurn::First);
    scene.succeed_each(SECOND, 20);
    while !scene.refuse() {}
    let cooldown = scene.next();
    scene.confirm(held[3], Some(600 * SECOND));
    assert_eq!(scene.next(), cooldown);
}

#[test]
fn a_lifted_refusal_takes_its_wish_with_it() {
    let mut scene = Scene::new();
    let [_, _, _, closer] = scene.hold_all([ASKED, ASKED, ASKED, 60 * SECOND]);
    assert_eq!(scene.next(), NextTurn::At(60 * SECOND));
    // A fifth would have closed the gate without the fourth.
    let in_flight = CallNumber(scene.sent);
    scene.is_refused(in_flight, true);
    scene.lift(closer);
    assert_eq!(scene.next(), NextTurn::At(ASKED));
    // One that was sent while the gate was closed extends the cooldown for as long as it counts.
    let (probe, _) = scene.hold(20 * SECOND);
    assert_eq!(scene.next(), NextTurn::At(20 * SECOND));
    scene.lift(probe);
    assert_eq!(scene.next(), NextTurn::At(ASKED));
}

#[test]
fn a_lift_after_a_contradiction_changes_nothing() {
    let mut scene = Scene::new();
    let held = scene.hold_all([ASKED; 4]);
    for _ in 0..2 {
        let good = scene.goes(true, false);
        scene.succeed(good);
    }
    assert_eq!(scene.next(), NextTurn::First);
    let patience = scene.controller.patience;
    held.into_iter().for_each(|permit| scene.lift(permit));
    assert_eq!(scene.controller.patience, patience);
    assert_eq!(scene.next(), NextTurn::First);
}

#[test]
fn a_closure_of_others_stays_when_own_refusals_are_lifted() {
    let mut scene = Scene::new();
    let held = scene.hold_all([ASKED; 4]);
    scene.controller.close_until(0, 30 * SECOND, false, 0);
    held.into_iter().for_each(|permit| scene.lift(permit));
    assert_eq!(scene.next(), NextTurn::At(30 * SECOND));
}

#[test]
fn a_held_call_is_in_flight_until_it_is_judged() {
    let mut scene = Scene::new();
    let quota = |remaining| {
        let (limit, reset) = (Some(9), Duration::from_secs(60));
        Some(Quota {
            limit,
            remaining,
            reset,
            window: None,
        })
    };
    let told = scene.go();
    let (held, _) = scene.hold(ASKED);
    scene.controller.succeeded(0, told, true, quota(2));
    assert_eq!(scene.next(), NextTurn::First);
    scene.go();
    // Two are left, and two in flight.
    assert_eq!(scene.next(), NextTurn::At(60 * SECOND));
    scene.controller.lift(0, held, quota(2));
    assert_eq!(scene.next(), NextTurn::First);
}

/// An event at a gate. Its number chooses the call.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Goes,
    Succeeds(usize),
    IsRefused(usize),
    IsJudged(usize),
    Passes(u64),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => Just(Happens::Goes),
        1 => (0_usize..8).prop_map(Happens::Succeeds),
        3 => (0_usize..8).prop_map(Happens::IsRefused),
        2 => (0_usize..8).prop_map(Happens::IsJudged),
        1 => (1_u64..3_000).prop_map(Happens::Passes),
    ]
}

/// Returns the visible state of a controller, and the state that it decides by.
fn seen(controller: &mut Controller, now: u64) -> String {
    let next = [0, SECOND, 3 * SECOND].map(|later| controller.next(now + later, true));
    let Controller {
        closed,
        patience,
        doublings,
        run,
        interval,
        ..
    } = controller;
    format!("{next:?} {closed} {patience} {doublings} {run:?} {interval}")
}

proptest! {
    /// A refusal that is confirmed has acted like a plain one all the time.
    #[test]
    fn confirmed_refusals_are_plain_ones(events in prop::collection::vec(happens(), 0..60)) {
        let (mut scene, mut plain) = (Scene::new(), Scene::new());
        let (mut open, mut held) = (Vec::new(), Vec::new());
        let take = |calls: &mut Vec<CallNumber>, number: usize| {
            (!calls.is_empty()).then(|| calls.remove(number % calls.len()))
        };
        for event in events {
            match event {
                Happens::Goes => {
                    open.push(scene.go());
                    plain.go();
                }
                Happens::Succeeds(number) => {
                    if let Some(permit) = take(&mut open, number) {
                        prop_assert_eq!(scene.succeed(permit), plain.succeed(permit));
                    }
                }
                Happens::IsRefused(number) => {
                    if let Some(permit) = take(&mut open, number) {
                        let closes = scene
                            .controller
                            .refused_for_now(scene.now, permit, true, Some(ASKED), None);
                        held.push(permit);
                        prop_assert_eq!(closes, plain.is_refused(permit, true));
                    }
                }
                Happens::IsJudged(number) => {
                    if let Some(permit) = take(&mut held, number) {
                        scene.confirm(permit, None);
                    }
                }
                Happens::Passes(millis) => {
                    scene.now += millis * MILLISECOND;
                    plain.now = scene.now;
                    prop_assert_eq!(scene.next(), plain.next());
                }
            }
            let now = scene.now;
            let found = seen(&mut scene.controller, now);
            prop_assert_eq!(found, seen(&mut plain.controller, now));
            scene.now += 3 * SECOND;
            plain.now = scene.now;
        }
        prop_assert_eq!(scene.controller.provisional.len(), held.len());
    }

    /// Whatever happened meanwhile, a gate whose refusals were all lifted holds no call back and closes for no fewer.
    #[test]
    fn a_gate_whose_refusals_are_all_lifted_is_open(events in prop::collection::vec(happens(), 0..60)) {
        let mut scene = Scene::new();
        let (mut open, mut held) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Happens::Goes => open.push(scene.go()),
                Happens::Succeeds(number) if !open.is_empty() => {
                    let permit = open.remove(number % open.len());
                    scene.succeed(permit);
                }
                Happens::IsRefused(number) if !open.is_empty() => {
                    let permit = open.remove(number % open.len());
                    scene.controller.refused_for_now(scene.now, permit, true, Some(ASKED), None);
                    held.push(permit);
                }
                Happens::IsJudged(number) if !held.is_empty() => {
                    let permit = held.remove(number % held.len());
                    scene.lift(permit);
                }
                Happens::Passes(millis) => {
                    scene.now += millis * MILLISECOND;
                    scene.next();
                }
                _ => {}
            }
        }
        for permit in held {
            scene.lift(permit);
        }
        prop_assert!(!scene.controller.closed);
        prop_assert!(scene.controller.provisional.is_empty());
        prop_assert!(!scene.controller.has_run());
    }
}
