//! One pause for everybody: after a 429, all calls to the same service wait together, and go on one after another.
//!
//! A 429 that says when to come back closes the gate of its service until then, for first attempts too. Afterwards the
//! calls are let through in order, spread over a fifth of the pause (at most 10 s) or as fast as calls have succeeded of
//! late, whichever takes longer; then the rate doubles, and again, until nobody waits. If the gate closes again without a
//! success, the pause doubles, up to a minute or what was asked. Where answers carry the limit, the remainder and the
//! reset of a quota, no more calls are in flight than remain, and none is refused.
//!
//! It is on where the policy has a [`max_gate_wait`](crate::RetryPolicyBuilder::max_gate_wait), as in
//! [`RetryPolicy::llm`](crate::RetryPolicy::llm) and [`RetryPolicy::rate_limited`](crate::RetryPolicy::rate_limited).
//! Overload (503, 529) delays only its own call: a gate that closes on overload turns load into bursts.
//!
//! ```
//! use http_retry::gate::Gate;
//!
//! // One gate for each API key at a host; clone it into every client that calls with them.
//! let gate = Gate::new().per_credential();
//! # #[cfg(feature = "tower")]
//! let layer = http_retry::tower::RetryLayer::new(http_retry::RetryPolicy::llm()).gate(gate.clone());
//! ```

#[expect(dead_code, reason = "the queue of the gate is still another")]
mod controller;
mod key;
mod line;
mod pace;
mod queue;
mod quota;
mod rate;
mod release;
mod rooms;
#[cfg(test)]
mod tests;

pub use key::GatedCall;

pub(crate) use line::Kind;
pub(crate) use quota::Quota;

use crate::runtime::{Runtime, Sleep};
use key::Sharing;
use line::Ticket;
use queue::{Entry, Look, Permit};
use rooms::{Room, Rooms};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// The gates of services that limit how often they are called; clones share them.
///
/// When a service answers 429 and says for how long, its gate closes until then for every call through a clone of this
/// handle, first attempts too. Then the calls go on in order, spread over a fifth of the pause (at most 10 s) or as
/// fast as calls have succeeded of late, whichever is longer. Where answers tell what is left of the quota, no more
/// calls are in flight than that.
///
/// At most 1,000 services are kept; the least recently used one goes and would start anew.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    rooms: Mutex<Rooms>,
    head_start: bool,
    max_services: usize,
    sharing: Sharing,
}

const MAX_SERVICES: usize = 1_000;

/// How long a call waits at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// When it must not be sent any more.
    pub(crate) deadline: Option<Duration>,
    /// After so long it goes in spite of the gate.
    pub(crate) at_gate: Duration,
}

/// What came of a wait.
#[derive(Debug)]
pub(crate) struct Passed {
    /// Nothing where the deadline came first.
    pub(crate) pass: Option<Pass>,
    pub(crate) waited: Duration,
}

/// The right to send one call; dropped, it tells the gate that the call is over.
pub(crate) struct Pass {
    room: Arc<Room>,
    runtime: Arc<dyn Runtime>,
    permit: Option<Permit>,
}

/// A place in the line; dropped, it is given up.
struct Seat {
    room: Arc<Room>,
    runtime: Arc<dyn Runtime>,
    kind: Kind,
    deadline: Option<Duration>,
    overdue: Duration,
    ticket: Option<Ticket>,
    /// The wait in progress and its end.
    sleep: Option<(Duration, Sleep)>,
    /// The end of the last wait that is over.
    slept_until: Duration,
}

impl Gate {
    /// Gates that are all open.
    #[must_use]
    pub fn new() -> Self {
        Self::with(false, MAX_SERVICES, Sharing::All)
    }

    /// After each pause one call goes ahead, and the others 100 ms later if it was not refused. Default: off. Call it
    /// before the handle is cloned.
    #[must_use]
    pub fn head_start(self, head_start: bool) -> Self {
        Self::with(head_start, self.0.max_services, self.0.sharing.clone())
    }

    /// How many services are kept at most; 0 counts as 1. Call it before the handle is cloned.
    #[must_use]
    pub fn max_services(self, max_services: usize) -> Self {
        Self::with(self.0.head_start, max_services, self.0.sharing.clone())
    }

    /// A gate for each credential at a host, for clients that call with several: of the headers `authorization`,
    /// `x-api-key`, `api-key` and `x-goog-api-key` a hash is kept. Default: a gate for each host and port. Call it before
    /// the handle is cloned.
    #[must_use]
    pub fn per_credential(self) -> Self {
        Self::with(self.0.head_start, self.0.max_services, Sharing::Credential)
    }

