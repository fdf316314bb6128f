//! How far one request has come, and the right to send its next attempt.

use crate::budget::RetryBudget;
use crate::engine::Engine;
use crate::gate::{End, GateKey, Place, Quota};
use crate::nested::AttemptMark;
use crate::policy::{Attempt, Redirected, RetrySession};
use crate::redirects::{Trail, Watch};
use crate::report::{AttemptSpan, ReportRecorder};
use crate::route::Route;
use http::{HeaderMap, HeaderName, Method, Uri};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// How far a request has come.
pub(crate) struct Progress {
    pub(crate) engine: Arc<Engine>,
    pub(crate) route: Arc<Route>,
    pub(crate) session: RetrySession,
    pub(crate) budget: RetryBudget,
    pub(crate) recorder: ReportRecorder,
    /// Kept only where the policy may need it in the end.
    pub(crate) head: Option<Box<RequestHead>>,
    /// Who shares a rate limit with this request.
    pub(crate) gate_key: GateKey,
    /// The gate has let the attempt through that is under way.
    pub(crate) admission: Option<Admission>,
    /// And so have those of narrower limits.
    pub(crate) narrower: Vec<(GateKey, Admission)>,
    /// What was seen of redirects in the last attempt.
    pub(crate) mark: AttemptMark,
}

/// A request's head, for when nothing else is left of it.
pub(crate) struct RequestHead {
    pub(crate) method: Method,
    pub(crate) uri: String,
    /// Where the request goes now, if that is a URI.
    pub(crate) at: Option<Uri>,
    pub(crate) headers: HeaderMap,
    /// What the policies call a credential by which it has gone so far.
    pub(crate) credentials: Vec<HeaderName>,
}

impl Progress {
    /// What is left of the deadline, if there is one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let now = self.engine.runtime.now();
        let deadline = self.session.deadline();
        deadline.map(|deadline| deadline.saturating_sub(now))
    }

    /// Whether an attempt with this mark and this trail was redirected.
    pub(super) fn redirected(&self, mark: &AttemptMark, trail: Trail<'_>) -> Redirected {
        let watch = Watch {
            redirects: &self.engine.redirects,
            layer: self.engine.id(),
            mark,
        };
        watch.redirected(self.session.is_idempotent_by_itself(), trail)
    }

    pub(super) fn attempt_starts(&mut self, now: Duration) -> (AttemptSpan, Attempt) {
        let span = self.recorder.attempt_started(now);
        let limit = self.session.attempt_limit(now);
        (span, Attempt::new(self.recorder.number(), limit))
    }
}

/// The right to send one attempt; dropped, it tells the gate that the attempt is over.
pub(crate) struct Admission<E: Deref<Target = Engine> = Arc<Engine>> {
    pub(crate) engine: E,
    /// Nothing where there is no gate, or none that has a place, and once the gate has heard of the attempt.
    place: Option<Place>,
}

impl<E: Deref<Target = Engine>> Admission<E> {
    #[inline]
    pub(crate) fn new(engine: E, place: Option<Place>) -> Self {
        Self { engine, place }
    }

    /// Whether the gate listens to what a success says of a quota.
    #[inline]
    pub(crate) fn hears_quotas(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.hears_quotas)
    }

    /// The attempt has succeeded, and its answer says nothing of a quota.
    #[inline(always)]
    pub(crate) fn succeeds(&mut self) {
        if let Some(place) = &self.place {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.succeeds(place, &**runtime);
            self.place = None;
        }
    }

    /// The attempt has come to its end.
    #[inline(always)]
    pub(crate) fn ends(&mut self, end: End, quota: Option<Quota>) {
        if let Some(place) = &self.place {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.end(place, end, quota, &**runtime);
            self.place = None;
        }
    }

    /// The same right in the hands of the loop; nothing where no gate is to hear of the attempt.
    pub(crate) fn held_by(&mut self, engine: Arc<Engine>) -> Option<Admission> {
        let place = self.place.take()?;
        Some(Admission::new(engine, Some(place)))
    }
}

impl<E: Deref<Target = Engine>> Drop for Admission<E> {
    fn drop(&mut self) {
        self.ends(End::Other, None);
    }
}
