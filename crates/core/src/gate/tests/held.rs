//! Refusals whose responses are still being read.

use super::shell::Woken;
use super::*;
use crate::gate::ext::GateExt;
use std::sync::atomic::Ordering;

#[test]
fn held_refusals_close_the_gate_at_once() {
    let scene = Scene::new();
    let held = [(); 4].map(|()| scene.go("a").held(Some(SECOND * 30)));
    assert!(!scene.is_open("a"));
    for hold in held {
        scene
            .gate
            .end(&hold, CallEnd::Refused(None), None, &*scene.runtime);
        assert!(!scene.is_open("a"));
    }
    scene.clock.advance(SECOND * 30);
    assert!(scene.is_open("a"));
}

#[test]
fn a_lift_lets_those_go_that_wait() {
    let scene = Scene::new();
    let mut held = Vec::from([(); 4].map(|()| scene.go("a").held(Some(SECOND * 30))));
    let mut waits: Vec<_> = (0..20).map(|_| Some(scene.waiter())).collect();
    assert_eq!(scene.play(&mut waits, SECOND), vec![None; 20]);
    let begun = scene.clock.now();
    scene.lift(&held.pop().unwrap());
    let went = scene.play(&mut waits, SECOND);
    // They were held back together, and go together.
    assert!(went.iter().all(|went| *went == Some(begun)), "{went:?}");
    held.into_iter().for_each(|hold| scene.lift(&hold));
    assert!(scene.is_open("a"));
}

#[test]
fn a_lift_that_shortens_a_pause_wakes_the_first_that_waits() {
    let scene = Scene::new();
    let [longest, others @ ..] = [(); 5].map(|()| scene.go("a"));
    let mut others = others.into_iter();
    let refused = |call: Admission| call.refused(Some(SECOND * 5), None);
    others.by_ref().take(3).for_each(refused);
    let held = longest.held(Some(SECOND * 60));
    others.for_each(refused);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiter = scene.waiter();
    let mut poll = || waiter.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll().is_pending());
    woken.0.store(false, Ordering::Relaxed);
    scene.lift(&held);
    // Without that it would sleep for the minute.
    assert!(woken.0.load(Ordering::Relaxed));
    assert!(poll().is_pending());
    scene.clock.advance(SECOND * 5);
    assert!(poll().is_ready());
}

#[test]
fn a_quota_counts_once_its_response_is_judged() {
    for is_refused in [false, true] {
        let scene = Scene::new();
        let place = scene.go("a").place.take().unwrap();
        let spent = quota(0, SECOND * 60);
        let hold = scene
            .gate
            .hold(place, None, spent, &*scene.runtime)
            .unwrap();
        assert!(scene.is_open("a"));
        if is_refused {
            scene
                .gate
                .end(&hold, CallEnd::Refused(None), spent, &*scene.runtime);
        } else {
            // That of a narrower limit.
            scene.lift(&hold);
        }
        assert_eq!(scene.is_open("a"), !is_refused);
    }
}

/// A thousand calls on four threads, each of which is refused and then judged otherwise: the gate is as if none had
/// been.
#[test]
fn no_lift_is_lost_among_threads() {
    let scene = Scene::of(Gate::new().max_services(1));
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let scene = &scene;
            threads.spawn(move || {
                for number in 0..250 {
                    let key = scene.gate.key("a", None);
                    let place = scene.gate.enter(key, scene.clock.now(), false);
                    let Some(place) = place.ok().flatten() else {
                        continue;
                    };
                    let hold = scene
                        .gate
                        .hold(place, Some(SECOND * 30), None, &*scene.runtime);
                    if (number + thread) % 7 == 0 {
                        std::thread::yield_now();
                    }
                    scene.lift(&hold.unwrap());
                }
            });
        }
    });
    assert!(scene.is_open("a"));
    for _ in 0..3 {
        scene.go("a").refused(Some(SECOND), None);
    }
    assert!(scene.is_open("a"), "votes were left");
    scene.go("a").refused(Some(SECOND), None);
    assert!(!scene.is_open("a"));
}
