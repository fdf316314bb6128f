//! A lock that counts how often this thread has taken it, and the calls that need none.

use super::*;
use crate::gate::ext::GateExt;
use crate::sharing::Peer;
use std::cell::Cell;
use std::sync::LockResult;

pub(in crate::gate) use std::sync::MutexGuard;

/// A lock of a gate.
#[derive(Debug, Default)]
pub(in crate::gate) struct Mutex<T>(std::sync::Mutex<T>);

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

impl<T> Mutex<T> {
    pub(in crate::gate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(in crate::gate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        TAKEN.set(TAKEN.get() + 1);
        self.0.lock()
    }
}

/// Returns how often this thread takes a lock of a gate during the work.
fn taken(work: impl FnOnce()) -> u64 {
    let before = TAKEN.get();
    work();
    TAKEN.get() - before
}

impl Scene {
    /// Sends a call at once, as an adapter does. Quotas count from the first response on, or only after a refusal.
    fn enter(&self, name: &str, quotas_at_once: bool) -> Admission {
        let key = self.gate.key(name, None);
        let entered = self.gate.enter(key, self.clock.now(), quotas_at_once);
        Admission {
            gate: self.gate.clone(),
            runtime: Arc::clone(&self.runtime),
            place: entered.expect("nothing is to be decided"),
        }
    }

    /// Makes a hundred calls to each of eight hosts.
    fn calls(&self, quotas_at_once: bool, end: impl Fn(Admission)) {
        for number in 0..800 {
            end(self.enter(&format!("host{}", number % 8), quotas_at_once));
        }
    }
}

#[test]
fn a_call_takes_no_lock_while_nothing_was_refused() {
    let scene = Scene::new();
    let spent = || quota(0, SECOND * 9);
    assert_eq!(taken(|| scene.calls(true, |call| call.succeeded(None))), 0);
    assert_eq!(taken(|| scene.calls(true, |call| call.answered(None))), 0);
    // A quota does not count before a refusal.
    assert_eq!(
        taken(|| scene.calls(false, |call| call.succeeded(spent()))),
        0
    );
    assert_eq!(
        taken(|| scene.calls(false, |call| call.answered(spent()))),
        0
    );
    assert!(taken(|| scene.enter("host0", true).succeeded(spent())) > 0);
}

#[test]
fn a_refusal_takes_a_lock_and_later_calls_take_none() {
    let scene = Scene::new();
    assert!(taken(|| scene.enter("host0", false).refused(Some(SECOND), None)) > 0);
    scene.clock.advance(SECOND);
    scene.go("host0").succeeded(None);
    assert_eq!(taken(|| scene.calls(false, |call| call.succeeded(None))), 0);
}

#[test]
fn a_dropped_call_takes_no_lock() {
    let scene = Scene::new();
    assert_eq!(taken(|| drop(scene.go("a"))), 0);
    assert!(taken(|| scene.refuse("a", SECOND)) > 0);
}

/// A peer that does nothing.
struct Silent;

impl Peer for Silent {
    fn succeeded(&self, _: u64, _: bool) {}
    fn refused(&self, _: Option<Duration>, _: bool) {}
    fn reopened(&self) {}
    fn wake(&self) {}
}

#[test]
fn a_shared_key_takes_a_lock_for_its_first_call_only() {
    let joined = Arc::new(std::sync::Mutex::new(Vec::new()));
    let names = Arc::clone(&joined);
    let scene = Scene::of(Gate::new().with_peers(move |name, _, _| {
        names.lock().unwrap().push(name.to_owned());
        Arc::new(Silent)
    }));
    let call = |name: &str| {
        let key = scene.gate.key(name, None);
        scene
            .gate
            .share_key(key, name, &*scene.runtime, SECOND, || None);
        scene.enter(name, false).succeeded(None);
    };
    for name in ["a.example", "b.example"] {
        call(name);
        assert_eq!(taken(|| (0..100).for_each(|_| call(name))), 0);
    }
    assert_eq!(*joined.lock().unwrap(), ["a.example", "b.example"]);
}

/// A peer that uses its gate when its key has lost its slot.
struct Last(Arc<std::sync::OnceLock<Gate>>, Clock);

impl Peer for Last {
    fn succeeded(&self, _: u64, _: bool) {}
    fn refused(&self, _: Option<Duration>, _: bool) {}
    fn reopened(&self) {}
    fn wake(&self) {}
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(gate) = self.0.get() {
            let name = gate.key("one more", None);
            gate.share_key(name, "one more", &self.1, SECOND, || None);
        }
    }
}

#[test]
fn a_peer_that_is_dropped_may_use_its_gate() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (own, clock) = (Arc::new(std::sync::OnceLock::new()), Clock::paused());
        let handle = Arc::clone(&own);
        let runtime = clock.clone();
        let gate = Gate::new().max_services(2).with_peers(move |_, _, _| {
            let last: Arc<dyn Peer> = Arc::new(Last(Arc::clone(&handle), runtime.clone()));
            last
        });
        let _ = own.set(gate.clone());
        for number in 0..8 {
            let name = format!("host{number}");
            let key = gate.key(&name, None);
            gate.share_key(key, &name, &clock, SECOND, || None);
            let place = gate.enter(key, clock.now(), false).ok().flatten();
            place
                .into_iter()
                .for_each(|place| gate.succeeds(&place, &clock));
        }
        done.send(()).unwrap();
    });
    // A lock that waits for its own thread would wait for ever.
    assert_eq!(ended.recv_timeout(SECOND * 60), Ok(()));
}
