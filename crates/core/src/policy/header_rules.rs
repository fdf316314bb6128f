//! What every server may say by its headers: rules that need no table, since a wrong guess costs one retry at a time that
//! the server named itself.

use super::classify::{Class, Reach};
use super::outcome::Outcome;
use super::reason::Reason;
use super::verdict::Verdict;
use http::HeaderMap;
use std::time::Duration;

/// The names of errors by which the APIs of AWS say that they throttle, in headers and in bodies. The header rules know
/// them too.
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

/// Returns what the headers of a response say beyond the status table.
pub(super) fn verdict(outcome: &Outcome<'_>) -> Option<Verdict> {
    let by_status = Verdict::new(outcome.class(), Reach::Answered);
    let verdict = if is_throttled(outcome) {
        Verdict::new(Class::Throttled, Reach::Refused)
    } else {
        by_status
    };
    let verdict = verdict.overruled_by_headers(outcome);
    (verdict != by_status).then_some(verdict)
}

/// Returns `true` if the headers of a failure name a throttle that its status does not.
fn is_throttled(outcome: &Outcome<'_>) -> bool {
    let (Some(status), Some(headers)) = (outcome.status(), outcome.headers()) else {
        return false;
    };
    match status.as_u16() {
        // A 403 refuses by definition; a permission error with the last call of a quota costs one try in vain.
        403 => names_a_time(outcome) || names_a_throttle(headers),
        400..=499 => names_a_throttle(headers),
        _ => false,
    }
}

impl Verdict {
    /// The same verdict, unless the response has `x-should-retry` or `stripe-should-retry`: `false` makes it permanent, and
    /// `true` makes a permanent one transient. A retry that the server wants is no proof that it has done nothing.
    ///
    /// The header rules do this to the verdict of a dialect.
    #[must_use]
    pub fn overruled_by_headers(self, outcome: &Outcome<'_>) -> Self {
        let Some(wanted) = outcome.headers().and_then(should_retry) else {
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

/// Whether the head names a time to come back: a delay that can be read, or the reset of a spent quota.
fn names_a_time(outcome: &Outcome<'_>) -> bool {
    // Whether the time is past only its reader can tell; then nothing is to wait for.
    let hints = outcome.server_hints(Duration::ZERO);
    let spent = hints.quota().is_some_and(|quota| quota.remaining == 0);
    hints.asked().is_some() || (spent && hints.reset().is_some())
}

/// The name of an error may have a namespace before it and an address behind it.
fn names_a_throttle(headers: &HeaderMap) -> bool {
    let name = headers.get("x-amzn-errortype");
    let name = name.and_then(|name| name.to_str().ok());
    name.is_some_and(|name| AWS_THROTTLES.contains(&bare_name(name)))
}

/// The name of an error without its namespace and its address.
pub(crate) fn bare_name(text: &str) -> &str {
    let name = text.rsplit('#').next().unwrap_or(text);
    name.split(':').next().unwrap_or(name).trim_ascii()
}

/// Of two words the no counts: a retry that one of them wants is not worth what the other one warns of.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    let said = ["x-should-retry", "stripe-should-retry"]
        .into_iter()
        .filter_map(|name| headers.get(name));
    let words = said.filter_map(|value| {
        let value = value.as_bytes().trim_ascii();
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        is("true").then_some(true).or(is("false").then_some(false))
    });
    words.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn said(words: [(&'static str, &'static str); 2]) -> Option<bool> {
        let headers = words.map(|(name, word)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(word))
        });
        should_retry(&HeaderMap::from_iter(headers))
    }

    #[test]
    fn of_two_words_on_a_retry_the_no_counts() {
        let (one, other) = ("x-should-retry", "stripe-should-retry");
        assert_eq!(said([(one, "true"), (other, "false")]), Some(false));
        assert_eq!(said([(one, "false"), (other, "true")]), Some(false));
        assert_eq!(said([(one, "perhaps"), (other, " True ")]), Some(true));
        assert_eq!(said([(one, "perhaps"), (other, "")]), None);
    }
}
