//! What an outcome is judged by: its head, and of its body no more than somebody needs.

use super::time_limit::Limit;
use super::{Outcomes, Progress, Saved, Transport};
use crate::policy::{
    BodyProbe, ErrorBody, ErrorKind, Inspected, Outcome, RequestLine, StreamHolder, Verdict,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// How much of an error body is read.
const MOST_BYTES: usize = 64 * 1024;

/// How long an error body is read.
const EVIDENCE_TIME: Duration = Duration::from_secs(2);

/// What must be read of an outcome before it can be judged.
pub(super) enum Needs {
    Nothing,
    ErrorBody,
    Stream(Box<dyn BodyProbe>),
}

/// What was found in an outcome beyond its head.
pub(super) enum Found {
    Nothing,
    ErrorBody(ErrorBody),
    /// A stream that turned out to be no answer.
    Verdict(Verdict),
}

impl Progress {
    /// What must be read of an outcome before it can be judged, and what is known of it until then: what it is judged to be
    /// if nothing must be read.
    pub(super) fn needs(
        &self,
        outcome: Outcome<'_>,
        said: Option<Verdict>,
    ) -> (Outcome<'static>, Needs) {
        let policy = self.session.policy();
        let judged = match said {
            Some(said) => outcome.judged(said),
            None if policy.reads_body(&outcome) => {
                return (outcome.without_head(), Needs::ErrorBody);
            }
            None => policy.classify(outcome),
        };
        if self.session.needs_evidence(&judged) {
            return (outcome.without_head(), Needs::ErrorBody);
        }
        let streams = policy
            .streams()
            .filter(|_| self.session.may_retry_a_success());
        let needs = match streams.and_then(|streams| streams.hold(&judged)) {
            Some(look) => Needs::Stream(look),
            None => Needs::Nothing,
        };
        (judged.without_head(), needs)
    }

    /// Holds a streamed answer back until its first output, or until it turns out to be a failure: one that has shown no
    /// output in its time, or by the end of its attempt, has timed out.
    pub(super) async fn hold<T: Transport>(
        &self,
        result: Outcomes<T>,
        mut look: Box<dyn BodyProbe>,
        limit: Option<Limit>,
    ) -> (Outcomes<T>, Found) {
        let Ok(response) = result else {
            return (result, Found::Nothing);
        };
        let runtime = &self.engine.runtime;
        let left = limit.map(|limit| limit.left(runtime.now()));
        if left == Some(Duration::ZERO) {
            // A head that was waited for past the attempt's limit, since nothing could have reported a timeout.
            return (Ok(response), Found::Nothing);
        }
        let streams = self.session.policy().streams();
        let bound = streams.and_then(StreamHolder::first_event_timeout);
        let time = left.into_iter().chain(bound).min();
        let timer = runtime.sleep(time.unwrap_or(Duration::MAX));
        let (response, looked) = T::look(response, &mut |data| look.see(data), timer).await;
        let found = look.verdict(looked);
        (Ok(response), found.map_or(Found::Nothing, Found::Verdict))
    }

    /// Looks into an outcome as far as its rules may want to know.
    pub(super) async fn read<T: Transport>(
        &self,
        result: Outcomes<T>,
        kind: Option<ErrorKind>,
    ) -> (Outcomes<T>, Found) {
        match result {
            Ok(response) => {
                let left = self.time_left().unwrap_or(Duration::MAX);
                let time = self.engine.runtime.sleep(EVIDENCE_TIME.min(left));
                let mut start = Start::default();
                let (response, looked) = T::look(response, &mut |data| start.see(data), time).await;
                let body = ErrorBody::read(&start.0).cut(looked != Inspected::AtTheEnd);
                let outcome =
                    T::head(&response).map(|(status, headers)| Outcome::response(status, headers));
                let request = self.session.request();
                let outcome = outcome.map(|outcome| outcome.about(request.as_deref()));
                let policy = self.session.policy();
                let places = outcome.map_or_else(Vec::new, |outcome| policy.pointers(&outcome));
                let body = body.looked_at(&places);
                (Ok(response), Found::ErrorBody(body))
            }
            Err(error) => {
                let words = T::words(self.session.policy(), &error, kind);
                (Err(error), Found::ErrorBody(ErrorBody::of_words(&words)))
            }
        }
    }

    /// The outcome with what was found. Only evidence makes the policy's own classifier judge once more.
    pub(super) fn judged<'a>(
        &self,
        known: Outcome<'a>,
        found: &'a Found,
        request: Option<&'a RequestLine>,
    ) -> Outcome<'a> {
        let policy = self.session.policy();
        let known = known.about(request);
        match found {
            Found::Nothing => known,
            Found::ErrorBody(body) => policy.classify(known.with_body(body)),
            Found::Verdict(verdict) => known.judged(*verdict),
        }
    }

    /// What a result means by its head, after the redirects that the attempt may have followed.
    pub(super) fn unread<'a, T: Transport>(
        &self,
        transport: &T,
        (result, request): (&'a Outcomes<T>, Option<&'a RequestLine>),
        saved: Option<&Saved<T>>,
    ) -> Outcome<'a> {
        let policy = self.session.policy();
        let trail = T::trail(policy, saved, Some(result));
        let redirected = self.redirected(&self.mark, trail);
        let outcome = transport.outcome(policy, result).redirected(redirected);
        outcome.about(request)
    }
}

/// The start of a body.
#[derive(Debug, Default)]
struct Start(Vec<u8>);

impl Start {
    fn see(&mut self, data: &[u8]) -> ControlFlow<()> {
        let room = MOST_BYTES.saturating_sub(self.0.len());
        self.0.extend(data.iter().take(room));
        match self.0.len() < MOST_BYTES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}
