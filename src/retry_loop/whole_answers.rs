//! Answers that are read to their end within their attempt.

use super::reading::{Found, Needs};
use super::time_limit::Limit;
use super::{Outcomes, Progress, Saved, Step, Transport};
use crate::error::AttemptTimeout;
use crate::policy::{BrokenAnswer, Class, ErrorBody, Inspected, Outcome, has_an_end};
use crate::runtime::Sleep;
use std::future::pending;
use std::time::Duration;

impl Progress {
    /// Returns `true` if an outcome is an answer, a success as far as is known, that is read to its end before it counts as one;
    /// or only watched as its caller reads it, if it is too long for that.
    pub(super) fn reads_whole<T: Transport>(
        &self,
        result: &Outcomes<T>,
        known: &Outcome<'_>,
    ) -> bool {
        if self.session.whole_answers() == 0 || known.class() != Class::Success {
            return false;
        }
        let head = result.as_ref().ok().and_then(T::head);
        head.is_some_and(|(status, headers)| has_an_end(status, headers))
    }

    /// Reads an answer to its end, as far as it may.
    ///
    /// # Errors
    ///
    /// What follows where the answer has broken, or its attempt's time is up.
    pub(super) async fn read_whole<T: Transport>(
        &mut self,
        result: Outcomes<T>,
        saved: Option<Box<Saved<T>>>,
        limit: Option<Limit>,
    ) -> Result<(Outcomes<T>, Option<Box<Saved<T>>>), Step<T>> {
        let runtime = &self.engine.runtime;
        let left = limit.map(|limit| limit.left(runtime.now()));
        // A head may have been waited for past the attempt's limit where nothing could have reported a timeout.
        let too_late =
            left == Some(Duration::ZERO) && T::cut(AttemptTimeout::new(Duration::ZERO)).is_none();
        let Ok(response) = result else {
            return Ok((result, saved));
        };
        let time: Sleep = match left {
            Some(left) => runtime.sleep(left),
            None => Box::pin(pending()),
        };
        let bytes = if too_late {
            0
        } else {
            self.session.whole_answers()
        };
        let policy = self.session.policy();
        let (response, filled) = T::fill(response, policy, bytes, time).await;
        match filled {
            Ok(Inspected::TimeIsUp) => Err(self.too_late(response, saved, limit).await),
            Ok(_) => Ok((Ok(response), saved)),
            Err(broken) => Err(self.broke(response, saved, &broken).await),
        }
    }

    /// What follows from an answer that has broken: its error is judged as that of an attempt, and the caller gets what
    /// came before it, if no other attempt follows.
    async fn broke<T: Transport>(
        &mut self,
        response: T::Response,
        saved: Option<Box<Saved<T>>>,
        broken: &BrokenAnswer,
    ) -> Step<T> {
        let request = self.session.request();
        let outcome = broken.outcome.about(request.as_deref());
        let (known, needs) = self.needs(outcome, None);
        let found = match needs {
            Needs::ErrorBody => Found::ErrorBody(ErrorBody::of_words(&broken.words)),
            Needs::Nothing | Needs::Stream(_) => Found::Nothing,
        };
        self.step(known, (Ok(response), found), saved).await
    }

    /// What follows from an answer that was not whole in its attempt's time. The caller gets it as it is, if no other attempt
    /// follows and nothing can report a timeout.
    async fn too_late<T: Transport>(
        &mut self,
        response: T::Response,
        saved: Option<Box<Saved<T>>>,
        limit: Option<Limit>,
    ) -> Step<T> {
        let most = limit.map_or(Duration::ZERO, |limit| limit.most);
        let late = self.late_answer(most);
        match Box::pin(self.time_is_up::<T>(late, saved)).await {
            Ok(step) => step,
            Err((stop, _)) => Step::Stop(Ok(response), stop),
        }
    }
}
