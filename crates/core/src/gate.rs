//! A shared cooldown: after a service answers several calls in a row with 429, its calls wait together and then resume
//! one by one.
//!
//! Four refusals in a row close the gate, for as long as they ask (100 ms if they name no time). First attempts wait
//! too, except for single probes; enough successes of calls that were sent later open the gate. After the cooldown the
//! calls go in order, as fast as they succeeded before, and twice as fast after each round without a refusal, until
//! none waits. If responses carry the limit, the remainder and the reset of a quota, no more calls are in flight than
//! remain.
//!
//! It is used by policies with a [`max_gate_wait`](crate::RetryPolicyBuilder::max_gate_wait), such as
//! [`RetryPolicy::background`](crate::RetryPolicy::background), `RetryPolicy::llm` and
//! [`RetryPolicy::rate_limited`](crate::RetryPolicy::rate_limited). Overload (503, 529) delays only its own call: a
//! gate that closes on overload turns load into bursts. While nothing is refused, a call costs an atomic load and two
//! additions, and no lock.
//!
//! ```
//! use http_retry::gate::Gate;
//!
//! // One gate for each API key at a host; clone the handle into every client.
//! let gate = Gate::new().per_credential();
//! let layer = http_retry::tower::RetryLayer::new(http_retry::RetryPolicy::rate_limited()).gate(gate.clone());
//! ```

pub(crate) mod controller;
pub(crate) mod ext;
pub(crate) mod key;
pub(crate) mod map;
mod queue;
pub(crate) mod state;
mod sync;
#[cfg(test)]
mod tests;
pub(crate) mod vote;

pub(crate) use key::GateKey;

use crate::name_hasher::NameHasher;
use crate::policy::Quota;
use crate::request_head::RequestHead;
use crate::runtime::{Runtime, Sleep};
use controller::{CallNumber, quotient};
use http::{Extensions, HeaderMap};
use key::{KeyText, NarrowerGates, ShareKey, credentials};
use map::{Counters, GateMap, Permit, Slot};
use queue::WaiterId;
use state::{CallEnd, CallKind, GateRequest, KeyState, Passed};
use std::fmt;
use std::hash::RandomState;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The gates of services with rate limits; clones share them.
///
/// After a service answers four calls in a row with 429, its gate closes for every call through a clone of this handle,
/// for as long as the response asks; of first attempts only single probes are sent. Then the calls go in order, as fast
/// as they succeeded before, and faster with each round. If responses state the remainder of a quota, no more calls are
/// in flight than remain.
///
/// Every layer, client and runner creates its own gate if none is given. Give clones of one handle to those that share
/// a rate limit. It is used by the policies that have a [`max_gate_wait`](crate::RetryPolicyBuilder::max_gate_wait),
/// which bounds the wait of a call.
///
/// The handle keeps at most 1,000 services. A new service replaces the least recently used one without calls in flight.
/// If there is none that it could replace, the new service has no gate, and a 429 delays only its own call.
///
/// ```
/// use http_retry::gate::Gate;
///
/// let gate = Gate::new()
///     .max_services(200)
///     .key_by(|_, headers, _| headers.get("x-model").map_or(String::new(), |model| format!("{model:?}")));
/// let same = gate.clone();
/// ```
///
/// The setters recreate all gates, open, so call them before the first clone.
#[derive(Clone)]
#[doc(alias = "circuit breaker")]
#[doc(alias = "429")]
pub struct Gate(Arc<Shared>);

/// The state that all clones of a gate share.
struct Shared {
    map: GateMap,
    options: Options,
    /// `true` once a limit was met that affects only some of a service's calls.
    has_narrower: AtomicBool,
    narrower: Mutex<NarrowerGates>,
}

#[derive(Clone, Default)]
struct Options {
    max_services: usize,
    /// The text that separates the gates of a host; `None` for one gate per host.
    by: Option<KeyText>,
    /// Hashers with random keys in each process, so that nobody can construct two names that share a gate.
    texts: RandomState,
    names: NameHasher,
    /// `true` if a quota counts from the first response on; `None` for the policy's setting.
    quotas_at_once: Option<bool>,
    /// Shares keys with other processes.
    share: Option<ShareKey>,
}

const MAX_SERVICES: usize = 1_000;

