//! The steps of a call at a gate, and the sharing of its keys.

use super::controller::CallNumber;
use super::key::{FirstCall, GateKey, KeyGate};
use super::map::Permit;
use super::state::{CallEnd, CallKind, GateRequest, NotIdle, Passed};
use super::{Gate, micros};
use crate::policy::Quota;
use crate::request_head::RequestHead;
use crate::runtime::Runtime;
use crate::sealed::Sealed;
use crate::sharing::Peer;
use http::{Extensions, HeaderMap};
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
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

    /// Returns the gate of calls to this host or service, with the text of [`key_text`](Self::key_text).
    #[must_use]
    fn key(&self, name: &str, text: Option<&str>) -> GateKey;

    /// Returns the text that separates the gate of a call with this head, these headers and these extensions from others
    /// at its host. Returns `None` if gates are per host. The text may be a secret.
    #[must_use]
    fn key_text(
        &self,
        head: &RequestHead<'_>,
        headers: &HeaderMap,
        extensions: Option<&Extensions>,
    ) -> Option<String>;

    /// Creates the peer of a shared key, if this is its first call. Call it for calls that do not go at once; the first
    /// call of a shared key never does. `name` and `part` are those of [`with_peers`](Self::with_peers); `longest` is the
    /// longest pause for which the call would wait.
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

    /// Records the end of a call. This costs one addition if its gate is idle. A quota that is spent until now counts as
    /// spent for a second.
    fn end(&self, permit: &Permit, end: CallEnd, quota: Option<Quota>, runtime: &dyn Runtime);
}

impl Sealed for Gate {}

impl GateExt for Gate {
    fn with_peers(
        self,
        make: impl Fn(&str, Option<&str>, KeyGate) -> Arc<dyn Peer> + Send + Sync + 'static,
    ) -> Self {
        self.with_options(|options| {
            options.share = Some(Arc::new(move |gate, call| gate.share(call, &make)));
        })
    }

    #[inline]
    fn key(&self, name: &str, text: Option<&str>) -> GateKey {
        let Some(text) = text else {
            let hash = self.0.options.names.hash(name.as_bytes());
            // The key 0 marks a free slot. The set is chosen by the upper bits, so the lowest can be spared.
            return GateKey(hash | 1);
        };
        let hash = self.0.options.texts.hash_one((name, text));
        GateKey(hash.max(1))
    }

    fn key_text(
        &self,
        head: &RequestHead<'_>,
        headers: &HeaderMap,
        extensions: Option<&Extensions>,
    ) -> Option<String> {
        let by = self.0.options.by.as_ref();
        by.map(|text| text(head, headers, extensions))
    }

    fn share_key(
        &self,
        key: GateKey,
        name: &str,
        runtime: &dyn Runtime,
        longest: Duration,
        part: impl FnOnce() -> Option<String>,
    ) {
        if let Some(share) = &self.0.options.share {
            let mut part = Some(part);
            share(
                self,
                &mut FirstCall {
                    key,
                    name,
                    runtime,
                    longest,
                    part: &mut || part.take()?(),
                },
            );
        }
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
            number: CallNumber(number),
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
    fn end(&self, permit: &Permit, end: CallEnd, quota: Option<Quota>, runtime: &dyn Runtime) {
        let quota = quota.map(Quota::with_min_reset);
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
                state.record_end(counters, (permit.number, permit.is_first), end, quota);
            });
        } else if slot.counters.end(end == CallEnd::Succeeded) {
            self.notify(slot, permit, end, runtime);
        }
    }
}
