//! The parts of a session that adapters set and read.

use super::RetrySession;
use crate::policy::{Moment, Outcome};
use crate::request_head::RequestHead;
use crate::sealed::Sealed;
use http::{HeaderName, Method};
use std::sync::Arc;

/// The parts of a [`RetrySession`] that adapters set and read.
pub trait SessionExt: Sealed {
    /// Sets the request's method, and the request that outcomes belong to, for classifiers and rules that look at it.
    fn set_request(&mut self, method: Option<Method>, request: Option<Arc<RequestHead<'static>>>);

    /// Returns the place of the list, rule or row for which [`RetrySession::plan`] allows no other attempt, such as
    /// `services.files.retry.stop_on`, or `None` if it is due to none.
    #[must_use]
    fn refused_by(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Arc<str>>;

    /// Returns the headers that are withheld from another server, besides those that always are.
    #[must_use]
    fn credentials(&self) -> &[HeaderName];
}

impl Sealed for RetrySession {}

impl SessionExt for RetrySession {
    #[inline]
    fn set_request(&mut self, method: Option<Method>, request: Option<Arc<RequestHead<'static>>>) {
        self.method = method;
        self.request = request;
    }

    fn refused_by(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Arc<str>> {
        let stop = self.plan_or_stop(outcome, moment).err()?;
        self.cause_of(stop)
    }

    fn credentials(&self) -> &[HeaderName] {
        &self.policy_by(self.retrying_by).0.rules.credentials
    }
}
