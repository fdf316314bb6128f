//! The end of a request: its report, and what the caller gets.

use super::Progress;
use crate::policy::{CannedResponse, OnExhausted, Stop, StopReason};
use crate::report::{DeadLetter, RetryReport};

/// What the caller gets instead of the last outcome.
pub(super) enum LastWord {
    Outcome,
    Fail(RetryReport),
    /// As if from this URL.
    Respond(CannedResponse, String),
}

impl Progress {
    /// The end: the report, if it belongs into the response, and what the caller gets.
    pub(super) fn stop(mut self, stop: Stop) -> (Option<RetryReport>, LastWord) {
        let now = self.engine.runtime.now();
        let tokens_left = self.budget.tokens(now);
        let on_exhausted = match stop.why {
            StopReason::Failed => OnExhausted::Fail,
            _ => self.session.on_exhausted(stop).clone(),
        };
        if matches!(on_exhausted, OnExhausted::Respond(_)) {
            self.recorder.responds_itself();
        }
        let service = self.recorder.service();
        let report = self.recorder.stopped(stop.why, now, tokens_left);
        let last_word = match (on_exhausted, &report, self.head) {
            (OnExhausted::Fail, Some(report), _) => LastWord::Fail(report.clone()),
            (OnExhausted::Respond(canned), _, Some(head)) => LastWord::Respond(canned, head.uri),
            (OnExhausted::DeadLetter { name }, Some(report), Some(head)) => {
                if let Some(observer) = self.route.dead_letters.get(&name) {
                    observer.on_dead_letter(&DeadLetter {
                        service: &service,
                        method: &head.method,
                        uri: &head.uri,
                        headers: &head.headers,
                        report,
                    });
                }
                LastWord::Outcome
            }
            _ => LastWord::Outcome,
        };
        (report, last_word)
    }
}
