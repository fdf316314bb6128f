//! Waits, deadlines, dropped waiters, and slots.

use super::*;
use crate::gate::ext::GateExt;
use crate::policy::Moment;
use crate::runtime::Sleep;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

#[test]
fn services_have_separate_gates_and_an_open_one_delays_nobody() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    assert!(!scene.is_open("a"));
    scene.go("b").succeeded(None);
}

#[test]
fn refusals_without_a_delay_close_the_gate_for_100_ms() {
    let scene = Scene::new();
    scene.refuse_all("a", None);
    assert!(!scene.is_open("a"));
    let went = scene.play(&mut [Some(scene.waiter())], SECOND);
    let went = went[0].unwrap();
    assert!((MILLI * 100..MILLI * 1_200).contains(&went), "{went:?}");
}

#[test]
fn calls_resume_at_the_pace_of_the_successes_before() {
    let scene = Scene::new();
    for _ in 0..50 {
        scene.clock.advance(MILLI * 100);
        scene.go("a").succeeded(None);
    }
    scene.refuse("a", SECOND);
    let closed = scene.clock.now();
    let mut waits = [(); 5].map(|()| Some(scene.waiter()));
    let went = scene.play(&mut waits, SECOND * 10);
    let last = went.into_iter().max().flatten().unwrap() - closed;
    assert!(last <= MILLI * 1_600, "{last:?}");
}

/// With a call in each round, none of which waits.
#[test]
fn calls_that_do_not_wait_for_each_other_end_the_pace() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    scene.play(&mut [Some(scene.waiter())], SECOND * 10);
    for _ in 0..10 {
        scene.clock.advance(MILLI * 600);
        scene.play(&mut [Some(scene.waiter())], SECOND);
    }
    let mut waits = [(); 20].map(|()| Some(scene.waiter()));
    let went = scene.play(&mut waits, Duration::ZERO);
    assert_eq!(went, [Some(scene.clock.now()); 20]);
}

#[test]
fn a_wait_ends_when_its_turn_comes() {
    let runtime = Clock::jumping();
    let scene = Scene {
        runtime: Arc::new(runtime.clone()),
        clock: runtime,
        gate: Gate::new(),
    };
    scene.refuse("a", SECOND * 10);
    let passed = scene
        .wait(scene.ask("a", CallKind::Retry))
        .now_or_never()
        .unwrap();
    assert!(passed.admission.is_some());
    assert!(passed.waited >= SECOND * 10 && passed.waited <= SECOND * 15);
    assert_eq!(scene.clock.now(), passed.waited);
}

#[test]
fn a_deadline_ends_a_wait_and_patience_lets_the_call_go() {
    let runtime = Clock::jumping();
    let scene = Scene {
        runtime: Arc::new(runtime.clone()),
        clock: runtime,
        gate: Gate::new(),
    };
    scene.refuse("a", SECOND * 3_600);
    let ask = scene.ask("a", CallKind::Retry);
    let hurried = GateRequest {
        deadline: Some(SECOND * 5),
        ..ask
    };
    let passed = scene.wait(hurried).now_or_never().unwrap();
    assert!(passed.admission.is_none());
    assert_eq!(passed.waited, SECOND * 5);
    let patient = GateRequest {
        at_gate: SECOND * 300,
        ..ask
    };
    let passed = scene.wait(patient).now_or_never().unwrap();
    assert!(passed.waited >= SECOND * 300 && passed.waited <= SECOND * 310);
    passed.admission.unwrap().succeeded(None);
}

#[test]
fn a_call_that_cannot_pass_before_its_deadline_ends_at_once() {
    let scene = Scene::new();
    let ends_early = |deadline| GateRequest {
        deadline: Some(deadline),
        ends_early: true,
        ..scene.ask("a", CallKind::Retry)
    };
    let in_line = scene.wait(ends_early(SECOND * 3_000));
    scene.refuse("a", SECOND * 3_600);
    let passed = scene.wait(ends_early(SECOND)).now_or_never().unwrap();
    assert_eq!(passed.shut_for, Some(SECOND * 3_600));
    let later = scene.wait(ends_early(SECOND * 3_601)).now_or_never();
    assert!(later.is_none());
    let impatient = GateRequest {
        at_gate: MILLI,
        ..ends_early(SECOND)
    };
    assert!(scene.wait(impatient).now_or_never().is_none());
    let passed = in_line.now_or_never().unwrap();
    assert!(passed.admission.is_none());
}

