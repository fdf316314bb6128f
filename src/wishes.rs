//! What a request's extensions and its surroundings ask of the retry layer.

use crate::engine::Engine;
use crate::nested::is_inside;
use crate::observe::{ReportSlot, Subject};
use crate::policy::{Attempt, RequestFacts, RetryOverride, RetrySession, StopReason};
use http::{Extensions, Method};
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

    /// Whether nothing is asked for but an answer.
    pub(crate) fn is_plain(&self) -> bool {
        self.own.is_none() && self.slot.is_none()
    }

    pub(crate) fn session(
        &self,
        engine: &Engine,
        facts: RequestFacts,
        started: Duration,
    ) -> RetrySession {
        let session = engine.policy.session(facts, started);
        let session = match &self.own {
            Some(own) => session.with_override(own, started),
            None => session,
        };
        match self.nested {
            true => session.standing_aside(StopReason::Nested),
            false => session,
        }
    }

    pub(crate) fn subject(&self, authority: Arc<str>, method: Option<Method>) -> Subject {
        let named = self.own.as_ref().and_then(|own| own.service.clone());
        Subject {
            service: named.unwrap_or_else(|| Arc::clone(&authority)),
            authority,
            method,
        }
    }
}