    /// A gate for each text that the function gives at a host, such as the name of a model. The text is hashed. Call it
    /// before the handle is cloned.
    #[must_use]
    pub fn key_by(self, key: impl Fn(&GatedCall<'_>) -> String + Send + Sync + 'static) -> Self {
        let sharing = Sharing::By(Arc::new(key));
        Self::with(self.0.head_start, self.0.max_services, sharing)
    }

    /// The name of a call's gate.
    pub(crate) fn key(&self, call: &GatedCall<'_>) -> Arc<str> {
        self.0.sharing.key(call)
    }

    fn with(head_start: bool, max_services: usize, sharing: Sharing) -> Self {
        Self(Arc::new(Shared {
            rooms: Mutex::default(),
            head_start,
            max_services,
            sharing,
        }))
    }

    /// Waits until a call to this service may be sent; says by `on_wait` when it begins to.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it leaves its place in the line to the next.
    pub(crate) async fn pass(
        &self,
        service: &str,
        kind: Kind,
        patience: Patience,
        runtime: &Arc<dyn Runtime>,
        on_wait: impl FnOnce() + Send,
    ) -> Passed {
        let started = runtime.now();
        let room = self.room(service, started);
        if room.in_flight() > 0 {
            others_first().await;
        }
        let mut seat = Seat {
            room,
            runtime: Arc::clone(runtime),
            kind,
            deadline: patience.deadline,
            overdue: started.saturating_add(patience.at_gate),
            ticket: None,
            sleep: None,
            slept_until: Duration::ZERO,
        };
        let mut on_wait = Some(on_wait);
        let pass = poll_fn(|cx| {
            let pass = seat.poll(cx);
            if let Some(on_wait) = on_wait.take_if(|_| pass.is_pending()) {
                on_wait();
            }
            pass
        })
        .await;
        let waited = seat.now().saturating_sub(started);
        Passed { pass, waited }
    }

    fn room(&self, service: &str, now: Duration) -> Arc<Room> {
        let mut rooms = self.0.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.get(service, self.0.max_services, self.0.head_start, now)
    }
}

impl Pass {
    /// The call was refused with 429, and a pause was asked for.
    pub(crate) fn refused(mut self, asked: Duration, quota: Option<Quota>) {
        self.give_back(|room, permit, now| {
            room.change(now, |queue| queue.refused(now, permit, asked, quota));
        });
    }

    /// The call has succeeded.
    pub(crate) fn succeeded(mut self, quota: Option<Quota>) {
        self.give_back(|room, permit, now| {
            room.change(now, |queue| queue.succeeded(now, permit, quota));
        });
    }

    /// The call was answered in another way.
    pub(crate) fn answered(mut self, quota: Option<Quota>) {
        self.give_back(|room, permit, now| {
            room.change(now, |queue| queue.ended(now, permit, quota));
        });
    }

    fn give_back(&mut self, tell: impl FnOnce(&Room, &Permit, Duration)) {
        if let Some(permit) = self.permit.take() {
            tell(&self.room, &permit, self.runtime.now());
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.give_back(|room, permit, now| {
            room.change(now, |queue| queue.ended(now, permit, None));
        });
    }
}

impl Seat {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Pass>> {
        loop {
            let now = self.now();
            if self.deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(None);
            }
            let look = Look {
                now,
                random: self.runtime.moment().random,
                overdue: self.overdue <= now,
            };
            let look_at = match self.room.look(self.ticket, self.kind, look, cx.waker()) {
                Entry::Go(permit) => {
                    self.ticket = None;
                    return Poll::Ready(Some(Pass {
                        room: Arc::clone(&self.room),
                        runtime: Arc::clone(&self.runtime),
                        permit: Some(permit),
                    }));
                }
                Entry::Wait { ticket, look_at } => {
                    self.ticket = Some(ticket);
                    look_at
                }
            };
            if self.sleep_until(look_at, look, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn sleep_until(&mut self, look_at: Duration, look: Look, cx: &mut Context<'_>) -> Poll<()> {
        let overdue = Some(self.overdue).filter(|_| !look.overdue);
        let ends = [overdue, self.deadline];
        let until = ends.into_iter().flatten().fold(look_at, Duration::min);
        let begun = self.sleep.take().filter(|(end, _)| *end == until);
        let (_, sleep) = self.sleep.insert(begun.unwrap_or_else(|| {
            let length = until.saturating_sub(look.now);
            (until, self.runtime.sleep(length))
        }));
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        self.slept_until = until;
        Poll::Ready(())
    }

    /// A wait that is over has passed, also on a clock that stands still.
    fn now(&self) -> Duration {
        self.runtime.now().max(self.slept_until)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.room.leave(ticket, self.runtime.now());
        }
    }
}

/// Lets everybody go first who is ready: their answers may be about to close the gate.
async fn others_first() {
    let mut waited = false;
    poll_fn(|cx| match std::mem::replace(&mut waited, true) {
        true => Poll::Ready(()),
        false => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("head_start", &self.0.head_start)
            .field("max_services", &self.0.max_services)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass")
            .field("permit", &self.permit)
            .finish_non_exhaustive()
    }
}