#[test]
fn a_call_in_line_ends_if_the_gate_stays_shut_for_too_long() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    let ask = scene.ask("a", CallKind::Retry);
    let ends_early = GateRequest {
        deadline: Some(SECOND * 10),
        ends_early: true,
        ..ask
    };
    let mut in_line = scene.wait(ends_early);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut poll_in_line = || in_line.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll_in_line().is_pending());
    let impatient = GateRequest {
        at_gate: MILLI,
        ..ask
    };
    let mut impatient = scene.wait(impatient);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(impatient.as_mut().poll(&mut cx).is_pending());
    scene.clock.advance(MILLI);
    let passed = impatient.now_or_never().unwrap();
    assert!(poll_in_line().is_pending());
    woken.0.store(false, Ordering::Relaxed);
    passed.admission.unwrap().refused(Some(SECOND * 60), None);
    assert!(woken.0.load(Ordering::Relaxed));
    let passed = in_line.now_or_never().unwrap();
    assert_eq!(passed.shut_for, Some(SECOND * 60));
}

/// Notes that it was woken.
#[derive(Default)]
pub(super) struct Woken(pub(super) AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_call_waits_longer_than_its_patience() {
    let scene = Scene::new();
    scene.refuse("a", SECOND * 3_600);
    let ask = |at_gate| GateRequest {
        at_gate,
        ..scene.ask("a", CallKind::Retry)
    };
    let patience = |waiter: u32| SECOND * 2 + MILLI * 10 * waiter;
    let mut waits: Vec<_> = (0..100)
        .map(|waiter| Some(scene.wait(ask(patience(waiter)))))
        .collect();
    let went = scene.play(&mut waits, SECOND * 4);
    // Two successes after four refusals show that the limit is over, and open the gate for the others.
    assert_eq!(went[0], Some(SECOND * 2));
    assert!(
        went.iter()
            .all(|went| *went <= Some(SECOND * 2 + MILLI * 10)),
        "{went:?}"
    );
}

#[test]
fn each_waiter_goes_when_its_patience_ends() {
    let scene = Scene::new();
    scene.refuse("a", SECOND * 3_600);
    let ask = GateRequest {
        at_gate: SECOND * 2,
        ..scene.ask("a", CallKind::Retry)
    };
    let mut waits = [Some(scene.wait(ask)), Some(scene.wait(ask))];
    let mut cx = Context::from_waker(Waker::noop());
    for (number, wait) in waits.iter_mut().enumerate() {
        scene.clock.advance(MILLI * 500);
        let waiting = wait.as_mut().unwrap().as_mut();
        assert!(waiting.poll(&mut cx).is_pending(), "{number}");
    }
    for (at, number) in [(MILLI * 2_500, 0), (MILLI * 3_000, 1)] {
        scene.clock.advance(at.saturating_sub(scene.clock.now()));
        let waiting = waits[number].as_mut().unwrap().as_mut();
        let Poll::Ready(passed) = waiting.poll(&mut cx) else {
            panic!("{number} waits longer than it may");
        };
        passed
            .admission
            .unwrap()
            .refused(Some(SECOND * 3_600), None);
    }
}

#[test]
fn the_call_that_began_first_goes_first() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    let later = GateRequest {
        began: SECOND,
        ..scene.ask("a", CallKind::Retry)
    };
    let mut waits = [Some(scene.wait(later)), Some(scene.waiter())];
    let went = scene.play(&mut waits, SECOND * 10);
    assert!(went[1] < went[0] && went[1] >= Some(SECOND), "{went:?}");
}

