//! The copies of one request that a layer below its attempt sends: if they may be sent, which gates they pass, and what
//! their responses mean.

use super::asked::AttemptTerms;
use crate::exchange::engine::Engine;
use crate::exchange::gates::HeldGates;
use crate::exchange::head::Head;
use crate::gate::{GateKey, GateQuota};
use crate::policy::ext::PolicyExt;
use crate::policy::session::ext::SessionExt;
use crate::policy::{Class, Outcome, RequestFacts, RequestLine, RetryOverride, RetrySession};
use crate::route::Route;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// The judge of the copies of one request.
pub struct CopyJudge {
    engine: Arc<Engine>,
    route: Arc<Route>,
    gate: Option<GateKey>,
    request: RequestLine,
    session: RetrySession,
    is_wanted: bool,
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
    pub(crate) quota: Option<GateQuota>,
}

impl CopyJudge {
    /// Creates the judge of a request with this head, whose body can be copied.
    #[must_use]
    pub fn new(terms: &AttemptTerms, head: &impl Head) -> Self {
        let (engine, route) = (Arc::clone(&terms.engine), Arc::clone(&terms.route));
        let policy = route.policy();
        let keyed = head.has_own_key(policy);
        let request = head.line().keyed(keyed);
        let session = policy.session(head.facts().keyed(keyed), engine.runtime.now());
        let mut session = match &terms.overrides {
            Some(own) => session.with_override(own),
            None => session,
        };
        session.set_request(Some(head.method().clone()), None);
        let overrides = terms.overrides.as_ref();
        Self {
            is_wanted: overrides.is_none_or(RetryOverride::may_hedge),
            gate: terms.gate_key,
            request,
            session,
            engine,
            route,
        }
    }

    /// Returns `true` if a copy may be sent before the outcome of the first is known: if the policy's
    /// [`Methods`](crate::Methods), the request's own settings and its facts allow it. `may_follow` is `true` if the
    /// client follows redirects itself: one that nobody marks may lead to another server, where the key of a request
    /// does not hold.
    #[must_use]
    pub fn may_copy(&self, may_follow: bool) -> bool {
        let is_redirected = may_follow && self.engine.redirects.are_unknown();
        let by_method = RequestFacts::of(self.request.method(), &HeaderMap::new());
        let is_safe = !is_redirected || by_method.is_idempotent();
        self.is_wanted && is_safe && self.session.may_send_twice()
    }

    /// Takes a place at each gate of the request for one copy. Returns `None` if one of them does not admit it at once.
    #[must_use]
    pub fn enter_gates(&self) -> Option<HeldGates> {
        let at_once = self.route.policy().obeys_quotas_at_once();
        HeldGates::enter(&self.engine, (self.gate, &self.request), at_once)
    }

    /// Judges the result of a copy by the head of its response; an error has none. Returns also what its gate is to
    /// know of it, if that counts it as a refusal.
    #[must_use]
    pub fn judge(&self, head: Option<(StatusCode, &HeaderMap)>) -> (CopyEnd, Option<CopyRefusal>) {
        let Some((status, headers)) = head else {
            return (CopyEnd::Failed, None);
        };
        let request = || Some(self.request.clone());
        if self.route.succeeds(status, headers, request).is_ok() {
            return (CopyEnd::Success, None);
        }
        let outcome = Outcome::response(status, headers).for_request(Some(&self.request));
        let outcome = self.route.policy().classify(outcome);
        let moment = self.engine.runtime.moment();
        let is_free = outcome.server_delay(moment.wall).is_none();
        match outcome.class() {
            Class::Success => (CopyEnd::Success, None),
            Class::Permanent => (CopyEnd::Permanent, None),
            Class::Transient if is_free => (CopyEnd::Failed, None),
            _ => {
                let refusal = self.session.refusal(&outcome, moment);
                let quota = self.route.quota(&outcome, moment);
                let refusal = refusal.map(|refusal| CopyRefusal {
                    asked: refusal.asked,
                    quota,
                });
                (CopyEnd::Refused, refusal)
            }
        }
    }
}
