//! The short way of a first attempt that succeeds.

use super::Route;
use crate::policy::{Class, Outcome, RequestLine, Verdict, is_standard_success};
use http::{HeaderMap, StatusCode};

impl Route {
    /// Whether a first attempt's head is that of a success.
    ///
    /// # Errors
    ///
    /// If it is not, what the policy's own classifier has said of it, so that it is asked no second time.
    #[inline]
    pub fn succeeds(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        request: impl FnOnce() -> Option<RequestLine>,
    ) -> Result<(), Option<Verdict>> {
        match is_standard_success(status.as_u16()) {
            false => Err(None),
            true if self.policy.judges_successes() => {
                self.succeeds_by_classifier(&Outcome::response(status, headers), request)
            }
            true => Ok(()),
        }
    }

    fn succeeds_by_classifier(
        &self,
        outcome: &Outcome<'_>,
        request: impl FnOnce() -> Option<RequestLine>,
    ) -> Result<(), Option<Verdict>> {
        let request = request();
        let outcome = outcome.about(request.as_ref());
        if self.policy.reads_body(&outcome) {
            return Err(None);
        }
        match self.policy.own_verdict(&outcome) {
            Some(own) if own.class != Class::Success => Err(Some(own)),
            _ => Ok(()),
        }
    }
}