#[test]
fn a_dropped_waiter_leaves_its_turn_to_the_next() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    let mut waits: Vec<_> = (0..3).map(|_| Some(scene.waiter())).collect();
    let went = scene.play(&mut waits, MILLI * 10);
    assert_eq!(went, [None; 3]);
    waits[0] = None;
    let went = scene.play(&mut waits, SECOND * 10);
    assert!(went[1].is_some() && went[1] <= went[2]);
    scene.clock.advance(SECOND * 10);
    assert!(scene.is_open("a"), "nobody waited");
}

#[test]
fn the_others_go_whichever_waiter_is_dropped_at_any_step() {
    for dropped in 0..6 {
        for step in [0, 400, 999, 1_000, 1_001, 1_099, 1_101, 1_300, 1_900] {
            let scene = Scene::new();
            scene.refuse("a", SECOND);
            let mut waits: Vec<_> = (0..6).map(|_| Some(scene.waiter())).collect();
            let before = scene.play(&mut waits, MILLI * step);
            waits[dropped] = None;
            let after = scene.play(&mut waits, SECOND * 20);
            let went = |at: usize| before[at].is_some() || after[at].is_some();
            let all = (0..6).filter(|at| *at != dropped).all(went);
            assert!(all, "{dropped} at {step}");
            scene.clock.advance(SECOND * 10);
            assert!(scene.is_open("a"), "{dropped} at {step}");
        }
    }
}

#[test]
fn successes_of_later_calls_open_the_gate() {
    let scene = Scene::new();
    let calls = [(); 6].map(|()| scene.go("a"));
    let [refused @ .., later, last] = calls;
    refused
        .into_iter()
        .for_each(|call| call.refused(Some(SECOND * 60), None));
    let mut waits = [Some(scene.waiter())];
    assert_eq!(scene.play(&mut waits, MILLI), [None]);
    later.succeeded(None);
    assert_eq!(scene.play(&mut waits, MILLI), [None]);
    last.succeeded(None);
    assert!(scene.play(&mut waits, MILLI)[0].is_some());
}

#[test]
fn probes_of_newcomers_open_a_gate_that_closed_wrongly() {
    let scene = Scene::new();
    scene.refuse("a", SECOND * 60);
    let mut waits = [Some(scene.waiter())];
    assert_eq!(scene.play(&mut waits, MILLI), [None]);
    let probe = scene.go("a");
    let other = scene
        .wait(scene.ask("a", CallKind::Newcomer))
        .now_or_never();
    assert!(other.is_none(), "one probe at a time");
    probe.succeeded(None);
    assert_eq!(scene.play(&mut waits, MILLI), [None]);
    scene.go("a").succeeded(None);
    assert!(scene.play(&mut waits, MILLI)[0].is_some());
}

#[test]
fn a_quota_counts_at_once_or_only_after_a_refusal() {
    let stated = |remaining| quota(remaining, SECOND * 60);
    for (mode, by_policy, counts) in [
        (None, true, true),
        (None, false, false),
        (Some(true), false, true),
        (Some(false), true, false),
    ] {
        let gate = mode.map_or_else(Gate::new, |mode| Gate::new().quotas_at_once(mode));
        let scene = Scene::of(gate.clone());
        let go = || {
            let ask = GateRequest {
                quotas_at_once: by_policy,
                ..scene.ask("a", CallKind::Newcomer)
            };
            scene
                .wait(ask)
                .now_or_never()
                .map(|passed| passed.admission.unwrap())
        };
        go().unwrap().succeeded(stated(0));
        assert_eq!(go().is_none(), counts, "{mode:?}, {by_policy}");
        if let Some(call) = go() {
            call.refused(Some(MILLI), stated(0));
            assert!(go().is_none());
        }
    }
}

#[test]
fn a_call_that_ends_lets_the_first_waiter_go_at_once() {
    let scene = Scene::new();
    let quota = |remaining| quota(remaining, SECOND * 600);
    scene.go("a").succeeded(quota(1));
    let busy = scene.go("a");
    let mut waits = [Some(scene.waiter())];
    assert_eq!(scene.play(&mut waits, SECOND * 5), [None]);
    busy.answered(quota(1));
    assert_eq!(scene.play(&mut waits, SECOND), [Some(SECOND * 5)]);
}

