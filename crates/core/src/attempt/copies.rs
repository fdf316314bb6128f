//! The copies of one request that a layer below its attempt sends: if they may be sent, which gates they pass, and what
//! their responses mean.

use super::terms::AttemptTerms;
use super::{AttemptHandle, mark};
use crate::budget::{RetryBudget, TakenTokens};
use crate::exchange::gates::PermitGuard;
use crate::exchange::head::Head;
use crate::exchange::settings::RequestSettings;
use crate::gate::state::CallEnd;
use crate::policy::ext::PolicyExt;
use crate::policy::session::ext::SessionExt;
use crate::policy::{Class, Decimal, Outcome, Quota, RequestFacts, RetryOverride, RetrySession};
use crate::report::{RetryEventKind, Subject};
use crate::route::RequestHead;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// The judge of the copies of one request: it knows who pays, which gates they pass, what may be sent twice, and who is
/// told.
pub struct CopyJudge {
    attempt: AttemptHandle,
    request: RequestHead<'static>,
    session: RetrySession,
    subject: Subject,
    budget: RetryBudget,
    /// The time at which the first copy was sent.
    pub started: Duration,
}

/// The meaning of a copy's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a layer must know each")]
pub enum CopyEnd {
    /// A success.
    Success,
    /// A response that no other copy would improve on, such as a 404.
    Permanent,
    /// A failure.
    Failed,
    /// A failure with which the server asks to hold back.
    Refused,
}

/// The part of a refused copy's response that concerns its gate.
#[derive(Debug, Clone, Copy)]
pub struct CopyRefusal {
    pub(crate) asked: Option<Duration>,
    pub(crate) quota: Option<Quota>,
}

impl CopyJudge {
    /// Creates the judge of a request with this head, whose body can be copied. Its first copy is sent now.
    #[must_use]
    pub fn new(attempt: &AttemptHandle, settings: &RequestSettings, head: &impl Head) -> Self {
        let AttemptTerms {
            engine,
            route,
            overrides,
            ..
        } = attempt.terms();
        let policy = route.policy();
        let keyed = head.has_own_key(policy);
        let request = head.keyed_request(policy).into_owned();
        let started = engine.runtime.now();
        let session = policy.session(head.facts().keyed(keyed), started);
        let mut session = match overrides {
            Some(own) => session.with_override(own),
            None => session,
        };
        session.set_request(Some(head.method().clone()), None);
        let subject = settings.subject(route, Some(head));
        Self {
            budget: engine.budget_of(route, || Arc::clone(&subject.service)),
            request,
            attempt: attempt.clone(),
            subject,
            started,
            session,
        }
    }

    /// Returns the name of the request's service: that of its route, or its host and port.
    #[must_use]
    pub fn service(&self) -> &Arc<str> {
        &self.subject.service
    }

    /// Returns `true` if a copy may be sent before the outcome of the first is known: if the policy's
    /// [`Methods`](crate::Methods), the request's own settings and its facts allow it. `may_follow` is `true` if the
    /// client follows redirects itself: one that nobody marks may lead to another server, where the key of a request
    /// does not hold.
    #[must_use]
    pub fn may_copy(&self, may_follow: bool) -> bool {
        let AttemptTerms {
            engine, overrides, ..
        } = self.attempt.terms();
        let is_wanted = overrides.as_ref().is_none_or(RetryOverride::may_hedge);
        let is_redirected = may_follow && engine.redirects.are_unknown();
        let by_method = |method| RequestFacts::of(method, &HeaderMap::new()).idempotent;
        let is_safe = !is_redirected || self.request.method().is_some_and(by_method);
        is_wanted && is_safe && self.session.may_send_twice()
    }

    /// Pays for the copy with this number, of which the first request is 1. Returns `None` if a gate of the request does
    /// not admit it at once, or if the budget has too few tokens.
    #[must_use]
    pub fn pay(self: &Arc<Self>, number: u32, tokens: Decimal) -> Option<PaidCopy> {
        let attempt = self.attempt.terms();
        let at_once = attempt.route.policy().obeys_quotas_at_once();
        let permits = attempt
            .engine
            .enter_gates(attempt.gate_key, &self.request, at_once)?;
        Some(PaidCopy {
            tokens: Some(self.budget.take(tokens, self.now())?),
            judge: Arc::clone(self),
            number,
            permits,
            sent: None,
        })
    }

