//! A classifier's verdict on an outcome, and the scope of a limit.

use super::classify::{Class, Reach};
use super::outcome::Outcome;
use super::reason::Reason;
use crate::error_body::ErrorBody;
use crate::server_hints::{RetryTime, any_element};
use http::{HeaderMap, HeaderName};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::time::Duration;

/// A classifier's verdict on an outcome: what it means for a retry, and what else the classifier found.
///
/// A pair of class and reach is a verdict with nothing else.
///
/// ```
/// use http_retry::policy::{Reason, Verdict};
/// use http_retry::{Class, Reach};
/// use std::time::Duration;
///
/// // "Your plan allows one export a minute; try again in 40 seconds."
/// let verdict = Verdict::new(Class::Throttled, Reach::Refused)
///     .because(Reason::RateLimited)
///     .asking_for(Duration::from_secs(40));
/// assert_eq!(verdict.asked, Some(Duration::from_secs(40)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The meaning of the outcome for a retry.
    pub class: Class,
    /// The progress of the attempt.
    pub reach: Reach,
    /// The reason, in terms that the caller can act on.
    pub reason: Option<Reason>,
    /// The wait that the server asks for in the response's body; a header that says when to come back takes precedence.
    /// A wait longer than the policy's `max_server_delay` stops the request. Default none.
    pub asked: Option<Duration>,
    /// The shortest wait, whatever the server asks for. It doubles with each repetition, up to the policy's longest
    /// delay. Default none.
    pub at_least: Option<Duration>,
    /// The scope of a rate limit; the calls that it stops wait together at the gate. Default `None`, which counts as
    /// [`Scope::Account`].
    pub scope: Option<Scope>,
    /// The latest point in time that the server asks to wait for, since 1970.
    pub(super) until: Option<Duration>,
    /// `true` if the delay replaces the resets of quotas in the headers: for a row that reads such a header in a unit of
    /// its own. Default `false`.
    pub ignores_resets: bool,
    /// `true` if no header makes it transient: `x-should-retry: true` does not overrule it. Default `false`.
    pub firm: bool,
    /// The table row that gave the verdict.
    pub(super) row: Option<RowId>,
}

impl Verdict {
    /// Creates a verdict of this class and reach, with nothing else.
    #[must_use]
    pub fn new(class: Class, reach: Reach) -> Self {
        Self {
            class,
            reach,
            reason: None,
            asked: None,
            at_least: None,
            scope: None,
            until: None,
            ignores_resets: false,
            firm: false,
            row: None,
        }
    }