#[test]
fn an_unused_permit_takes_nothing_from_the_quota() {
    let scene = Scene::new();
    let quota = |remaining| quota(remaining, SECOND * 600);
    scene.go("a").succeeded(quota(1));
    let busy = scene.go("a");
    let mut waits = [Some(scene.waiter()), Some(scene.waiter())];
    assert_eq!(scene.play(&mut waits, MILLI), [None; 2]);
    busy.answered(quota(1));
    waits[0] = None;
    assert!(scene.play(&mut waits, MILLI)[1].is_some());
}

#[test]
fn a_closed_gate_is_kept_among_thousands_of_services() {
    let scene = Scene::of(Gate::new().max_services(2));
    scene.refuse("a", SECOND);
    for service in 0..5_000 {
        scene.go(&service.to_string()).succeeded(None);
    }
    assert!(!scene.is_open("a"));
}

#[test]
fn a_new_service_takes_the_slot_of_one_without_calls() {
    let scene = Scene::of(Gate::new().max_services(1));
    scene.go("a").succeeded(None);
    scene.refuse("b", SECOND);
    assert!(!scene.is_open("b"));
}

#[test]
fn a_service_without_a_free_slot_has_no_gate() {
    let scene = Scene::of(Gate::new().max_services(1));
    scene.refuse("a", SECOND);
    scene.refuse("b", SECOND);
    scene.refuse("b", SECOND);
    assert!(scene.is_open("b") && !scene.is_open("a"));
}

#[test]
fn a_clock_that_steps_back_does_not_keep_the_gate_closed() {
    let scene = Scene::new();
    scene.clock.advance(SECOND * 5_000);
    scene.refuse("a", SECOND * 10);
    let earlier = Scene {
        gate: scene.gate.clone(),
        ..Scene::new()
    };
    earlier.clock.advance(SECOND * 100);
    let went = earlier.play(&mut [Some(earlier.waiter())], SECOND * 16);
    assert!(went[0].is_some());
}

/// A runtime whose time stands still, and whose sleeps are over at once.
struct Frozen;

impl Runtime for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO)
    }

    fn sleep(&self, _: Duration) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

#[test]
fn a_wait_ends_though_the_clock_stands_still() {
    let scene = Scene {
        runtime: Arc::new(Frozen),
        ..Scene::new()
    };
    scene.refuse("a", SECOND * 30);
    for _ in 0..3 {
        let passed = scene.wait(scene.ask("a", CallKind::Retry)).now_or_never();
        let admission = passed.unwrap().admission.unwrap();
        admission.refused(Some(SECOND * 30), None);
    }
}

#[test]
fn a_quota_stated_after_a_refusal_counts_at_an_idle_gate() {
    let stated = |remaining| quota(remaining, SECOND * 60);
    let after_a_refusal = || {
        let scene = Scene::of(Gate::new().quotas_at_once(false));
        scene.refuse("a", MILLI);
        assert!(scene.play(&mut [Some(scene.waiter())], SECOND * 10)[0].is_some());
        scene.clock.advance(SECOND * 10);
        // The next call finds the line empty, which ends the release.
        scene.go("a").succeeded(None);
        scene
    };
    let ask = |scene: &Scene| GateRequest {
        quotas_at_once: false,
        ..scene.ask("a", CallKind::Newcomer)
    };
    let go = |scene: &Scene| {
        let passed = scene.wait(ask(scene)).now_or_never();
        passed.map(|passed| passed.admission.unwrap())
    };
    let by_the_loop = after_a_refusal();
    let busy = go(&by_the_loop);
    go(&by_the_loop).unwrap().succeeded(stated(2));
    let free = [(); 2].map(|()| go(&by_the_loop));
    assert!(free[0].is_some() && free[1].is_none(), "one is in flight");
    drop(busy);
    let at_once = after_a_refusal();
    let key = at_once.gate.key("a", None);
    let entered = at_once.gate.enter(key, at_once.clock.now(), false);
    let place = entered.ok().flatten().unwrap();
    assert!(place.reads_quota_headers);
    let runtime = &*at_once.runtime;
    at_once
        .gate
        .end(&place, CallEnd::Succeeded, stated(0), runtime);
    assert!(go(&at_once).is_none());
}
