//! What an outcome is judged by: its head, and of its body no more than somebody needs.

use super::{Judging, Progress, Transport};
use crate::evidence;
use crate::policy::{ErrorKind, Evidence, HoldStreams, Look, LookAtStream, Outcome, Verdict};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long an error body is read.
const EVIDENCE_TIME: Duration = Duration::from_secs(2);

/// What must be read of an outcome before it can be judged.
pub(super) enum Needs {
    Nothing,
    Evidence,
    Stream(Box<dyn LookAtStream>),
}

/// What was found in an outcome beyond its head.
pub(super) enum Found {
    Nothing,
    Evidence(Evidence),
    /// A stream that turned out to be no answer.
    Verdict(Verdict),
}

/// Notes when the first event of a stream has come.
struct Noting {
    look: Box<dyn LookAtStream>,
    begun: Arc<AtomicBool>,
}

impl Look for Noting {
    fn see(&mut self, data: &[u8]) -> ControlFlow<()> {
        let seen = self.look.see(data);
        self.begun.store(self.look.has_event(), Ordering::Relaxed);
        seen
    }
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
                return (outcome.without_head(), Needs::Evidence);
            }
            None => policy.classify(outcome),
        };
        if self.session.needs_evidence(&judged) {
            return (outcome.without_head(), Needs::Evidence);
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

    /// Holds a streamed answer back until its first output, or until it turns out to be a failure.
    pub(super) async fn hold<T: Transport>(
        &self,
        result: Result<T::Response, T::Error>,
        look: Box<dyn LookAtStream>,
    ) -> (Result<T::Response, T::Error>, Found) {
        let Ok(response) = result else {
            return (result, Found::Nothing);
        };
        let runtime = &self.engine.runtime;
        let streams = self.session.policy().streams();
        let first = streams.and_then(HoldStreams::first_event_timeout);
        let mut first = runtime.sleep(first.unwrap_or(Duration::MAX));
        let mut last = runtime.sleep(self.time_left().unwrap_or(Duration::MAX));
        let begun = Arc::new(AtomicBool::new(false));
        let mut look = Noting {
            look,
            begun: Arc::clone(&begun),
        };
        // Only until the first event: from then on the caller would wait for the output as well.
        let time = Box::pin(poll_fn(move |cx| match begun.load(Ordering::Relaxed) {
            false => first.as_mut().poll(cx),
            true => last.as_mut().poll(cx),
        }));
        let (response, looked) = T::look(response, &mut look, time).await;
        let found = look.look.verdict(looked);
        (Ok(response), found.map_or(Found::Nothing, Found::Verdict))
    }

    /// Looks into an outcome as far as its rules may want to know.
    pub(super) async fn read<T: Transport>(
        &self,
        result: Result<T::Response, T::Error>,
        kind: Option<ErrorKind>,
    ) -> (Result<T::Response, T::Error>, Found) {
        match result {
            Ok(response) => {
                let left = self.time_left().unwrap_or(Duration::MAX);
                let time = self.engine.runtime.sleep(EVIDENCE_TIME.min(left));
                let mut start = evidence::Start::default();
                let (response, _) = T::look(response, &mut start, time).await;
                (Ok(response), Found::Evidence(Evidence::read(start.bytes())))
            }
            Err(error) => {
                let words = T::words(self.session.policy(), &error, kind);
                (Err(error), Found::Evidence(Evidence::of_words(&words)))
            }
        }
    }

    pub(super) fn judging<'a, S>(&'a self, spare: Option<&'a S>) -> Judging<'a, S> {
        Judging {
            policy: self.session.policy(),
            idempotent: self.session.is_idempotent(),
            spare,
        }
    }

    /// The outcome with what was found. Only evidence makes the policy's own classifier judge once more.
    pub(super) fn judged<'a>(&self, known: Outcome<'a>, found: &'a Found) -> Outcome<'a> {
        let policy = self.session.policy();
        match found {
            Found::Nothing => known,
            Found::Evidence(evidence) => policy.classify(known.with_evidence(evidence)),
            Found::Verdict(verdict) => known.judged(*verdict),
        }
    }
}
