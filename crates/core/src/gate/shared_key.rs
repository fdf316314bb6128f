//! The keys of a gate that are shared with other processes: how each gets its [`Peer`], and what the peer may change.

use super::counters::Counters;
use super::peer::Peer;
use super::state::KeyState;
use super::{Gate, GateKey, Shared, micros};
use crate::policy::{Moment, splitmix64};
use crate::runtime::Runtime;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A key that a call uses for the first time.
#[derive(Debug)]
#[non_exhaustive]
pub struct NewKey<'a> {
    /// The service: a host and port, or the name of an operation.
    pub name: &'a str,
    /// The text that tells the key from others of that name, if there are any. It may be a secret, such as a credential:
    /// hash it before it leaves the process.
    pub part: Option<&'a str>,
    /// The gate of the key.
    pub gate: KeyGate,
}

/// The gate of one key, for its [`Peer`]. It does not keep the gate alive; without it, every method does nothing.
///
/// The times are those of the [`Runtime`] that the calls run on.
#[derive(Clone)]
pub struct KeyGate {
    gate: Weak<Shared>,
    /// The number of its slot.
    at: u32,
    key: GateKey,
    /// Gone when the key loses its slot, which the same key may have again.
    tenure: Weak<()>,
}

/// Makes the peer of a key.
pub(super) type MakePeer = Arc<dyn Fn(NewKey<'_>) -> Arc<dyn Peer> + Send + Sync>;

impl KeyGate {
    /// Reports to the peer the successes that nobody has looked at. Returns `false` if the gate or its key is gone.
    #[must_use]
    pub fn report(&self, at: Moment) -> bool {
        self.act(at, |_, _| ()).is_some()
    }

    /// Closes the gate for this pause, which extends one that ends before and shortens none. `probe` lets one call
    /// through that was never sent, to find out whether the limit is everybody's.
    ///
    /// Returns `false` and does nothing if no call of this process would wait so long.
    #[expect(clippy::must_use_candidate, reason = "closing is an effect of its own")]
    pub fn close(&self, at: Moment, pause: Duration, probe: bool) -> bool {
        let closed = self.act(at, |state, counters| {
            state.close_for(counters, micros(pause), probe, at.random)
        });
        closed.unwrap_or_default()
    }

    /// Opens the gate because successes of other processes contradict its pause: calls go as before it.
    pub fn contradict(&self, at: Moment) {
        self.act(at, KeyState::contradict);
    }

    /// Ends the pause that [`close`](Self::close) has begun: calls go one after another, as after any pause.
    pub fn end_pause(&self, at: Moment) {
        self.act(at, KeyState::end_pause);
    }

    /// Shares what remains of a quota among this number of processes. This one is number `rank` of them; any number does,
    /// but it should differ between them, since a remainder goes to the first. 0 counts as 1.
    pub fn share_quota(&self, at: Moment, processes: u64, rank: u64) {
        self.act(at, |state, _| state.share_quota(processes, rank));
    }

    /// Lets the gate look at the next call, so that [`Peer::wake`] is called with it.
    pub fn look_at_next_call(&self) {
        let gate = self.gate.upgrade();
        let slot = gate.as_ref().and_then(|gate| gate.map.at(self.at));
        if let Some(slot) = slot {
            slot.touch(self.key, |state, counters| {
                if state.is_tenure(&self.tenure) {
                    state.take_counts(counters);
                }
            });
        }
    }

    fn act<T>(&self, at: Moment, act: impl FnOnce(&mut KeyState, &Counters) -> T) -> Option<T> {
        let gate = self.gate.upgrade()?;
        let slot = gate.map.at(self.at)?;
        gate.map.decide(slot, self.key, at, |state, counters| {
            let is_same = state.is_tenure(&self.tenure);
            is_same.then(|| act(state, counters))
        })?
    }
}

impl fmt::Debug for KeyGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyGate").finish_non_exhaustive()
    }
}

impl Gate {
    /// Shares each key of this handle with other processes, through the [`Peer`] that `make` makes with the key's first
    /// call. Call it before you clone the handle.
    #[must_use]
    pub fn with_peers(
        self,
        make: impl Fn(NewKey<'_>) -> Arc<dyn Peer> + Send + Sync + 'static,
    ) -> Self {
        self.but(|options| options.make_peer = Some(Arc::new(make)))
    }

    /// Makes the peer of a shared key, if this is its first call. A call that does not go at once comes here; the first
    /// of a shared key always is one. `name` and `part` are those of [`NewKey`]; `longest` is the longest pause that the
    /// call would wait for.
    pub fn share_key(
        &self,
        key: GateKey,
        name: &str,
        runtime: &dyn Runtime,
        longest: Duration,
        part: impl FnOnce() -> Option<String>,
    ) {
        let Some(make_peer) = &self.0.options.make_peer else {
            return;
        };
        let Some(slot) = self.0.map.find(key).filter(|slot| !slot.counters.is_idle()) else {
            return;
        };
        let moment = runtime.moment();
        let share = |state: &mut KeyState, _: &Counters| state.share(micros(longest));
        let tenure = self.0.map.decide(slot, key, moment, share);
        let Some(tenure) = tenure.flatten() else {
            return;
        };
        let gate = KeyGate {
            gate: Arc::downgrade(&self.0),
            at: slot.at,
            key,
            tenure,
        };
        let part = part();
        let peer = make_peer(NewKey {
            name,
            part: part.as_deref(),
            gate: gate.clone(),
        });
        gate.act(moment, |state, _| state.set_peer(peer));
    }

    /// Returns the key of the same calls that is shared with nobody.
    #[must_use]
    pub fn unshared_key(&self, key: GateKey, now: Duration) -> GateKey {
        if self.0.options.make_peer.is_none() {
            return key;
        }
        let key = GateKey(splitmix64(key.0).max(1));
        self.leave_unshared(key, now);
        key
    }

    /// Takes the slot of a key that is not shared, so that its first call goes at once.
    pub(super) fn leave_unshared(&self, key: GateKey, now: Duration) {
        if self.0.options.make_peer.is_none() {
            return;
        }
        let moment = Moment::new(now).with_random(key.0);
        if let Some(slot) = self.0.map.find(key).filter(|slot| !slot.counters.is_idle()) {
            self.0.map.decide(slot, key, moment, |_, _| ());
        }
    }
}
