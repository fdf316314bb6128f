//! Keys of gates: the calls that share a rate limit.
//!
//! A service has one gate, or one per credential or text. Below it are narrower gates for one path, for a method at a
//! path, or for a limit that responses name. They exist only once a limit was met that affects some of the service's
//! calls.

use super::map::Counters;
use super::state::KeyState;
use super::{Gate, Shared, micros};
use crate::policy::{Moment, Scope, splitmix64};
use crate::request_head::RequestHead;
use crate::runtime::Runtime;
use crate::sharing::Peer;
use http::{Extensions, HeaderMap};
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

/// The hashed name of a gate; the name itself may be a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateKey(pub(super) u64);

/// The text that separates the gates of a host.
pub(super) type KeyText =
    Arc<dyn Fn(&RequestHead<'_>, &HeaderMap, Option<&Extensions>) -> String + Send + Sync>;

/// Returns the credentials of a call, each with the name of its header.
pub(super) fn credentials(headers: &HeaderMap) -> String {
    let mut text = String::new();
    for name in CREDENTIALS {
        for value in headers.get_all(name) {
            text.push_str(name);
            text.push(':');
            // Two values never have one text, and no value has a line break.
            text.extend(value.as_bytes().iter().map(|byte| char::from(*byte)));
            text.push('\n');
        }
    }
    text
}

/// The headers in which APIs take a key.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// The most narrower gates, and the most routes whose limit has a name; the oldest is dropped.
pub(super) const MAX_NARROWER: usize = 1_024;
/// The time for which a narrower gate is kept after it was last closed.
pub(super) const NARROWER_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The narrower gates of a handle.
#[derive(Default)]
pub(super) struct NarrowerGates {
    /// The gates that were closed, by key.
    gates: GateKeys,
    /// The gates of named limits, by the route whose responses name the limit.
    names: GateKeys,
}

/// The keys of gates in order, each with the time at which it was put there. The oldest entry is dropped.
type GateKeys = Vec<(u64, (u64, u64))>;

fn put(keys: &mut GateKeys, key: u64, gate: u64, now: u64) {
    if let Some((_, known)) = position(keys, key).ok().and_then(|at| keys.get_mut(at)) {
        *known = (now, gate);
        return;
    }
    // A scan of all entries, but only when a new limit is met.
    if keys.len() >= MAX_NARROWER {
        let since = |(_, (since, _)): &(u64, (u64, u64))| *since;
        if let Some(oldest) = keys.iter().map(since).min() {
            let at = keys.iter().position(|entry| since(entry) == oldest);
            at.map(|at| keys.remove(at));
        }
    }
    let at = position(keys, key).unwrap_or_else(|at| at);
    keys.insert(at, (key, (now, gate)));
}

fn get(keys: &GateKeys, key: u64, now: u64) -> Option<u64> {
    let (_, (since, gate)) = keys.get(position(keys, key).ok()?)?;
    let fresh = now.saturating_sub(*since) <= micros(NARROWER_LIFETIME);
    fresh.then_some(*gate)
}

/// Returns the position of a key.
///
/// # Errors
///
/// The position at which it belongs.
fn position(keys: &GateKeys, key: u64) -> Result<usize, usize> {
    keys.binary_search_by_key(&key, |(key, _)| *key)
}

impl Gate {
    /// Returns `true` if the host's name alone selects the gate.
    #[inline]
    #[must_use]
    pub(crate) fn is_per_host(&self) -> bool {
        self.0.options.by.is_none()
    }

    /// Returns `true` if a limit was met that affects only some of a service's calls.
    #[inline]
    #[must_use]
    pub(crate) fn has_narrower(&self) -> bool {
        self.0.has_narrower.load(Ordering::Relaxed)
    }

    /// Returns the narrower gates that a call of this service must pass too.
    pub(crate) fn narrower(
        &self,
        service: GateKey,
        request: &RequestHead<'_>,
        now: Duration,
    ) -> Vec<GateKey> {
        // For most services this load is all the cost.
        if !self.has_narrower() {
            return Vec::new();
        }
        let now = micros(now);
        let known = &self.0.narrower;
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let route = self.narrower_key(service, request, Scope::Route);
        // A request does not name its limit, so the route remembers which one its responses have named.
        let named = route.and_then(|route| get(&known.names, route, now));
        let own = [
            route,
            self.narrower_key(service, request, Scope::MethodRoute),
            named,
        ];
        let own = own.into_iter().flatten();
        let met = own.filter_map(|key| get(&known.gates, key, now));
        met.map(GateKey).collect()
    }

    /// Returns the narrower gate of a limit that this call has met. Returns `None` if the limit affects all calls of
    /// the service, or only this one.
    pub(crate) fn narrowed(
        &self,
        service: GateKey,
        request: &RequestHead<'_>,
        scope: Scope,
        now: Duration,
    ) -> Option<GateKey> {
        let key = self.narrower_key(service, request, scope)?;
        let now = micros(now);
        let known = &self.0.narrower;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut known.gates, key, key, now);
        if let (Scope::Named(_), Some(route)) =
            (scope, self.narrower_key(service, request, Scope::Route))
        {
            put(&mut known.names, route, key, now);
        }
        self.0.has_narrower.store(true, Ordering::Relaxed);
        Some(GateKey(key))
    }

    /// Returns the key of a narrower gate, which is the same for all calls that the limit affects.
    fn narrower_key(
        &self,
        service: GateKey,
        request: &RequestHead<'_>,
        scope: Scope,
    ) -> Option<u64> {
        let mut hasher = self.0.options.texts.build_hasher();
        service.0.hash(&mut hasher);
        match scope {
            Scope::Account | Scope::Request => return None,
            Scope::Route => request.path().hash(&mut hasher),
            Scope::MethodRoute => (request.method(), request.path()).hash(&mut hasher),
            Scope::Named(name) => name.hash(&mut hasher),
        }
        // 0 marks a free slot.
        Some(hasher.finish().max(1))
    }
}

