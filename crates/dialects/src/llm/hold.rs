//! Holding back streamed responses until their first output.

use super::stream::{Peek, Peeked};
use crate::dialect::judge_event;
use http::header::CONTENT_ENCODING;
use http_retry_core::adapter::Inspected;
use http_retry_core::policy::{Reason, Verdict};
use http_retry_core::reading::{BodyProbe, StreamHolder};
use http_retry_core::{Class, Outcome, Reach};
use std::ops::ControlFlow;
use std::time::Duration;

/// A setting that holds back the start of a streamed response (server-sent events), at most 64 KiB, until its first
/// event with output, so that an error before it can be retried. After the first byte of output nothing is retried: the
/// caller has the response, and the report does not include a later failure of the stream.
///
/// The hold ends after [`HoldStreams::first_event_timeout`], after the policy's
/// [`attempt_timeout`](http_retry_core::RetryPolicyBuilder::attempt_timeout) from the start of the attempt, and at the
/// deadline. A stream without output by then has timed out: the layer drops it and sends the request again if a retry
/// is allowed. Otherwise the caller gets every byte of the stream and waits for the output, and the report includes the
/// timeout.
///
/// Encoded streams (`content-encoding`) are not held.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::llm::{HoldStreams, LlmPreset};
/// use std::time::Duration;
///
/// // This model begins to respond at once, or not at all.
/// let hold = HoldStreams::new().first_event_timeout(Duration::from_secs(20));
/// let policy = RetryPolicy::llm().to_builder().hold_streams(hold).build()?;
///
/// let never = HoldStreams::new().first_event_timeout(Duration::ZERO);
/// let refused = RetryPolicy::llm().to_builder().hold_streams(never).build();
/// assert_eq!(refused.unwrap_err().field, "first_event_timeout");
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// # Source
///
/// Events that count as output: the documented streams of OpenAI (chat completions and responses), Anthropic, Gemini,
/// Bedrock, Cohere, Azure, Groq and OpenRouter. The format of events: HTML standard, section 9.2.6.
#[derive(Debug, Clone, Copy)]
pub struct HoldStreams {
    first_event_timeout: Option<Duration>,
}

/// The default limit for a held stream.
const DEFAULT_HOLD_LIMIT: Duration = Duration::from_secs(10 * 60);

impl Default for HoldStreams {
    fn default() -> Self {
        Self {
            first_event_timeout: Some(DEFAULT_HOLD_LIMIT),
        }
    }
}

impl HoldStreams {
    /// Creates the setting with the default of at most 10 min for each stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the longest time from the head of the response to the first event with output: above 0, or `None` for no
    /// limit. Comments, pings and first events (`message_start`, `response.created`) do not count as output, since a
    /// server can send these alone. Default 10 min. It serves retries only: if no retry can follow, as for the last
    /// attempt, the caller gets the response at its head.
    ///
    /// A held stream costs only latency, but a stream that is dropped too early is paid for twice: some models think
    /// for minutes before their first output, and a server with a queue may keep a stream waiting as long. So the
    /// default is the time after which the clients of the large providers send a request again. A shorter time suits
    /// models that respond at once.
    ///
    /// # Source
    ///
    /// The default timeout of the client libraries of OpenAI and Anthropic, which retry after it: 10 min. DeepSeek ends
    /// a request that it has not begun after 10 min, and keeps its stream alive until then.
    #[must_use]
    pub fn first_event_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self {
            first_event_timeout: timeout.into(),
        }
    }
}

impl StreamHolder for HoldStreams {
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn BodyProbe>> {
        let headers = outcome.headers()?;
        let kind = outcome.media_type();
        let stream = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"));
        let held = stream && outcome.class() == Class::Success;
        (held && !headers.contains_key(CONTENT_ENCODING))
            .then(|| Box::new(Peek::new()) as Box<dyn BodyProbe>)
    }

    fn first_event_timeout(&self) -> Option<Duration> {
        self.first_event_timeout
    }
}

impl BodyProbe for Peek {
    fn push(&mut self, data: &[u8]) -> ControlFlow<()> {
        match self.feed(data) {
            Peeked::Hold => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    fn verdict(&mut self, looked: Inspected) -> Option<Verdict> {
        let seen = match looked {
            Inspected::TimeIsUp => return Some(failure(Reason::Timeout)),
            Inspected::AtTheEnd | Inspected::AtAnError => self.end(),
            _ => self.feed(&[]),
        };
        match seen {
            Peeked::Hold | Peeked::Output => None,
            Peeked::Error(json) => judge_event(&json),
            Peeked::Incomplete => Some(failure(Reason::IncompleteStream)),
        }
    }
}

fn failure(reason: Reason) -> Verdict {
    Verdict::new(Class::Transient, Reach::Ambiguous).because(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::LlmPreset;
    use http::header::CONTENT_TYPE;
    use http::{HeaderMap, HeaderValue, StatusCode};
    use http_retry_core::RetryPolicy;

    #[test]
    fn a_stream_is_known_by_its_type_in_any_case() {
        for (kind, held) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("text/event-streams", false),
            ("application/json", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
            let answer = Outcome::response(StatusCode::OK, &headers);
            let look = HoldStreams::new().hold(&answer);
            assert_eq!(look.is_some(), held, "{kind}");
        }
    }

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
        assert_eq!(policy.unwrap_err().field, "first_event_timeout");
    }
}
