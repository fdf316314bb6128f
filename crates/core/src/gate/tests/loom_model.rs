//! Threads that race for a gate's idle word, its counters and its lock.
//!
//! Built by `cargo rustc --all-features --lib --profile test -- --cfg http_retry_loom`, and run with the filter `loom`.

use super::*;
use crate::policy::Moment;
use loom::thread::{self, JoinHandle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;

/// Counts wake-ups.
#[derive(Default)]
struct Called(AtomicU64);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Scene {
    /// Creates a scene whose slots exist already, since the model does not see the locks of std.
    fn modelled() -> Self {
        let scene = Self::of(Gate::new().max_services(8));
        scene.go("another").succeeded(None);
        scene
    }

    /// A scene for another thread.
    fn twin(&self) -> Self {
        Self {
            gate: self.gate.clone(),
            clock: self.clock.clone(),
            runtime: Arc::clone(&self.runtime),
        }
    }

    fn spawn<T: 'static>(&self, act: impl FnOnce(&Self) -> T + 'static) -> JoinHandle<T> {
        let twin = self.twin();
        thread::spawn(move || act(&twin))
    }

    /// Enters without the lock.
    fn enter(&self) -> Option<Permit> {
        let key = self.gate.key("a", None);
        self.gate.enter(key, Duration::ZERO, true).ok().flatten()
    }

    /// Ends a call that succeeded.
    fn succeed(&self, place: Permit) {
        self.end(place, CallEnd::Succeeded, None);
    }

    fn end(&self, place: Permit, end: CallEnd, quota: Option<Quota>) {
        self.gate.end(&place, end, quota, &*self.runtime);
    }

    /// Makes a call that succeeds, with the lock if it needs it.
    fn call(&self) {
        match self.enter() {
            Some(place) => self.succeed(place),
            None => self.go("a").succeeded(None),
        }
    }

    /// Takes the lock and releases it, with nothing to decide.
    fn take_and_release(&self) {
        let key = self.gate.key("a", None);
        let slot = self.gate.0.map.find(key).unwrap();
        let moment = Moment::new(Duration::ZERO);
        self.gate.0.map.decide(slot, key, moment, |_, _| ());
    }

    /// Returns the calls that were sent, those in flight, and the successes that count.
    fn counted(&self) -> [u64; 3] {
        self.take_and_release();
        let slot = self.gate.0.map.find(self.gate.key("a", None)).unwrap();
        let (sent, idle) = slot.counters.take(0);
        let idle = idle.unwrap();
        [sent, idle.in_flight, idle.ok]
    }

    /// Returns the number of calls that may go now, up to three.
    fn may_go(&self) -> usize {
        let ways = [(); 3].map(|()| {
            let passed = self.waiter().now_or_never();
            passed.and_then(|passed| passed.admission)
        });
        ways.iter().flatten().count()
    }
}

#[test]
fn loom_no_success_is_lost_or_counted_twice_as_idle_changes() {
    loom::model(|| {
        let scene = Scene::modelled();
        let other = scene.spawn(Scene::call);
        scene.take_and_release();
        scene.call();
        scene.take_and_release();
        other.join().unwrap();
        assert_eq!(scene.counted(), [2, 0, 2]);
    });
}

#[test]
fn loom_first_calls_have_one_place_and_numbers_of_their_own() {
    loom::model(|| {
        let scene = Scene::modelled();
        let enter = |scene: &Scene| scene.enter().map(|place| place.number.0);
        let others = [scene.spawn(enter), scene.spawn(enter)];
        let own = enter(&scene);
        let others = others.map(|other| other.join().unwrap());
        let mut numbers: Vec<_> = others.into_iter().chain([own]).flatten().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3]);
    });
}

#[test]
fn loom_a_new_quota_counts_each_call_in_flight_once() {
    loom::model(|| {
        let scene = Scene::modelled();
        let [told, ends, stays] = [(); 3].map(|()| scene.enter().unwrap());
        let ending = scene.spawn(move |scene| scene.succeed(ends));
        let entering = scene.spawn(Scene::enter);
        scene.end(told, CallEnd::Succeeded, quota(3, SECOND * 600));
        ending.join().unwrap();
        let entered = entering.join().unwrap();
        // Three remain; one or two are in flight.
        let free = if entered.is_some() { 1 } else { 2 };
        assert_eq!(scene.may_go(), free);
        for place in [Some(stays), entered].into_iter().flatten() {
            scene.end(place, CallEnd::Other, None);
        }
    });
}

