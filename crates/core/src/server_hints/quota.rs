//! The quotas that a head states, combined.

mod named;
mod structured;

use super::duration::{digits, header_duration};
use super::list::{parts, split_once};
use super::{Header, RequestedDelay, ResponseHead};
use http::StatusCode;
use std::cmp::Reverse;
use std::time::Duration;

/// The remainder of a quota of requests ([`ServerHints::quota`](super::ServerHints::quota)).
///
/// The gate uses it for pacing: `remaining` calls until `reset`.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::policy::ServerHints;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("ratelimit", HeaderValue::from_static(r#""burst";r=7;t=30"#));
/// headers.insert("ratelimit-policy", HeaderValue::from_static(r#""burst";q=100;w=60"#));
/// let quota = ServerHints::read(StatusCode::OK, &headers, Duration::ZERO).quota.ok_or("no quota")?;
/// assert_eq!((quota.remaining, quota.limit), (7, Some(100)));
/// assert_eq!(quota.reset, Duration::from_secs(30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
///
/// draft-ietf-httpapi-ratelimit-headers, and the `x-ratelimit-*` headers of many services, which no standard defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quota {
    /// The number of requests in a window; of several quotas, the smallest number.
    pub limit: Option<u64>,
    /// The number of requests that remain; 0 if the quota is spent.
    pub remaining: u64,
    /// The time until there are more, from the response on. A quota whose reset is past is not reported.
    pub reset: Duration,
    /// The length of the quota's window, if a header states it.
    pub window: Option<Duration>,
}

/// The values that a head states about one quota.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatedQuota {
    unit: QuotaUnit,
    /// `None` if the head does not tell.
    is_spent: Option<bool>,
    limit: Option<u64>,
    remaining: Option<u64>,
    reset: Option<Duration>,
    /// The wait that a header of the quota asks of a refused call.
    asked: Option<RequestedDelay>,
    window: Option<Duration>,
    /// The header that holds its reset.
    header: Header,
}

/// The thing that a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuotaUnit {
    Requests,
    /// Tokens or bytes. A call's amount is not known in advance.
    Amount,
    /// Calls in flight, or something that may not concern other calls. It matters to the refused call only.
    Other,
}

/// The most parameters of an item that are read.
const MAX_PARAMETERS: usize = 16;

impl Quota {
    /// Returns the quota after a response that may itself ask for a delay. On a refusal that delay overrides a later
    /// reset.
    pub(crate) fn after(self, status: StatusCode, asked: Option<Duration>) -> Self {
        let refused = status.is_client_error() || status.is_server_error();
        // Another failure with calls left in the quota, such as an overload, asks for its delay for another reason.
        let concerns_quota = status == StatusCode::TOO_MANY_REQUESTS || self.remaining == 0;
        let most = asked.filter(|_| refused && concerns_quota);
        Self {
            reset: self.reset.min(most.unwrap_or(Duration::MAX)),
            ..self
        }
    }
}

/// Reads the quotas that a head states.
pub(super) fn read(head: &mut ResponseHead<'_>) -> Vec<StatedQuota> {
    let mut all = Vec::new();
    structured::read(head, &mut all);
    named::read(head, &mut all);
    all
}

/// Returns the longest wait that the quotas ask of a refused call. If the response was not `throttled`, only the spent
/// ones count: some servers send such a header with every response.
pub(super) fn asked(quotas: &[StatedQuota], throttled: bool) -> Option<RequestedDelay> {
    let refused = |quota: &&StatedQuota| throttled || quota.is_spent == Some(true);
    let asked = quotas.iter().filter(refused);
    asked.filter_map(|quota| quota.asked).max()
}

/// Returns the latest reset of the spent quotas. If the response was `throttled` and names no spent quota, returns the
/// latest reset of those that do not state the remainder.
pub(super) fn spent(quotas: &[StatedQuota], throttled: bool) -> Option<RequestedDelay> {
    let latest = |is_spent| {
        let quotas = quotas
            .iter()
            .filter(move |quota| quota.is_spent == is_spent);
        quotas.filter_map(StatedQuota::delay).max()
    };
    // A 429 without a spent quota means one of those whose remainder is not stated.
    let unknown = || latest(None).filter(|asked| throttled && !asked.delay.is_zero());
    latest(Some(true)).or_else(unknown)
}

/// Returns the quota with the least left.
pub(super) fn tightest(quotas: &[StatedQuota]) -> Option<Quota> {
    let of_requests = |quota: &&StatedQuota| quota.unit == QuotaUnit::Requests;
    let known = quotas.iter().filter(of_requests);
    let known = known.filter_map(StatedQuota::quota);
    let limit = known.clone().filter_map(|quota| quota.limit).min();
    // Spent tokens close the gate as well, but a remainder of tokens is no number of calls.
    let closing = quotas.iter().filter(|quota| quota.unit != QuotaUnit::Other);
    let spent = closing
        .filter_map(StatedQuota::quota)
        .filter(|quota| quota.remaining == 0);
    // Of equal remainders, the one that is back last.
    let least = || known.min_by_key(|quota| (quota.remaining, Reverse(quota.reset)));
    let tightest = spent.max_by_key(|quota| quota.reset).or_else(least)?;
    Some(Quota { limit, ..tightest })
}

impl StatedQuota {
    fn quota(&self) -> Option<Quota> {
        Some(Quota {
            limit: self.limit,
            remaining: self.remaining?,
            reset: self.delay()?.delay,
            window: self.window,
        })
    }

    /// Returns the time until the quota is back.
    fn delay(&self) -> Option<RequestedDelay> {
        let header = self.header;
        self.reset.map(|delay| RequestedDelay { delay, header })
    }
}

/// Parses a number of requests, tokens or bytes, with or without decimals. The fraction is dropped.
fn count(text: &str) -> Option<u64> {
    let (whole, rest) = digits(text);
    let parts = rest.strip_prefix('.').map(digits);
    let is_number = !whole.is_empty()
        && (rest.is_empty()
            || parts.is_some_and(|(parts, end)| !parts.is_empty() && end.is_empty()));
    // Only too many digits make `parse` fail.
    is_number.then(|| whole.parse().unwrap_or(u64::MAX))
}

/// Reads the length of a quota's window from the parameters of another value: `100;w=60`, `100;window=60`.
fn window(parameters: &str) -> Option<Duration> {
    let mut parameters = parts(parameters, b';').take(MAX_PARAMETERS);
    parameters.find_map(|parameter| {
        let (key, value) = split_once(parameter, b'=')?;
        is_window(key.trim()).then(|| header_duration(value))?
    })
}

fn is_window(key: &str) -> bool {
    ["w", "window"]
        .iter()
        .any(|name| key.eq_ignore_ascii_case(name))
}