    /// Returns this verdict with a reason, which the report shows.
    #[must_use]
    pub fn because(self, reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// Returns this verdict with one more delay or time that the response's body asks for; the latest one counts.
    #[must_use]
    pub fn asking_for(mut self, time: impl Into<RetryTime>) -> Self {
        match time.into() {
            RetryTime::In(delay) => self.asked = self.asked.max(Some(delay)),
            RetryTime::At(time) => self.until = self.until.max(Some(time)),
        }
        self
    }

    /// Returns this verdict with a shortest wait, even if the server asks for less. One longer than `max_server_delay`
    /// stops the request; [`ServerDelays::Ignore`](crate::rules::ServerDelays::Ignore) drops it.
    #[must_use]
    pub fn at_least(self, least: Duration) -> Self {
        Self {
            at_least: Some(least),
            ..self
        }
    }

    /// Returns this verdict with the scope of the limit.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// Returns this verdict as given by a row of a table, the one passed to
    /// [`Classify::row_name`](super::Classify::row_name).
    #[must_use]
    pub fn by_row(self, row: u32) -> Self {
        self.with_row(row, false)
    }

    /// Returns this verdict as given by a row that has a name of its own: reports call its table `rules`.
    #[must_use]
    pub fn by_rule(self, row: u32) -> Self {
        self.with_row(row, true)
    }

    fn with_row(self, row: u32, is_rule: bool) -> Self {
        let row = RowId {
            // The policy sets it, since a classifier does not know its index in the list.
            classifier: 0,
            row,
            is_rule,
        };
        Self {
            row: Some(row),
            ..self
        }
    }

    /// Returns this verdict as given by the classifier at this index of a policy's list.
    pub(super) fn of_classifier(self, classifier: u16) -> Self {
        let row = self.row.map(|row| RowId { classifier, ..row });
        Self { row, ..self }
    }

    /// Returns this verdict with the waits and the scope of another one in place of those that it leaves open.
    pub(super) fn completed_by(self, next: &Self) -> Self {
        // Ignoring the resets says something of the time, too.
        let has_times = self.asked.or(self.until).is_some() || self.ignores_resets;
        let times = if has_times { &self } else { next };
        Self {
            asked: times.asked,
            until: times.until,
            ignores_resets: times.ignores_resets,
            at_least: self.at_least.or(next.at_least),
            scope: self.scope.or(next.scope),
            ..self
        }
    }
}

impl From<(Class, Reach)> for Verdict {
    fn from((class, reach): (Class, Reach)) -> Self {
        Self::new(class, reach)
    }
}

/// The result of a function that judges an error: a [`Verdict`], or class and reach alone, or an `Option` of one of
/// these; `()` leaves the error to others.
///
/// A closure that never gives a verdict returns `()`, since the type of a bare `None` is not known.
///
/// ```
/// use http_retry::{Class, Reach, RetryPolicy};
/// use std::fmt::Error;
/// use std::num::{ParseFloatError, ParseIntError};
///
/// let policy = RetryPolicy::builder()
///     .classify_error(|_: &Error| (Class::Transient, Reach::Ambiguous))
///     .classify_error(|error: &ParseIntError| {
///         let retry = (Class::Transient, Reach::Unsent);
///         error.to_string().contains("empty").then_some(retry)
///     })
///     .classify_error(|_: &ParseFloatError| ()) // its source chain says what it means
///     .build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait IntoVerdict {
    /// Returns the verdict, or `None` if there is none.
    fn into_verdict(self) -> Option<Verdict>;
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Option<Verdict> {
        Some(self)
    }
}

impl IntoVerdict for (Class, Reach) {
    fn into_verdict(self) -> Option<Verdict> {
        Some(self.into())
    }
}

impl<V: Into<Verdict>> IntoVerdict for Option<V> {
    fn into_verdict(self) -> Option<Verdict> {
        self.map(Into::into)
    }
}

impl IntoVerdict for () {
    fn into_verdict(self) -> Option<Verdict> {
        None
    }
}

/// A row of one of a policy's classifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowId {
    /// The index of the classifier in the policy's list.
    pub(super) classifier: u16,
    pub(super) row: u32,
    /// Set if the row has a name of its own.
    pub(crate) is_rule: bool,
}

/// The error names by which the APIs of AWS report throttling, in headers and in bodies. The header rules know them
/// too.
///
/// # Source
///
/// botocore, `retries/standard.py`, `ThrottledRetryableChecker`.
pub const AWS_THROTTLES: [&str; 14] = [
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "RequestThrottled",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
];

/// Returns the verdict by a response's headers, or `None` if they add nothing to the status table.
pub(super) fn by_headers(outcome: &Outcome<'_>) -> Option<Verdict> {
    let by_status = Verdict::new(outcome.class(), Reach::Answered);
    let verdict = if is_throttled(outcome) {
        Verdict::new(Class::Throttled, Reach::Refused)
    } else {
        by_status
    };
    let verdict = verdict.overruled_by_headers(outcome);
    (verdict != by_status).then_some(verdict)
}

/// Returns `true` if the headers of a failure report throttling that its status does not.
fn is_throttled(outcome: &Outcome<'_>) -> bool {
    let (Some(status), Some(headers)) = (outcome.status(), outcome.headers()) else {
        return false;
    };
    match status.as_u16() {
        // A 403 refuses by definition. If a permission error happens to use up a quota, one retry is wasted.
        403 => names_a_time(outcome) || names_a_throttle(headers),
        // AWS throttles with a 400 too.
        400..=499 => names_a_throttle(headers),
        _ => false,
    }
}

