//! The other processes of a shared gate, as a peer hears of its calls.

use super::*;
use crate::gate::ext::GateExt;
use crate::gate::key::KeyGate;
use crate::policy::Moment;
use crate::sharing::Peer;
use std::sync::{Mutex, OnceLock};

/// A peer that notes what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Peer for Notes {
    fn succeeded(&self, calls: u64, since_refusal: bool) {
        let since = if since_refusal {
            " since a refusal"
        } else {
            ""
        };
        self.note(format!("{calls} succeeded{since}"));
    }

    fn refused(&self, asked: Option<Duration>, closes: bool) {
        let closes = if closes { ", closed" } else { "" };
        self.note(format!("refused for {asked:?}{closes}"));
    }

    fn reopened(&self) {
        self.note("reopened".to_owned());
    }

    fn wake(&self) {}
}

/// A gate whose key "a" is shared, the notes of its peer, and the gate of the key.
fn shared() -> (Scene, Arc<Notes>, KeyGate) {
    let (notes, gate) = (Arc::new(Notes::default()), Arc::new(OnceLock::new()));
    let (peer, key_gate) = (Arc::clone(&notes), Arc::clone(&gate));
    let scene = Scene::of(Gate::new().with_peers(move |_, _, gate| {
        let _ = key_gate.set(gate);
        Arc::clone(&peer) as Arc<dyn Peer>
    }));
    let key = scene.gate.key("a", None);
    let first = scene.gate.enter(key, Duration::ZERO, false);
    assert!(first.is_err(), "the first call joins");
    let runtime = &*scene.runtime;
    scene
        .gate
        .share_key(key, "a", runtime, SECOND * 60, || None);
    let gate = gate.get().unwrap().clone();
    (scene, notes, gate)
}

#[test]
fn a_peer_hears_of_votes_and_of_successes_that_contradict_them() {
    let (scene, notes, _) = shared();
    scene.refuse("a", SECOND * 9);
    let refused = "refused for Some(9s)";
    let closed = format!("{refused}, closed");
    assert_eq!(notes.take(), [refused, refused, refused, &closed]);
    assert!(!scene.is_open("a"));
    for _ in 0..2 {
        scene.go("a").succeeded(None);
    }
    let success = "1 succeeded since a refusal";
    assert_eq!(notes.take(), [success, success, "reopened"]);
    assert!(scene.is_open("a"));
}

#[test]
fn a_peer_hears_of_a_held_refusal_once_it_is_confirmed() {
    let (scene, notes, _) = shared();
    let calls = [(); 2].map(|()| scene.go("a"));
    let [confirmed, lifted] = calls.map(|call| call.held(Some(SECOND)));
    assert_eq!(notes.take(), [""; 0]);
    let end = CallEnd::Refused(Some(SECOND * 2));
    scene.gate.end(&confirmed, end, None, &*scene.runtime);
    scene.lift(&lifted);
    assert_eq!(notes.take(), ["refused for Some(2s)"]);
}

#[test]
fn a_pause_of_others_holds_calls_until_they_take_it_back() {
    let (scene, _, gate) = shared();
    let at = || Moment::new(scene.clock.now());
    assert!(
        !gate.close(at(), SECOND * 61, false),
        "nobody here waits so long"
    );
    assert!(scene.is_open("a"));
    assert!(gate.close(at(), SECOND * 9, false));
    assert!(!scene.is_open("a"));
    gate.reopen(at());
    assert!(scene.is_open("a"));

    // As long as the longest wait of a call here.
    assert!(gate.close(at(), SECOND * 60, false));
    assert!(!scene.is_open("a"));
    gate.reopen(at());
    assert!(scene.is_open("a"));

    assert!(gate.close(at(), SECOND * 9, false));
    // A shorter one does not shorten it, and a longer one extends it.
    assert!(gate.close(at(), SECOND, false));
    scene.clock.advance(SECOND * 2);
    assert!(!scene.is_open("a"));
    assert!(gate.close(at(), SECOND * 20, false));
    scene.clock.advance(SECOND * 8);
    assert!(!scene.is_open("a"));
    gate.end_pause(at());
    assert!(scene.is_open("a"));
}
