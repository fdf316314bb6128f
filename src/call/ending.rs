//! The end of a request: its report, and what the caller gets.

use super::client::{Client, Outcomes, OwnError};
use super::driver::State;
use crate::client::responses::Responses;
use crate::error::RequestFailed;
use crate::policy::StopReason;
use crate::policy::rules::OnExhausted;
use crate::report::{DeadLetter, RetryReport};

impl<C: Client> State<C> {
    /// Closes the report, and returns the last outcome, or what the policy puts in its place.
    pub(super) fn finish(&mut self, why: StopReason) -> Option<Outcomes<C>> {
        let now = self.engine.runtime.now();
        let tokens_left = self.budget.tokens(now);
        let ends_with = self.session.ends_with().clone();
        if matches!(ends_with, OnExhausted::Respond(_)) {
            self.recorder.responds_itself();
        }
        let service = self.recorder.service();
        let report = self.recorder.stopped(why, now, tokens_left);
        let mut result = self.result_mut().take();
        match (&ends_with, &report, &self.head) {
            (OnExhausted::Respond(canned), _, Some(head)) => {
                let canned = C::Responses::canned(canned, &head.uri);
                result = canned.map(Ok).or(result);
            }
            (OnExhausted::Fail, Some(report), _) => {
                let own = C::own_error().filter(|_| matches!(result, Some(Ok(_))));
                let failed =
                    own.map(|own| own(OwnError::Failed(RequestFailed::new(report.clone()))));
                result = failed.map(Err).or(result);
            }
            (OnExhausted::DeadLetter { name, .. }, Some(report), Some(head)) => {
                if let Some(observer) = self.route.dead_letters(name) {
                    observer.on_dead_letter(&DeadLetter::new(
                        &service,
                        &head.method,
                        &head.uri,
                        &head.headers,
                        report,
                    ));
                }
            }
            _ => {}
        }
        if let (Some(Ok(response)), Some(report)) = (&mut result, report) {
            if let Some(extensions) = C::Responses::extensions_mut(response) {
                extensions.insert::<RetryReport>(report);
            }
        }
        result
    }
}
