//! The steps of a call at a gate, and the sharing of its keys.

use super::controller::{CallNumber, GateQuota};
use super::key::{CREDENTIALS, GateKey, KeyGate, KeyedBy, text};
use super::map::{Counters, Permit};
use super::state::{CallEnd, CallKind, GateRequest, KeyState, NotIdle, Passed};
use super::{Gate, GatedCall, micros};
use crate::runtime::Runtime;
use crate::sealed::Sealed;
use crate::sharing::Peer;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// The steps of a call at a [`Gate`], and the sharing of its keys with other processes: for stores, and for whoever drives
/// a gate without an [`Exchange`](crate::adapter::Exchange).
pub trait GateExt: Sealed {
    /// Shares each key of this handle with other processes, through the [`Peer`] that `make` returns at the key's first
    /// call. Call it before you clone the handle.
    ///
    /// `make` gets the name of the service, which is a host and port or the name of an operation; the text that
    /// separates the key from others with that name, if there are any, which may be a secret, such as a credential: hash
    /// it before it leaves the process; and the gate of the key.
    #[must_use]
    fn with_peers(
        self,
        make: impl Fn(&str, Option<&str>, KeyGate) -> Arc<dyn Peer> + Send + Sync + 'static,
    ) -> Self;

    /// Returns the gate of a call.
    #[must_use]
    fn key(&self, call: &GatedCall<'_>) -> GateKey;

    /// Returns the gate of calls to this host, if its name alone selects the gate.
    #[must_use]
    fn key_of(&self, name: &str) -> GateKey;

    /// Returns the text that separates the call's gate from others at its host. Returns `None` if gates are per host.
    /// The text may be a secret.
    #[must_use]
    fn key_text(&self, call: &GatedCall<'_>) -> Option<String>;

    /// Creates the peer of a shared key, if this is its first call. Call it for calls that do not go at once; the first
    /// call of a shared key never does. `name` and `part` are those of [`with_peers`](Self::with_peers); `longest` is the longest pause for
    /// which the call would wait.
    fn share_key(
        &self,
        key: GateKey,
        name: &str,
        runtime: &dyn Runtime,
        longest: Duration,
        part: impl FnOnce() -> Option<String>,
    );

    /// Admits a call at once if its gate is idle, which costs one load and one addition. Returns `None` if there is no
    /// slot for the key. `quotas_at_once` is the policy's default: `true` if a quota counts from the first response on,
    /// and not only after a refusal.
    ///
    /// # Errors
    ///
    /// An error means that the call must use [`pass`](Self::pass).
    fn enter(
        &self,
        key: GateKey,
        now: Duration,
        quotas_at_once: bool,
    ) -> Result<Option<Permit>, NotIdle>;

    /// Waits until a call may be sent. Calls `on_wait` when a wait begins.
    ///
    /// # Cancel safety
    ///
    /// If dropped, the call leaves the line, and the next one moves up.
    fn pass(
        &self,
        request: GateRequest,
        runtime: &Arc<dyn Runtime>,
        on_wait: impl FnOnce(),
    ) -> impl Future<Output = Passed>;

    /// Records the end of a call. This costs one addition if its gate is idle.
    fn end(&self, permit: &Permit, end: CallEnd, quota: Option<GateQuota>, runtime: &dyn Runtime);
}

impl Sealed for Gate {}

impl GateExt for Gate {
    fn with_peers(
        self,
        make: impl Fn(&str, Option<&str>, KeyGate) -> Arc<dyn Peer> + Send + Sync + 'static,
    ) -> Self {
        self.with_options(|options| options.make_peer = Some(Arc::new(make)))
    }

    fn key(&self, call: &GatedCall<'_>) -> GateKey {
        let mut hasher = self.0.options.texts.build_hasher();
        call.authority.hash(&mut hasher);
        match &self.0.options.by {
            // The same key as for adapters that hash the host's name once and never call this.
            KeyedBy::Host => return self.key_of(call.authority),
            KeyedBy::Credential => {
                for name in CREDENTIALS {
                    let values = call.headers.get_all(name).iter();
                    values.for_each(|value| value.as_bytes().hash(&mut hasher));
                }
            }
            KeyedBy::Text(key) => text(&**key, call).hash(&mut hasher),
        }
        GateKey(hasher.finish().max(1))
    }

    #[inline]
    fn key_of(&self, name: &str) -> GateKey {
        let hash = self.0.options.names.hash(name.as_bytes());
        // The key 0 marks a free slot. The set is chosen by the upper bits, so the lowest can be spared.
        GateKey(hash | 1)
    }

    fn key_text(&self, call: &GatedCall<'_>) -> Option<String> {
        match &self.0.options.by {
            KeyedBy::Host => None,
            KeyedBy::Credential => {
                let values = CREDENTIALS.into_iter().flat_map(|name| {
                    let values = call.headers.get_all(name).iter();
                    values.map(move |value| format!("{name}:{}\n", value.as_bytes().escape_ascii()))
                });
                Some(values.collect())
            }
            KeyedBy::Text(key) => Some(text(&**key, call)),
        }
    }

    fn share_key(
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
        let part = part();
        let peer = make_peer(name, part.as_deref(), gate.clone());
        gate.act(moment, |state, _| state.set_peer(peer));
    }

    #[inline(always)]
    fn enter(
        &self,
        key: GateKey,
        now: Duration,
        quotas_at_once: bool,
    ) -> Result<Option<Permit>, NotIdle> {
        let Some(slot) = self.0.map.find(key) else {
            return Ok(None);
        };
        // The slot may change hands between `find` and here; `slot_of` and `decide` check its key again.
        let entered = slot.counters.enter(micros(now));
        let (number, was_refused) = entered.ok_or(NotIdle)?;
        let at_once = self.0.options.quotas_at_once.unwrap_or(quotas_at_once);
        Ok(Some(Permit {
            at: slot.at,
            key,
            permit: CallNumber(number),
            is_first: true,
            is_held: false,
            reads_quota_headers: at_once | was_refused,
        }))
    }

    async fn pass(
        &self,
        request: GateRequest,
        runtime: &Arc<dyn Runtime>,
        on_wait: impl FnOnce(),
    ) -> Passed {
        let is_first = request.kind == CallKind::Newcomer;
        let entered = self.enter(request.key, runtime.now(), request.quotas_at_once);
        if let Ok(permit) = entered {
            return Passed {
                waited: Duration::ZERO,
                place: Ok(permit.map(|permit| permit.for_first(is_first))),
            };
        }
        let mut wait = self.wait(request, runtime);
        // Called at the first poll that is pending, and never again.
        let mut on_wait = Some(on_wait);
        poll_fn(|cx| {
            let passed = wait.poll(cx);
            if let Some(on_wait) = on_wait.take_if(|_| passed.is_pending()) {
                on_wait();
            }
            passed
        })
        .await
    }

    #[inline]
    fn end(&self, permit: &Permit, end: CallEnd, quota: Option<GateQuota>, runtime: &dyn Runtime) {
        if permit.is_held {
            self.settle(permit, end, quota, runtime);
            return;
        }
        let Some(slot) = self.0.map.slot_of(permit) else {
            return;
        };
        let refused = matches!(end, CallEnd::Refused(_));
        let quota = quota.filter(|_| refused || permit.reads_quota_headers);
        let is_news = refused || quota.is_some();
        if is_news {
            let (map, moment) = (&self.0.map, runtime.moment());
            map.decide(slot, permit.key, moment, |state, counters| {
                // Only after `decide` has taken the counters, or the end would count twice: there and in `record_end`.
                counters.end(end == CallEnd::Succeeded);
                state.record_end(counters, (permit.permit, permit.is_first), end, quota);
            });
        } else if slot.counters.end(end == CallEnd::Succeeded) {
            self.notify(slot, permit, end, runtime);
        }
    }
}
