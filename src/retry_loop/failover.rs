//! A request that goes on at another service.

use super::Progress;
use crate::budget::RetryBudget;
use crate::policy::{RetryPlan, RetrySession, Server};
use crate::report::Subject;
use crate::route::{Head, Rebase, Route, is_same_server};
use std::borrow::Cow;
use std::sync::Arc;

/// The place that a request comes from.
pub(super) struct Place {
    route: Arc<Route>,
    session: RetrySession,
    budget: RetryBudget,
    subject: Subject,
}

impl Progress {
    /// Goes on at another service, if the plan names one; gives the way there, and where it comes from.
    pub(super) fn moves_to(&mut self, plan: &RetryPlan) -> Option<(Rebase, Place)> {
        let service = plan.failover()?;
        let destination = self.route.destinations.get(service)?.clone();
        let head = self.head.as_mut()?;
        head.credentials
            .extend_from_slice(self.session.credentials());
        let way = Rebase {
            credentials: head.credentials.clone(),
            ..self.route.way_to(&destination)
        };
        let at = way.of(head.at.as_ref()?)?;
        let route = destination.service.choose(
            &Head {
                method: Some(&head.method),
                scheme: at.scheme_str(),
                authority: at.authority().map(|at| Cow::Borrowed(at.as_str())),
                path: at.path(),
            },
            None,
        );
        head.at = Some(at);
        let now = self.engine.runtime.now();
        let session = self.session.moved_to(route.policy.clone(), now);
        let name = route.service.clone().unwrap_or_default();
        let budget = self.engine.budget_of(&route, || Arc::clone(&name));
        let before = Place {
            session: std::mem::replace(&mut self.session, session),
            budget: std::mem::replace(&mut self.budget, budget),
            subject: self.recorder.moved_to(name, &way.to),
            route: std::mem::replace(&mut self.route, route),
        };
        Some((way, before))
    }

    /// A request that was not sent elsewhere ends where it was.
    pub(super) fn stays_at(&mut self, place: Option<Place>) {
        let Some(place) = place else {
            return;
        };
        self.session = place.session;
        self.budget = place.budget;
        self.recorder.goes_back_to(place.subject);
        self.route = place.route;
    }

    /// Tells the session where the services are that it may send the request to.
    pub(super) fn look_around(&mut self) {
        if !self.route.destinations.is_empty() && !self.session.knows_servers() {
            self.session.set_servers(self.servers());
        }
    }

    /// Where the services are that the request can go on at.
    fn servers(&self) -> Vec<(Arc<str>, Server)> {
        let head = self.head.as_ref();
        let Some(at) = head.and_then(|head| head.at.as_ref()) else {
            return Vec::new();
        };
        let found = self.route.destinations.iter().filter_map(|(name, there)| {
            self.route.way_to(there).of(at)?;
            let server = match is_same_server(at, &there.base) {
                true => Server::Same,
                false => Server::Other,
            };
            Some((Arc::clone(name), server))
        });
        found.collect()
    }
}
