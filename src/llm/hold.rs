//! Streamed answers that are held back until their first output.

use super::judge::judge_event;
use super::stream::{Peek, Seen};
use crate::policy::{Class, Inspect, InspectStream, Inspected, Outcome, Reach, Reason, Verdict};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use std::ops::ControlFlow;
use std::time::Duration;

/// How streamed answers (server-sent events) are held back: at most 64 KiB of them, until the first frame with output, so
/// that an error before it is an outcome like any other. After the first byte of output nothing is retried: the caller has
/// the answer, and a failure behind that byte is the stream's own, of which the report does not tell.
///
/// A stream is held for no longer than [`HoldStreams::first_event_timeout`], the policy's
/// [`attempt_timeout`](crate::RetryPolicyBuilder::attempt_timeout) counted from the start of the attempt, and the deadline
/// allow. One that has shown no output by then has timed out: it is let go and the request is sent again where a retry is
/// allowed, and else it is the caller's, every byte of it. Then the report says so, and the caller waits for the output.
///
/// Encoded streams (`content-encoding`) are not looked into.
#[derive(Debug, Clone, Copy)]
pub struct HoldStreams {
    first_event_timeout: Option<Duration>,
}

/// What a stream is held for at most, unless said otherwise.
const LONGEST: Duration = Duration::from_secs(10 * 60);

impl Default for HoldStreams {
    fn default() -> Self {
        Self {
            first_event_timeout: Some(LONGEST),
        }
    }
}

impl HoldStreams {
    /// Held back for at most 10 min.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the first event with output may take from the head of the answer on; above 0, `None` for any time. Comments,
    /// pings and beginnings (`message_start`, `response.created`) do not stop its clock: a server can send those and no more.
    /// Default 10 min. It serves retries only: an answer that none can follow, as of the last attempt, is the caller's from
    /// its head on.
    ///
    /// A held stream gives up nothing but latency, while one that is given up too early is paid for twice: some models
    /// think for minutes before they say anything, and a server with a queue may keep a stream waiting as long. So the
    /// default is what the clients of the large providers give a request before they send it again. A shorter time suits
    /// models that answer at once.
    ///
    /// # Source
    ///
    /// The default timeout of the client libraries of OpenAI and Anthropic, which retry after it: 10 min. DeepSeek ends a
    /// request that has not been begun after 10 min, and keeps its stream alive until then.
    #[must_use]
    pub fn first_event_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self {
            first_event_timeout: timeout.into(),
        }
    }
}

impl crate::policy::HoldStreams for HoldStreams {
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn InspectStream>> {
        let headers = outcome.headers()?;
        let stream = headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let held = stream && outcome.class() == Class::Success;
        (held && !headers.contains_key(CONTENT_ENCODING)).then(|| {
            Box::new(Held {
                peek: Peek::new(),
                seen: Seen::Hold,
            }) as Box<dyn InspectStream>
        })
    }

    fn first_event_timeout(&self) -> Option<Duration> {
        self.first_event_timeout
    }
}

struct Held {
    peek: Peek,
    seen: Seen,
}

impl Inspect for Held {
    fn see(&mut self, data: &[u8]) -> ControlFlow<()> {
        self.seen = self.peek.feed(data);
        match self.seen {
            Seen::Hold => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

impl InspectStream for Held {
    fn verdict(&mut self, looked: Inspected) -> Option<Verdict> {
        if looked == Inspected::TimeIsUp {
            return Some(failure(Reason::Timeout));
        }
        if looked == Inspected::AtTheEnd {
            self.seen = self.peek.end();
        }
        match &self.seen {
            Seen::Hold | Seen::Output => None,
            Seen::Error(json) => Some(judge_event(json)),
            Seen::Incomplete => Some(failure(Reason::IncompleteStream)),
        }
    }
}

fn failure(reason: Reason) -> Verdict {
    Verdict::new(Class::Transient, Reach::Ambiguous).because(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RetryPolicy;

    #[test]
    fn a_stream_is_held_for_ten_minutes_unless_said_otherwise() {
        let bound = |hold: HoldStreams| hold.first_event_timeout;
        assert_eq!(bound(HoldStreams::new()), Some(Duration::from_secs(600)));
        assert_eq!(bound(HoldStreams::new().first_event_timeout(None)), None);
    }

    #[test]
    fn a_bound_of_nothing_is_refused() {
        let hold = HoldStreams::new().first_event_timeout(Duration::ZERO);
        let policy = RetryPolicy::llm().to_builder().hold_streams(hold).build();
        assert_eq!(policy.unwrap_err().field(), "first_event_timeout");
    }
}
