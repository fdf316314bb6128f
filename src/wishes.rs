//! What the HTTP adapters share: what a request asks of the retry layer, and what its result means.

use crate::engine::Engine;
use crate::failure::outcome_of;
use crate::message::{Answer, Resend, behind_redirects};
use crate::nested::is_inside;
use crate::observe::{ReportSlot, Story, Subject};
use crate::policy::{Attempt, Outcome, RequestFacts, RetryOverride, RetrySession, StopReason};
use crate::retry_loop::{Judging, Progress};
use http::Extensions;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Wishes {
    pub(crate) own: Option<RetryOverride>,
    pub(crate) slot: Option<ReportSlot>,
    pub(crate) nested: bool,
}

impl Wishes {
    pub(crate) fn of(extensions: Option<&Extensions>) -> Self {
        let own = extensions.and_then(|extensions| extensions.get::<RetryOverride>());
        let marked = extensions.is_some_and(|extensions| extensions.get::<Attempt>().is_some());
        Self {
            slot: extensions.and_then(|extensions| extensions.get()).cloned(),
            nested: (marked || is_inside()) && !own.is_some_and(|own| own.even_if_nested),
            own: own.cloned(),
        }
    }

    /// Nothing is asked for but an answer, perhaps inside of another retry layer.
    pub(crate) fn none(nested: bool) -> Self {
        Self {
            own: None,
            slot: None,
            nested,
        }
    }

    /// Whether a retry can follow the first attempt at all; if not, nothing need be kept for one.
    pub(crate) fn may_retry(&self, engine: &Engine) -> bool {
        let policy = engine.policy.max_retries();
        let own = self.own.as_ref().and_then(|own| own.max_retries);
        let off = self.own.as_ref().is_some_and(|own| own.off);
        own.unwrap_or(policy) > 0 && !off && !self.nested
    }

    /// Whether nothing is asked for but an answer.
    pub(crate) fn is_plain(&self) -> bool {
        self.own.is_none() && self.slot.is_none()
    }

    /// The start of a request's way; the request itself, or a copy, names its service.
    pub(crate) fn progress<Q: Resend>(
        &self,
        engine: Arc<Engine>,
        request: Option<&Q>,
        facts: RequestFacts,
        started: Duration,
    ) -> Progress {
        let subject = self.subject(request);
        let observers = Arc::clone(&engine.observers);
        Progress {
            session: self.session(&engine, facts, started),
            budget: engine.budget_of(|| Arc::clone(&subject.service)),
            story: Story::new(subject, observers, self.slot.clone(), started),
            engine,
        }
    }

    fn session(&self, engine: &Engine, facts: RequestFacts, started: Duration) -> RetrySession {
        let session = engine.policy.session(facts, started);
        let session = match &self.own {
            Some(own) => session.with_override(own),
            None => session,
        };
        match self.nested {
            true => session.standing_aside(StopReason::Nested),
            false => session,
        }
    }

    fn subject<Q: Resend>(&self, request: Option<&Q>) -> Subject {
        let authority = request.and_then(Q::authority);
        let authority = authority.map_or_else(Arc::default, Arc::from);
        let named = self.own.as_ref().and_then(|own| own.service.clone());
        Subject {
            service: named.unwrap_or_else(|| Arc::clone(&authority)),
            authority,
            method: request.map(|request| request.method().clone()),
        }
    }
}

/// What an HTTP attempt's result means, redirects that the client may have followed included.
pub(crate) fn http_outcome<'a, A: Answer, E: 'static, Q: Resend>(
    judging: &Judging<'_, Q>,
    result: &'a Result<A, E>,
    follows_redirects: bool,
) -> Outcome<'a> {
    let outcome = match result {
        Ok(response) => Outcome::response(response.status(), response.headers()),
        Err(error) => outcome_of(judging.policy, error),
    };
    if !follows_redirects || judging.idempotent {
        return outcome;
    }
    let final_url = result.as_ref().ok().and_then(Answer::url);
    behind_redirects(outcome, judging.spare, final_url)
}