impl Gate {
    /// Creates a handle with all gates open and the default settings: one gate per host and port, at most 1,000.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Options {
            max_services: MAX_SERVICES,
            ..Options::default()
        })
    }

    /// Sets the most services that the handle keeps; 0 counts as 1. Default: 1,000, which take at most 2 MB. Call it
    /// before you clone the handle.
    ///
    /// Each key of [`Gate::key_by`] or [`Gate::per_credential`] counts as a service, and so does each path or named
    /// limit that a server limits separately.
    #[must_use]
    pub fn max_services(self, max_services: usize) -> Self {
        self.with_options(|options| options.max_services = max_services)
    }

    /// Sets whether quota headers count from the first response on (`true`), or only after a service has answered 429
    /// once. Default: as the call's policy has it, which is `true` in `RetryPolicy::llm` and
    /// [`RetryPolicy::rate_limited`](crate::RetryPolicy::rate_limited) and `false` in all others. Call it before you
    /// clone the handle.
    #[must_use]
    pub fn quotas_at_once(self, at_once: bool) -> Self {
        self.with_options(|options| options.quotas_at_once = Some(at_once))
    }

    /// Uses one gate per credential at a host, for clients with several credentials that a server limits separately.
    /// Keeps only a hash of the headers `authorization`, `x-api-key`, `api-key` and `x-goog-api-key`. Default: one gate
    /// per host and port. It replaces an earlier [`Gate::key_by`]. Call it before you clone the handle.
    #[must_use]
    pub fn per_credential(self) -> Self {
        self.with_options(|options| {
            options.by = Some(Arc::new(|_, headers, _| credentials(headers)));
        })
    }

    /// Uses one gate per text that the function returns at a host, such as the name of a model. Keeps only a hash of
    /// the text, so it may be a secret. The function runs for each call, so it should be quick. It replaces an earlier
    /// [`Gate::per_credential`]. Call it before you clone the handle.
    ///
    /// The function sees the request's head, its headers, and its extensions, which are `None` if the client does not
    /// expose them, as with `reqwest`. Two hosts never share a gate.
    ///
    /// ```
    /// use http_retry::gate::Gate;
    ///
    /// // The server limits each tenant, which is the first segment of the path.
    /// let gate = Gate::new().key_by(|head, _, _| head.path().split('/').nth(1).unwrap_or("").to_owned());
    /// ```
    #[must_use]
    pub fn key_by(
        self,
        key: impl Fn(&RequestHead<'_>, &HeaderMap, Option<&Extensions>) -> String
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.with_options(|options| options.by = Some(Arc::new(key)))
    }

    fn with(options: Options) -> Self {
        Self(Arc::new(Shared {
            map: GateMap::new(options.max_services, options.share.is_some()),
            options,
            has_narrower: AtomicBool::new(false),
            narrower: Mutex::default(),
        }))
    }

    fn with_options(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.0.options.clone();
        change(&mut options);
        Self::with(options)
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("max_services", &self.0.options.max_services)
            .finish_non_exhaustive()
    }
}

/// Converts to microseconds, rounded up.
#[inline]
fn micros(duration: Duration) -> u64 {
    let almost = u64::from(duration.subsec_nanos()).saturating_add(999);
    let seconds = duration.as_secs().saturating_mul(1_000_000);
    seconds.saturating_add(quotient(almost, 1_000))
}

impl Gate {
    /// Returns the wait of a call that [`GateExt::enter`](ext::GateExt::enter) has not let in.
    pub(crate) fn wait(&self, request: GateRequest, runtime: &Arc<dyn Runtime>) -> GateWait {
        GateWait {
            gate: self.clone(),
            at: self.0.map.find(request.key).map(|slot| slot.at),
            runtime: Arc::clone(runtime),
            request,
            began: runtime.now(),
            id: None,
            sleep: None,
            slept_until: Duration::ZERO,
        }
    }

    /// Records a refusal whose response must be read before it is judged. It counts like any other, except for its
    /// quota, until [`GateExt::end`](ext::GateExt::end) confirms or lifts it. Returns `None` if there is no slot for the
    /// call any more.
    #[must_use]
    pub(crate) fn hold(
        &self,
        permit: Permit,
        asked: Option<Duration>,
        quota: Option<Quota>,
        runtime: &dyn Runtime,
    ) -> Option<Permit> {
        let slot = self.0.map.slot_of(&permit)?;
        let (map, moment) = (&self.0.map, runtime.moment());
        let call = (permit.number, permit.is_first);
        let quota = quota.map(Quota::with_min_reset);
        map.decide(slot, permit.key, moment, |state, counters| {
            state.hold(counters, call, asked, quota);
        })?;
        Some(Permit {
            is_held: true,
            ..permit
        })
    }

    /// Records the end of a call whose refusal was held. A refusal counts for good; if its body asks for a longer wait
    /// than its head did, that one counts. Any other end takes the refusal back.
    fn settle(&self, permit: &Permit, end: CallEnd, quota: Option<Quota>, runtime: &dyn Runtime) {
        if let Some(slot) = self.0.map.slot_of(permit) {
            let (map, moment) = (&self.0.map, runtime.moment());
            map.decide(slot, permit.key, moment, |state, counters| {
                // After `decide` has taken the counters, as in `end`.
                counters.end(false);
                match end {
                    CallEnd::Refused(asked) => {
                        state.confirm(counters, permit.number, asked, quota);
                    }
                    _ => state.lift(counters, permit.number, quota),
                }
            });
        }
    }