impl Verdict {
    /// Returns this verdict, unless the response has `x-should-retry` or `stripe-should-retry`: `false` makes it
    /// permanent, and `true` makes a permanent one transient. A server that wants a retry has not thereby said that it
    /// did nothing. A page of Cloudflare that rules a retry out counts as `false`.
    ///
    /// The header rules apply this to the verdict of a dialect.
    #[must_use]
    pub fn overruled_by_headers(self, outcome: &Outcome<'_>) -> Self {
        let wanted = if rules_out_retry(outcome) {
            Some(false)
        } else {
            outcome.headers().and_then(should_retry)
        };
        let Some(wanted) = wanted else {
            return self;
        };
        let (class, reach, reason) = match (self.class, wanted) {
            (Class::Transient | Class::Throttled, false) => {
                (Class::Permanent, self.reach, Reason::ServerSaidNo)
            }
            (Class::Permanent, true) if !self.firm => {
                (Class::Transient, Reach::Answered, Reason::ServerSaidRetry)
            }
            _ => return self,
        };
        Self {
            class,
            reach,
            // A verdict without a reason gets none.
            reason: self.reason.map(|_| reason),
            ..self
        }
    }
}

/// Returns `true` if a response's body may state that a retry cannot help, which costs a look at it.
pub(super) fn may_rule_out_retry(outcome: &Outcome<'_>) -> bool {
    let kind = outcome.media_type();
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/problem+json"))
}

/// Returns `true` if a response's body states that a retry cannot help: Cloudflare's own error pages do, for their
/// callers' origins.
fn rules_out_retry(outcome: &Outcome<'_>) -> bool {
    let body = outcome.body().filter(|_| may_rule_out_retry(outcome));
    body.is_some_and(ErrorBody::rules_out_retry)
}

/// Returns `true` if the head names a time to come back: a delay that can be read, or the reset of a spent quota.
fn names_a_time(outcome: &Outcome<'_>) -> bool {
    // If the time is past, which only a later reader can tell, there is nothing to wait for.
    let hints = outcome.server_hints(Duration::ZERO);
    let spent = hints.quota.is_some_and(|quota| quota.remaining == 0);
    hints.asked.is_some() || (spent && hints.reset.is_some())
}

/// Returns `true` if the headers hold an error name that means throttling, with or without a namespace before it and an
/// address after it.
fn names_a_throttle(headers: &HeaderMap) -> bool {
    any_element(headers, &AMZN_ERROR_TYPE, &mut |name| {
        AWS_THROTTLES.contains(&bare_name(name))
    })
}

/// Returns the name of an error without its namespace and its address: `Busy` in `com.shop#Busy:https://shop.example/`.
///
/// # Source
///
/// Smithy, AWS restJson1 protocol, "Operation error serialization".
#[must_use]
pub fn bare_name(text: &str) -> &str {
    let name = text.rsplit('#').next().unwrap_or(text);
    name.split(':').next().unwrap_or(name).trim_ascii()
}

/// The retry headers. As names, since a text is parsed at each look-up.
static SHOULD_RETRY: [HeaderName; 2] = [
    HeaderName::from_static("x-should-retry"),
    HeaderName::from_static("stripe-should-retry"),
];

static AMZN_ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");

/// Returns the value of the retry headers. If they disagree, `false` counts, since a missed retry does less harm than
/// one that the server warns of.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    let mut flag = None;
    for name in &SHOULD_RETRY {
        any_element(headers, name, &mut |value| {
            let is = |word: &str| value.eq_ignore_ascii_case(word);
            if is("false") {
                flag = Some(false);
            } else if is("true") {
                flag = flag.or(Some(true));
            }
            false
        });
    }
    flag
}