#[test]
fn loom_a_refusal_closes_the_gate_whoever_comes_and_goes() {
    loom::model(|| {
        let scene = Scene::modelled();
        // Three refusals are recorded, and the fourth closes the gate.
        let [early, one, two, three, refused] = [(); 5].map(|()| scene.go("a"));
        for call in [one, two, three] {
            call.refused(Some(SECOND), None);
        }
        // A success would end the run if it came while the gate is idle, where its number is not known.
        let ending = scene.spawn(move |_| early.answered(None));
        let other = scene.spawn(|scene| drop(scene.enter()));
        refused.refused(Some(SECOND), None);
        ending.join().unwrap();
        other.join().unwrap();
        assert!(scene.enter().is_none());
    });
}

#[test]
fn loom_a_waiter_is_called_when_an_answer_sets_a_place_free() {
    loom::model(|| {
        let scene = Scene::modelled();
        scene.go("a").succeeded(quota(1, SECOND * 600));
        let busy = scene.go("a");
        let called = Arc::new(Called::default());
        let answer = scene.spawn(move |_| busy.answered(quota(1, SECOND * 600)));
        let waker = Waker::from(Arc::clone(&called));
        let mut cx = Context::from_waker(&waker);
        let mut wait = scene.waiter();
        let first = wait.as_mut().poll(&mut cx);
        answer.join().unwrap();
        if first.is_pending() {
            assert!(called.0.load(Ordering::Relaxed) > 0, "nobody was called");
            assert!(wait.as_mut().poll(&mut cx).is_ready());
        }
    });
}

#[test]
fn loom_a_waiter_that_gives_up_leaves_its_call_to_the_next() {
    loom::model(|| {
        let scene = Scene::modelled();
        scene.go("a").succeeded(quota(1, SECOND * 600));
        let busy = scene.go("a");
        let called = Arc::new(Called::default());
        let waker = Waker::from(Arc::clone(&called));
        let mut cx = Context::from_waker(&waker);
        let (mut gives_up, mut wait) = (scene.waiter(), scene.waiter());
        let idle = Waker::noop();
        assert!(
            gives_up
                .as_mut()
                .poll(&mut Context::from_waker(idle))
                .is_pending()
        );
        assert!(wait.as_mut().poll(&mut cx).is_pending());
        let answer = scene.spawn(move |_| busy.answered(quota(1, SECOND * 600)));
        drop(gives_up);
        answer.join().unwrap();
        assert!(called.0.load(Ordering::Relaxed) > 0, "nobody was called");
        assert!(wait.as_mut().poll(&mut cx).is_ready());
    });
}

#[test]
fn loom_no_lift_is_lost_whoever_comes_and_goes() {
    loom::model(|| {
        let scene = Scene::modelled();
        let [early, one, two, three, four] = [(); 5].map(|()| scene.go("a"));
        let held = [one, two, three].map(|call| call.held(Some(SECOND)));
        let last = four.held(Some(SECOND));
        // Closed by the four. One is lifted while another call ends and a third enters.
        let lifting = scene.spawn(move |scene| scene.lift(&last));
        let ending = scene.spawn(move |_| early.answered(None));
        let entered = scene.enter();
        lifting.join().unwrap();
        ending.join().unwrap();
        assert!(scene.is_open("a"), "the lift was lost");
        for hold in held {
            scene.lift(&hold);
        }
        drop(entered.map(|place| scene.end(place, CallEnd::Other, None)));
        assert_eq!(scene.counted()[1], 0);
    });
}

#[test]
fn loom_held_refusals_close_the_gate_as_plain_ones_do() {
    loom::model(|| {
        let scene = Scene::modelled();
        let [one, two, three, four] = [(); 4].map(|()| scene.go("a"));
        let held = [one, two, three].map(|call| call.held(Some(SECOND)));
        let other = scene.spawn(|scene| {
            drop(
                scene
                    .enter()
                    .map(|place| scene.end(place, CallEnd::Other, None)),
            )
        });
        let closing = scene.spawn(move |_| four.held(Some(SECOND)));
        other.join().unwrap();
        let last = closing.join().unwrap();
        assert!(scene.enter().is_none());
        for hold in held.into_iter().chain([last]) {
            scene
                .gate
                .end(&hold, CallEnd::Refused(None), None, &*scene.runtime);
        }
        assert!(scene.enter().is_none());
    });
}
