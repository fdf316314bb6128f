//! Streamed answers that are held back until their first output.

use super::judge::judge_event;
use super::stream::{Peek, Seen};
use crate::policy::{Class, Look, LookAtStream, Looked, Outcome, Reach, Reason, Verdict};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use std::ops::ControlFlow;
use std::time::Duration;

/// How streamed answers (server-sent events) are held back: at most 64 KiB of them, until the first frame with output, so
/// that an error before it is an outcome like any other. After the first byte of output nothing is retried: the caller has
/// the answer, and a failure behind that byte is the stream's own, of which the report does not tell.
///
/// Encoded streams (`content-encoding`) are not looked into.
#[derive(Debug, Clone, Copy, Default)]
pub struct HoldStreams {
    first_event_timeout: Option<Duration>,
}

impl HoldStreams {
    /// Held back for as long as it takes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the first event may take from the head of the answer on; comments that keep the connection alive are
    /// none. Past it the answer counts as timed out. Default none. It serves retries only: an answer that none can follow,
    /// as of the last attempt, is the caller's from its head on.
    #[must_use]
    pub fn first_event_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        Self {
            first_event_timeout: timeout.into(),
        }
    }
}

impl crate::policy::HoldStreams for HoldStreams {
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn LookAtStream>> {
        let headers = outcome.headers()?;
        let stream = headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let held = stream && outcome.class() == Class::Success;
        (held && !headers.contains_key(CONTENT_ENCODING)).then(|| {
            Box::new(Held {
                peek: Peek::new(),
                seen: Seen::Hold,
            }) as Box<dyn LookAtStream>
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

impl Look for Held {
    fn see(&mut self, data: &[u8]) -> ControlFlow<()> {
        self.seen = self.peek.feed(data);
        match self.seen {
            Seen::Hold => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

impl LookAtStream for Held {
    fn has_event(&self) -> bool {
        self.peek.has_event()
    }

    fn verdict(&mut self, looked: Looked) -> Option<Verdict> {
        let timed_out = looked == Looked::TimeIsUp && !self.peek.has_event();
        if timed_out {
            return Some(failure(Reason::Timeout));
        }
        if looked == Looked::AtTheEnd {
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