/// The calls that a limit stops, and that therefore wait for it at the gate. Other calls continue.
///
/// A classifier ([`Verdict::scope`](super::Verdict::scope)) or a row of a dialect sets it; the default is the account.
/// It is small and cheap to copy: a name is kept as a hash.
///
/// ```
/// use http_retry::policy::{Scope, Verdict};
/// use http_retry::{Class, Reach};
///
/// // A limit for searches alone: other calls need not wait.
/// let searches = Scope::named("search");
/// let refused = Verdict::new(Class::Throttled, Reach::Refused);
/// let refused = searches.map_or(refused, |scope| refused.scope(scope));
/// assert_eq!(refused.scope, searches);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// All calls of the service that share a gate, as without a scope.
    Account,
    /// The calls to the same path; the query does not count.
    Route,
    /// The calls to the same path by the same method.
    MethodRoute,
    /// The calls whose responses name the same limit: a hash of its name, as [`Scope::named`] makes it.
    #[non_exhaustive]
    Named(u64),
    /// This call alone: others use up the limit, or it counts this call's own work.
    Request,
}

/// The longest name of a limit, in bytes.
const MAX_SCOPE_NAME: usize = 128;

impl Scope {
    /// Returns the scope of a limit with this name, or `None` unless the name has 1 to 128 bytes. The hash differs from
    /// process to process.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let fits = (1..=MAX_SCOPE_NAME).contains(&name.len());
        fits.then(|| Self::Named(hash(name.as_bytes())))
    }
}

/// Hashes with a seed of the process, so that nobody can make up two names of one hash: the names come from responses.
fn hash(bytes: &[u8]) -> u64 {
    static SCOPE_SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    SCOPE_SEED.hash_one(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_128_bytes() {
        assert_eq!(Scope::named(""), None);
        assert_eq!(Scope::named(&"x".repeat(129)), None);
        assert_eq!(Scope::named("core"), Scope::named("core"));
        assert_ne!(Scope::named("core"), Scope::named("search"));
    }
}

#[cfg(test)]
mod header_rules_tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn header_bool(lines: [(&'static str, &'static str); 2]) -> Option<bool> {
        let headers = lines.map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        let mut map = HeaderMap::new();
        headers.into_iter().for_each(|(name, value)| {
            map.append(name, value);
        });
        should_retry(&map)
    }

    #[test]
    fn an_aws_error_name_makes_any_4xx_a_throttle() {
        let class = |status: u16, name: &'static str| {
            let name = HeaderValue::from_static(name);
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static("x-amzn-errortype"), name)]);
            let status = http::StatusCode::from_u16(status).unwrap();
            by_headers(&Outcome::response(status, &headers)).map(|verdict| verdict.class)
        };
        let throttled = Some(Class::Throttled);
        for status in [400, 403, 404, 499] {
            assert_eq!(class(status, "ThrottlingException"), throttled, "{status}");
            assert_eq!(class(status, "AccessDeniedException"), None, "{status}");
        }
        assert_eq!(
            class(400, "com.shop#SlowDown:https://shop.example/"),
            throttled
        );
        assert_eq!(class(500, "ThrottlingException"), None);
        assert_eq!(class(200, "ThrottlingException"), None);
    }

    #[test]
    fn false_counts_if_the_retry_headers_disagree() {
        let (one, other) = ("x-should-retry", "stripe-should-retry");
        assert_eq!(header_bool([(one, "true"), (other, "false")]), Some(false));
        assert_eq!(header_bool([(one, "false"), (other, "true")]), Some(false));
        assert_eq!(
            header_bool([(one, "perhaps"), (other, " True ")]),
            Some(true)
        );
        assert_eq!(header_bool([(one, "perhaps"), (other, "")]), None);
        // Two lines of one header, and the same folded into one.
        assert_eq!(header_bool([(one, "true"), (one, "false")]), Some(false));
        assert_eq!(
            header_bool([(one, "false, false"), (other, "")]),
            Some(false)
        );
        assert_eq!(
            header_bool([(one, "true, FALSE"), (other, "true")]),
            Some(false)
        );
        assert_eq!(
            header_bool([(one, "true,true"), (other, "perhaps, x")]),
            Some(true)
        );
    }
}
