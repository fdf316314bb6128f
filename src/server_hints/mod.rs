//! What a response's head says about coming back, read once per attempt: the delay that it asks for, the quota, and
//! which headers are there but cannot be read.
//!
//! Everybody who needs one of these takes it from the same [`ServerHints`], so that a delay, the gate and the report
//! never disagree about one header.
//!
//! A head is read in one pass over its names. Of each header at most 64 lines count, of all headers that name one quota
//! of several together 64, of a line 1,024 bytes, of a list 64 items, of an item 16 parameters; a line or a name that is
//! longer is not readable. So the work is bounded, whatever a server sends.

mod date;
mod duration;
mod head;
mod names;
#[cfg(feature = "llm")]
mod prose;
mod quota;
mod server_delay;
#[cfg(test)]
mod tests;

pub use names::UnreadableHeaders;
pub use quota::Quota;
pub use server_delay::ServerDelay;

#[cfg(any(feature = "serde", feature = "llm"))]
pub(crate) use duration::header_duration;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) use head::tells_of_a_quota;
#[cfg(feature = "llm")]
pub(crate) use prose::delay_in_prose;

use head::Head;
use http::{HeaderMap, StatusCode};
use names::Asked;
use quota::Quotas;
use std::time::Duration;

/// What a response's head says about coming back.
///
/// The delay is what the first of these headers asks for that can be read:
///
/// 1. `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`: milliseconds, rounded up to a whole one.
/// 2. `retry-after`: seconds, with or without decimals (rounded up to a millisecond), or an HTTP-date. Of several lines
///    the latest counts.
/// 3. Where a quota is spent, its reset: `ratelimit` with `ratelimit-policy`, and `ratelimit-reset`,
///    `x-ratelimit-reset`, `x-ratelimit-reset-tokens` and their kin. Of several spent quotas the latest reset counts. A
///    quota is spent when nothing remains of it; on a 429 that names no spent quota, also when the head does not say
///    what remains.
///
/// A reset is a number of seconds (a Unix time from 1,000,000,000 on, in milliseconds from 1,000,000,000,000 on), a
/// duration with units (`1m30s`), a date of RFC 3339 or an HTTP-date; `t` of `ratelimit` is never a Unix time. A spent
/// quota without a reset is back after its policy's window. A quota of calls in flight (`concurrent-requests`) has no
/// window: it counts only by a `t` of its own.
///
/// What is there but cannot be read is passed over and found in [`ServerHints::unreadable`]. A time in the past asks for
/// nothing. Dates are measured against the response's own `date` where that is valid, else against the wall clock.
///
/// # Source
///
/// RFC 9110 section 10.2.3 for `retry-after` and 5.6.7 for dates; draft-ietf-httpapi-ratelimit-headers for the quota
/// headers, and that `retry-after` goes before them; Azure, AWS and OpenAI for the millisecond forms.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::policy::ServerHints;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", HeaderValue::from_static("soon"));
/// headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
/// headers.insert("x-ratelimit-reset", HeaderValue::from_static("1m30s"));
///
/// let hints = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, Duration::ZERO);
/// assert_eq!(hints.delay(), Some(Duration::from_secs(90)));
/// assert_eq!(hints.header(), Some("x-ratelimit-reset"));
/// assert_eq!(hints.quota().map(|quota| quota.remaining), Some(0));
/// assert_eq!(hints.unreadable().names().collect::<Vec<_>>(), ["retry-after"]);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerHints {
    asked: Option<Asked>,
    spent: Option<Asked>,
    quota: Option<Quota>,
    unreadable: UnreadableHeaders,
}

impl ServerHints {
    /// Reads the head of a response of any status; `wall` is the time since 1970-01-01T00:00:00Z, against which a date
    /// is measured where the response has no valid `date` of its own.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, wall: Duration) -> Self {
        let mut head = Head::new(headers, wall);
        if !head.has_hints() {
            return Self::default();
        }
        let asked = server_delay::asked(&mut head);
        let quotas = Quotas::read(&mut head);
        let quota = quotas.tightest();
        Self {
            asked,
            spent: quotas.spent(status == StatusCode::TOO_MANY_REQUESTS),
            quota: quota.map(|quota| quota.after(status, asked.map(|asked| asked.delay))),
            unreadable: head.unreadable,
        }
    }

    /// The delay that the head asks for, if any: [`ServerHints::asked`], else [`ServerHints::reset`].
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        self.asked().or(self.reset())
    }

    /// The name of the header that [`ServerHints::delay`] is from; where it names one quota of several and is none of
    /// the usual ones, how it begins (`x-ratelimit-*`).
    #[must_use]
    pub fn header(&self) -> Option<&'static str> {
        let asked = self.asked.or(self.spent);
        asked.map(|asked| asked.header.name())
    }

    /// What `retry-after` or a millisecond header asks for, if anything.
    #[must_use]
    pub fn asked(&self) -> Option<Duration> {
        self.asked.map(|asked| asked.delay)
    }

    /// The time until the spent quota is back, if one is spent and says so.
    #[must_use]
    pub fn reset(&self) -> Option<Duration> {
        self.spent.map(|spent| spent.delay)
    }

    /// What is left of the quota of requests; of several, the one with the least left. A quota of requests or tokens of
    /// which nothing is left leaves nothing, until the latest reset of the spent ones.
    ///
    /// Nothing where no header gives both what remains and when that changes. On a refusal the reset is no later than
    /// what [`ServerHints::asked`] says.
    #[must_use]
    pub fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// The headers that were passed over because they cannot be read.
    #[must_use]
    pub fn unreadable(&self) -> UnreadableHeaders {
        self.unreadable
    }

    /// The delay, with what the answer's body asks for: after the headers that say when to come back, and before those
    /// that only say when a quota is whole again.
    pub(crate) fn delay_with(&self, body: Option<Duration>) -> ServerDelay {
        let asked = self.asked().or(body).or(self.reset());
        let unreadable = || self.unreadable.names().next();
        asked.map_or_else(
            || unreadable().map_or(ServerDelay::None, ServerDelay::Invalid),
            ServerDelay::Asked,
        )
    }
}

impl ServerDelay {
    /// Reads the headers of a response; `wall` is the time since 1970-01-01T00:00:00Z, against which a date is
    /// measured where the response has no valid `date` of its own. What is read, and how, is told at [`ServerHints`].
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, wall: Duration) -> Self {
        ServerHints::read(status, headers, wall).delay_with(None)
    }
}