/// The gate of one key, for its [`Peer`]. It does not keep the gate alive; once the gate is gone, every method does
/// nothing.
///
/// Times are those of the [`Runtime`] that the calls run on.
#[derive(Clone)]
pub struct KeyGate {
    pub(super) gate: Weak<Shared>,
    /// The index of its slot.
    pub(super) at: u32,
    pub(super) key: GateKey,
    /// Dead once the key has lost its slot, even if the same key gets it again.
    pub(super) tenure: Weak<()>,
}

/// Shares a key with other processes at its first call. Only a gate that is shared has one, and a program without such a
/// gate is spared the code.
pub(super) type ShareKey = Arc<dyn Fn(&Gate, &mut FirstCall<'_>) + Send + Sync>;

/// Creates the peer of a key of this name, with the text that separates it from others of that name, if there are any.
type MakePeer = dyn Fn(&str, Option<&str>, KeyGate) -> Arc<dyn Peer>;

/// A call that may be the first of a shared key.
pub(super) struct FirstCall<'a> {
    pub(super) key: GateKey,
    pub(super) name: &'a str,
    pub(super) runtime: &'a dyn Runtime,
    /// The longest pause for which the call would wait.
    pub(super) longest: Duration,
    /// Returns the text that separates the key from others with its name, if there are any.
    pub(super) part: &'a mut dyn FnMut() -> Option<String>,
}

impl KeyGate {
    /// Reports to the peer the successes that the counters hold. Returns `false` if the gate or its key is gone.
    #[must_use]
    pub fn report(&self, at: Moment) -> bool {
        self.act(at, |_, _| ()).is_some()
    }

    /// Closes the gate for this pause. A pause in progress may be extended but not shortened. `probe` admits one call
    /// that was never sent, to test whether the limit affects all calls.
    ///
    /// Returns `false` and does nothing if no call of this process would wait for that long.
    #[expect(clippy::must_use_candidate, reason = "closing is an effect of its own")]
    pub fn close(&self, at: Moment, pause: Duration, probe: bool) -> bool {
        let closed = self.act(at, |state, counters| {
            state.close_for(counters, micros(pause), probe, at.random)
        });
        closed.unwrap_or_default()
    }

    /// Opens the gate because successes of other processes contradict its pause. Calls go as before it.
    pub fn reopen(&self, at: Moment) {
        self.act(at, KeyState::reopen);
    }

    /// Ends the pause that [`close`](Self::close) began. Calls go one after another, as after any pause.
    pub fn end_pause(&self, at: Moment) {
        self.act(at, KeyState::end_pause);
    }

    /// Divides the remainder of a quota among this number of processes; 0 counts as 1. This process has number `rank`.
    /// Any number works, but ranks should differ, since what cannot be divided evenly goes to the lowest.
    pub fn share_quota(&self, at: Moment, processes: u64, rank: u64) {
        self.act(at, |state, _| state.share_quota(processes, rank));
    }