    /// Counts a success, if no retry layer does.
    pub fn deposit(&self) {
        if self.attempt.terms().is_alone {
            self.budget.deposit(self.now());
        }
    }

    fn now(&self) -> Duration {
        self.attempt.terms().engine.runtime.now()
    }

    fn tell(&self, at: Duration, kind: RetryEventKind<'_>) {
        let AttemptTerms { engine, call, .. } = self.attempt.terms();
        self.subject
            .emit(&engine.observers, (*call, None), at, kind);
    }

    /// Judges the result of a copy by the head of its response; an error has none. Returns also what its gate is to
    /// know of it, if that counts it as a refusal.
    #[must_use]
    pub fn judge(&self, head: Option<(StatusCode, &HeaderMap)>) -> (CopyEnd, Option<CopyRefusal>) {
        let Some((status, headers)) = head else {
            return (CopyEnd::Failed, None);
        };
        let AttemptTerms { engine, route, .. } = self.attempt.terms();
        let outcome = Outcome::response(status, headers).of_request(&self.request);
        let accepts = || route.accepts(&outcome);
        if route.succeeds(status, accepts).is_ok() {
            return (CopyEnd::Success, None);
        }
        let outcome = route.policy().classify(outcome);
        let moment = engine.runtime.moment();
        let is_free = outcome.server_delay(moment.wall).is_none();
        match outcome.class() {
            Class::Success => (CopyEnd::Success, None),
            Class::Permanent => (CopyEnd::Permanent, None),
            Class::Transient if is_free => (CopyEnd::Failed, None),
            _ => {
                let refusal = self.session.refusal(&outcome, moment);
                let quota = route.quota(&outcome, moment);
                let refusal = refusal.map(|refusal| CopyRefusal {
                    asked: refusal.asked,
                    quota,
                });
                (CopyEnd::Refused, refusal)
            }
        }
    }
}

/// A copy that is paid for: it holds tokens of the budget and a place at each gate of the request. Dropped unsent, it gives
/// all of it back; dropped later, it leaves the gates.
pub struct PaidCopy {
    judge: Arc<CopyJudge>,
    number: u32,
    /// `None` once they are spent.
    tokens: Option<TakenTokens>,
    permits: Vec<PermitGuard>,
    sent: Option<Duration>,
}

impl PaidCopy {
    /// Spends the tokens, and tells the attempt and the observers. Returns the time. Call it right before the copy is
    /// sent.
    pub fn send(&mut self) -> Duration {
        if let Some(tokens) = self.tokens.take() {
            tokens.spend();
        }
        let judge = &self.judge;
        let now = judge.now();
        self.sent = Some(now);
        judge.attempt.copy_sent();
        // Also for an outer attempt, which may have no handle here.
        mark::sent();
        let kind = RetryEventKind::HedgeSent {
            attempt: judge.attempt.terms().number,
            copy: self.number,
            after: now.saturating_sub(judge.started),
        };
        judge.tell(now, kind);
        now
    }

    /// Returns the time at which it was sent, if it was.
    #[must_use]
    pub fn sent(&self) -> Option<Duration> {
        self.sent
    }

    /// Tells the observers that the response to this copy goes to the caller, or that it does not.
    pub fn tell(&self, has_won: bool) {
        let judge = &self.judge;
        let now = judge.now();
        let (copy, after) = (self.number, now.saturating_sub(judge.started));
        let attempt = judge.attempt.terms().number;
        let kind = if has_won {
            RetryEventKind::HedgeWon {
                attempt,
                copy,
                after,
            }
        } else {
            RetryEventKind::HedgeLost {
                attempt,
                copy,
                after,
            }
        };
        judge.tell(now, kind);
    }

    /// Reports a refusal to the service's gate, in the place of this copy's end.
    pub fn refused(mut self, refusal: CopyRefusal) {
        if let Some(of_service) = self.permits.first_mut() {
            of_service.end(CallEnd::Refused(refusal.asked), refusal.quota);
        }
    }
}