    /// Records a success whose response states no quota.
    #[inline(always)]
    pub(crate) fn succeeds(&self, permit: &Permit, runtime: &dyn Runtime) {
        if let Some(slot) = self.0.map.slot_of(permit) {
            if slot.counters.end(true) {
                self.notify(slot, permit, CallEnd::Succeeded, runtime);
            }
        }
    }

    /// Records, under the lock, the end of a call that the counters already include.
    #[cold]
    #[inline(never)]
    fn notify(&self, slot: &Slot, permit: &Permit, end: CallEnd, runtime: &dyn Runtime) {
        let (map, moment) = (&self.0.map, runtime.moment());
        map.decide(slot, permit.key, moment, |state, counters| {
            state.record_end(counters, (permit.number, permit.is_first), end, None);
        });
    }
}

/// The turn of a waiter has not come.
enum NoTurn {
    /// It need not poll before this time has passed, in microseconds.
    Before(u64),
    /// It will not come before the deadline, since the gate stays shut for this long.
    InTime(Duration),
}

/// A call in the line of its key. If dropped, it leaves the line. It owns what it uses, so that a state machine can hold
/// it.
pub(crate) struct GateWait {
    gate: Gate,
    /// The index of its slot; `None` if there is none for its key.
    at: Option<u32>,
    runtime: Arc<dyn Runtime>,
    pub(crate) request: GateRequest,
    began: Duration,
    id: Option<WaiterId>,
    /// The end of the current wait, and its future.
    sleep: Option<(Duration, Sleep)>,
    /// The end of the last completed wait. It has passed even if the clock stands still.
    slept_until: Duration,
}

impl GateWait {
    /// Waits for the call's turn. Completes with an error if the deadline comes first, at once if it is known that the
    /// gate stays shut for longer.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Passed> {
        let turn = ready!(self.poll_line(cx));
        // This call has taken the lock already, so ignoring its quota headers would save nothing.
        let admitted = |(number, at)| Permit {
            at,
            key: self.request.key,
            number,
            is_first: self.request.kind == CallKind::Newcomer,
            is_held: false,
            reads_quota_headers: true,
        };
        Poll::Ready(Passed {
            waited: self.now().saturating_sub(self.began),
            place: turn.map(|number| number.zip(self.at).map(admitted)),
        })
    }

    /// Completes with `Ok(None)` if the slot was given to another key before this call was in line, so that there is no
    /// gate for it.
    fn poll_line(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<CallNumber>, Option<Duration>>> {
        let deadline = self.request.deadline.unwrap_or(Duration::MAX);
        loop {
            let now = self.now();
            // Before the turn is polled: a call that is too late must not take it from the next one.
            if deadline <= now {
                return Poll::Ready(Err(None));
            }
            let time = match self.poll_turn(now, cx).transpose() {
                Err(NoTurn::Before(time)) => Duration::from_micros(time),
                Err(NoTurn::InTime(shut_for)) => return Poll::Ready(Err(Some(shut_for))),
                Ok(permit) => {
                    // The permit is the caller's from here on, and `drop` must not return it.
                    self.id = None;
                    return Poll::Ready(Ok(permit));
                }
            };
            let until = now.saturating_add(time).min(deadline);
            // A sleep in progress is kept only if it ends at the same time.
            let begun = self.sleep.take().filter(|(end, _)| *end == until);
            let sleep = || (until, self.runtime.sleep(until.saturating_sub(now)));
            let (_, sleep) = self.sleep.insert(begun.unwrap_or_else(sleep));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
            self.slept_until = until;
        }
    }

    fn poll_turn(&mut self, now: Duration, cx: &Context<'_>) -> Option<Result<CallNumber, NoTurn>> {
        let mut moment = self.runtime.moment();
        // The runtime may still report a time before the end of the sleep that has just completed.
        moment.now = now;
        let map = &self.gate.0.map;
        let slot = map.at(self.at?)?;
        let request = &self.request;
        map.decide(slot, request.key, moment, |state, counters| {
            let join = || {
                let deadline = request.deadline.filter(|_| request.ends_early);
                let left = deadline.map(|deadline| micros(deadline.saturating_sub(now)));
                let (began, patience) = (micros(request.began), micros(request.at_gate));
                state.join(request.kind, began, patience, left)
            };
            let id = *self.id.get_or_insert_with(join);
            let turn = state.poll(counters, id, cx.waker());
            turn.map_err(|time| match state.shut_for(id) {
                Some(time) => NoTurn::InTime(Duration::from_micros(time)),
                None => NoTurn::Before(time),
            })
        })
    }

    fn now(&self) -> Duration {
        self.runtime.now().max(self.slept_until)
    }
}

impl Drop for GateWait {
    fn drop(&mut self) {
        let map = &self.gate.0.map;
        let slot = self.at.and_then(|at| map.at(at));
        if let (Some(id), Some(slot)) = (self.id.take(), slot) {
            let leave = |state: &mut KeyState, counters: &Counters| state.leave(counters, id);
            map.decide(slot, self.request.key, self.runtime.moment(), leave);
        }
    }
}
