//! The gates below a service's own: of one path, of a method at a path, or of a limit that answers name.
//!
//! They are there only once a limit was met that stops fewer calls than all of the service's.

use super::{Gate, GateKey, micros};
use crate::policy::Scope;
use http::Method;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// As many of them are kept, and as many routes whose limit has a name; the oldest goes.
const MOST: usize = 1_024;
/// How long one is kept after it was last closed.
const KEPT: Duration = Duration::from_secs(60 * 60);

#[derive(Default)]
pub(super) struct Narrow {
    any: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The gates that were closed, each by its key.
    gates: Bounded,
    /// The gate of the limit that a route's answers name.
    names: Bounded,
}

/// The keys of gates, and when each was put there; the oldest entry goes.
#[derive(Default)]
struct Bounded(BTreeMap<u64, (u64, u64)>);

impl Bounded {
    fn put(&mut self, key: u64, gate: u64, now: u64) {
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, (since, _))| *since);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.map(|oldest| self.0.remove(&oldest));
        }
        self.0.insert(key, (now, gate));
    }

    fn get(&self, key: u64, now: u64) -> Option<u64> {
        let (since, gate) = self.0.get(&key)?;
        let fresh = now.saturating_sub(*since) <= micros(KEPT);
        fresh.then_some(*gate)
    }
}

/// What a call is, as far as its narrower gates go.
#[derive(Clone, Copy)]
pub(crate) struct RouteOf<'a> {
    pub(crate) key: GateKey,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
}

impl Gate {
    /// Whether any limit was met that stops fewer calls than all.
    #[inline]
    pub(crate) fn has_narrower(&self) -> bool {
        self.0.narrow.any.load(Ordering::Relaxed)
    }

    /// The narrower gates that a call must pass too.
    pub(crate) fn narrower(&self, call: RouteOf<'_>, now: Duration) -> Vec<GateKey> {
        if !self.has_narrower() {
            return Vec::new();
        }
        let now = micros(now);
        let known = &self.0.narrow.known;
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let route = self.below(call, Scope::Route);
        let named = route.and_then(|route| known.names.get(route, now));
        let own = [route, self.below(call, Scope::MethodRoute), named];
        let own = own.into_iter().flatten();
        let met = own.filter_map(|key| known.gates.get(key, now));
        met.map(GateKey).collect()
    }

    /// The gate of a limit that stops fewer calls than all, which this call has met; none where it stops all, or nobody
    /// else.
    pub(crate) fn narrowed(
        &self,
        call: RouteOf<'_>,
        scope: Scope,
        now: Duration,
    ) -> Option<GateKey> {
        let key = self.below(call, scope)?;
        self.leave_unshared(GateKey(key), now);
        let now = micros(now);
        let known = &self.0.narrow.known;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.gates.put(key, key, now);
        if let (Scope::Named(_), Some(route)) = (scope, self.below(call, Scope::Route)) {
            known.names.put(route, key, now);
        }
        self.0.narrow.any.store(true, Ordering::Relaxed);
        Some(GateKey(key))
    }

    /// The key of a narrower gate: the same for all calls that the limit stops.
    fn below(&self, call: RouteOf<'_>, scope: Scope) -> Option<u64> {
        let mut hasher = self.0.options.hashers.texts.build_hasher();
        call.key.0.hash(&mut hasher);
        match scope {
            Scope::Account | Scope::Request => return None,
            Scope::Route => call.path.hash(&mut hasher),
            Scope::MethodRoute => (call.method, call.path).hash(&mut hasher),
            Scope::Named(name) => name.hash(&mut hasher),
        }
        // 0 is nobody's.
        Some(hasher.finish().max(1))
    }
}