    /// Makes the gate handle the next call under its lock, so that [`Peer::wake`] is called with it.
    pub fn wake_at_next_call(&self) {
        let gate = self.gate.upgrade();
        let slot = gate.as_ref().and_then(|gate| gate.map.at(self.at));
        if let Some(slot) = slot {
            slot.with_state(self.key, |state, counters| {
                if state.is_tenure(&self.tenure) {
                    // Taken and not released, so that the gate is not idle for the next call.
                    state.take_counts(counters);
                }
            });
        }
    }

    pub(super) fn act<T>(
        &self,
        at: Moment,
        act: impl FnOnce(&mut KeyState, &Counters) -> T,
    ) -> Option<T> {
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
    /// Creates the peer of a shared key, if this is its first call.
    pub(super) fn share(&self, call: &mut FirstCall<'_>, make_peer: &MakePeer) {
        let (map, key) = (&self.0.map, call.key);
        let Some(slot) = map.find(key).filter(|slot| !slot.counters.is_idle()) else {
            return;
        };
        let moment = call.runtime.moment();
        let longest = micros(call.longest);
        let tenure = map.decide(slot, key, moment, |state, _| state.share(longest));
        // Only the first of several calls gets the tenure, so the key has one peer.
        let Some(tenure) = tenure.flatten() else {
            return;
        };
        let gate = KeyGate {
            gate: Arc::downgrade(&self.0),
            at: slot.at,
            key,
            tenure,
        };
        // `make_peer` runs without the lock: it is code of the user, and may use the gate.
        let part = (call.part)();
        let peer = make_peer(call.name, part.as_deref(), gate.clone());
        gate.act(moment, |state, _| state.set_peer(peer));
    }

    /// Returns the key for the same calls that is not shared with other processes.
    #[must_use]
    pub(crate) fn unshared_key(&self, key: GateKey, now: Duration) -> GateKey {
        if self.0.options.share.is_none() {
            return key;
        }
        let key = GateKey(splitmix64(key.0).max(1));
        let moment = Moment::new(now).with_random(key.0);
        if let Some(slot) = self.0.map.find(key).filter(|slot| !slot.counters.is_idle()) {
            // Claims the slot, so that the first call goes at once: `decide` releases the counters of a key that has no
            // peer.
            self.0.map.decide(slot, key, moment, |_, _| ());
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::ext::GateExt;
    use http::{HeaderValue, Method, Uri};
    use std::collections::BTreeSet;

    fn key(gate: &Gate, secret: &'static str) -> GateKey {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static(secret));
        let uri = Uri::from_static("http://a:1/p");
        key_of(gate, &uri, &headers)
    }

    fn key_of(gate: &Gate, uri: &Uri, headers: &HeaderMap) -> GateKey {
        let head = RequestHead::new(&Method::GET, uri);
        let text = gate.key_text(&head, headers, None);
        gate.key(head.authority().unwrap(), text.as_deref())
    }

    #[test]
    fn names_have_different_keys() {
        let gate = Gate::new();
        let hosts = (0..20_000).map(|host| format!("host{host}.example:{host}"));
        let lengths = (0..40).flat_map(|length| ["0", "a"].map(|name| name.repeat(length)));
        // After its first letter, each of these repeats a whole shorter name.
        let longer = (0..40).map(|length| format!("b{}", "c".repeat(length)));
        let repeated = (1..40).map(|length| "c".repeat(length));
        let names = hosts.chain(lengths).chain(longer).chain(repeated);
        let names: BTreeSet<String> = names.collect();
        let keys = names.iter().map(|name| gate.key(name, None).0);
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), names.len());
        assert_ne!(gate.key("a", None), Gate::new().key("a", None));
    }

    #[test]
    fn per_credential_separates_gates_by_the_key_of_the_api() {
        let by_host = Gate::new();
        assert_eq!(key(&by_host, "one"), key(&by_host, "two"));
        let by_credential = Gate::new().per_credential();
        assert_eq!(key(&by_credential, "one"), key(&by_credential, "one"));
        assert_ne!(key(&by_credential, "one"), key(&by_credential, "two"));
        let by_path = Gate::new().key_by(|head, _, _| head.path().to_owned());
        assert_eq!(key(&by_path, "one"), key(&by_path, "two"));
    }

    #[test]
    fn no_two_hosts_share_a_gate() {
        let uris = ["http://a:1/p", "http://b:1/p"].map(Uri::from_static);
        for gate in [
            Gate::new(),
            Gate::new().per_credential(),
            Gate::new().key_by(|_, _, _| "same".to_owned()),
        ] {
            let key = |uri| key_of(&gate, uri, &HeaderMap::new());
            assert_eq!(key(&uris[0]), key(&uris[0]));
            assert_ne!(key(&uris[0]), key(&uris[1]));
        }
    }
}
