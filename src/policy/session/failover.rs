//! Another service that a request goes on at: whether it may, and what it must not take along.

use super::RetrySession;
use super::by_rules::Case;
use crate::policy::decision::{Cost, DelaySource, RetryPlan};
use crate::policy::outcome::Outcome;
use crate::policy::rules::Failover;
use crate::policy::stop_reason::StopReason;
use crate::policy::{Methods, RetryPolicy};
use http::{HeaderMap, HeaderName};
use std::sync::Arc;
use std::time::Duration;

/// Where a service is, seen from where the request is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Same,
    Other,
}

impl RetrySession {
    /// Says at which services the request can go on; before that, at none.
    pub(crate) fn set_servers(&mut self, servers: Vec<(Arc<str>, Server)>) {
        self.servers = Some(servers);
    }

    pub(crate) fn knows_servers(&self) -> bool {
        self.servers.is_some()
    }

    /// What must not come to another server, besides what never does.
    pub(crate) fn credentials(&self) -> &[HeaderName] {
        &self.policy_by(self.by).0.rules.credentials
    }

    pub(super) fn plan_failover(
        &self,
        to: &Failover,
        set: Option<&Arc<HeaderMap>>,
        case: &Case<'_>,
    ) -> Result<RetryPlan, StopReason> {
        let server = self.server_of(&to.service);
        let server = server.ok_or(StopReason::NotRetryable)?;
        self.check_resend(case)?;
        let known_there = to.same_keys || server == Server::Same;
        let twice = !known_there && self.is_in_doubt(case.outcome);
        if twice && !self.is_safe_anywhere(case.policy) {
            return Err(match self.counts.in_doubt {
                true => StopReason::NotIdempotent,
                false => case.outcome.why_in_doubt(),
            });
        }
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), case)?;
        let mut plan = self.resend(delay, Cost::Nothing, case);
        let additions = plan.add();
        additions.failover = Some(Arc::clone(&to.service));
        additions.set = set.cloned();
        Ok(plan)
    }

    /// Whether a server may have processed this attempt or one before it.
    pub(super) fn is_in_doubt(&self, outcome: &Outcome<'_>) -> bool {
        self.counts.in_doubt || outcome.is_in_doubt()
    }

    fn server_of(&self, service: &str) -> Option<Server> {
        let mut servers = self.servers.iter().flatten();
        let (_, server) = servers.find(|(name, _)| **name == *service)?;
        Some(*server)
    }

    /// Whether it does no harm if two servers process the request. What makes it the same request to one of them, a key
    /// or its caller's word, is not known to the other; what its method or the policy says holds everywhere.
    fn is_safe_anywhere(&self, policy: &RetryPolicy) -> bool {
        let by_nature = self.facts.is_idempotent_by_method() || policy.0.methods == Methods::All;
        self.own.idempotent != Some(false) && by_nature
    }
}
