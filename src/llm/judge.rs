//! What an answer of an LLM API means for a retry.

use super::codes::{Meaning, is_spent_by_number, meaning};
use super::context::overflows;
use super::counts::{has_zero_limit, limit_and_requested};
use super::window;
use crate::policy::{Class, ErrorBody, Reach, Reason, Scope, ServerDelay, Verdict};
use http::{HeaderMap, StatusCode};

/// Judges a response by its status, its headers and its body.
///
/// The body of a success counts only where it is an error by its shape: whoever does not want it looked at gives an
/// empty one.
pub(crate) fn judge(status: StatusCode, headers: &HeaderMap, body: &ErrorBody) -> Verdict {
    let answer = Answer::new(status.as_u16(), headers, body);
    match answer.status {
        ..400 if !body.is_error => success(),
        ..400 => Answer {
            status: answer.own_status().unwrap_or(400),
            ..answer
        }
        .judged(),
        _ => answer.judged(),
    }
}

/// Judges an error inside a stream that began as a success, where no status and no header tells of it.
pub(crate) fn judge_event(json: &[u8]) -> Verdict {
    let (headers, body) = (HeaderMap::new(), ErrorBody::read(json));
    let answer = Answer::new(0, &headers, &body);
    Answer {
        status: answer.own_status().unwrap_or(500),
        ..answer
    }
    .judged()
}

fn success() -> Verdict {
    Verdict::new(Class::Success, Reach::Answered)
}

fn failure(reason: Reason, reach: Reach) -> Verdict {
    let class = match reason {
        Reason::RateLimited | Reason::Overloaded => Class::Throttled,
        Reason::ServerError | Reason::Timeout | Reason::Conflict | Reason::ServerSaidRetry => {
            Class::Transient
        }
        _ => Class::Permanent,
    };
    Verdict::new(class, reach).because(reason)
}

fn is_retryable(verdict: Verdict) -> bool {
    matches!(verdict.class, Class::Transient | Class::Throttled)
}

/// All that is known of a failed answer.
#[derive(Clone)]
struct Answer<'a> {
    status: u16,
    headers: &'a HeaderMap,
    body: &'a ErrorBody,
    meanings: Vec<Meaning>,
}

impl<'a> Answer<'a> {
    fn new(status: u16, headers: &'a HeaderMap, body: &'a ErrorBody) -> Self {
        let by_header = headers
            .get("x-amzn-errortype")
            .and_then(|value| value.to_str().ok())
            .filter(|token| token.len() <= 512);
        let labels = body.labels.iter().map(String::as_str);
        Self {
            status,
            headers,
            body,
            meanings: labels.chain(by_header).filter_map(meaning).collect(),
        }
    }

    /// The rules in their order; the first that speaks decides, and the server's own word comes last.
    fn judged(&self) -> Verdict {
        let firm = self
            .permanent_by_code()
            .or_else(|| self.too_large_by_counts())
            .or_else(|| self.closed())
            .or_else(|| self.retryable());
        let judged = match (firm, self.should_retry()) {
            (Some(firm), Some(false)) if is_retryable(firm) => {
                failure(Reason::ServerSaidNo, firm.reach)
            }
            (None, Some(true)) => failure(Reason::ServerSaidRetry, Reach::Answered),
            (firm, _) => firm.unwrap_or_else(|| self.refused()),
        };
        Verdict {
            asked: self.body.delay(),
            scope: self.shares_its_limit().then_some(Scope::Request),
            ..judged
        }
    }

    fn says(&self, meaning: Meaning) -> bool {
        self.meanings.contains(&meaning)
    }

    /// What no status can make worth a retry.
    fn permanent_by_code(&self) -> Option<Verdict> {
        let reason = if self.says(Meaning::Quota) || self.has_nothing_left() {
            Reason::QuotaExhausted
        } else if self.says(Meaning::Context) || self.overflows() {
            Reason::ContextLength
        } else if self.says(Meaning::ContentPolicy) {
            Reason::ContentPolicy
        } else {
            return None;
        };
        Some(failure(reason, Reach::Answered))
    }

    /// A throttle whose limit is zero, counts over a day or longer, or is one of money; or whose number stands for an
    /// account without money.
    fn has_nothing_left(&self) -> bool {
        let zero = || self.body.has_zero_quota || has_zero_limit(&self.body.prose);
        let number = || self.body.labels.iter().any(|code| is_spent_by_number(code));
        let nothing = || zero() || self.is_spent_by_prose();
        (self.is_throttle() && nothing()) || (self.status == 429 && number())
    }

    /// What no retry within minutes helps, told in words. Where the same prose says when to come back, that counts: a
    /// quota of a day that is counted over the last 24 hours opens again bit by bit.
    fn is_spent_by_prose(&self) -> bool {
        let prose = &self.body.prose;
        let unpaid = || self.is_unpaid() && !window::is_short(prose);
        let in_a_label = || self.body.labels.iter().any(|label| window::is_long(label));
        in_a_label() || !self.body.names_a_time() && (window::is_long(prose) || unpaid())
    }

    /// Prose counts only where no code speaks of something else: "too many tokens" is also a throttle's.
    fn overflows(&self) -> bool {
        let may_be = matches!(self.status, 400 | 413 | 422 | 424 | 500);
        may_be && !self.is_throttle() && !self.says(Meaning::Field) && overflows(&self.body.prose)
    }

    /// A rate limit that is smaller than this one request.
    fn too_large_by_counts(&self) -> Option<Verdict> {
        let (limit, requested) = limit_and_requested(&self.body.prose)?;
        let too_large = requested > limit;
        too_large.then(|| failure(Reason::RequestTooLarge, Reach::Answered))
    }

    /// The statuses that are never retried.
    fn closed(&self) -> Option<Verdict> {
        let reason = match self.status {
            402 if self.says(Meaning::InFlight) => {
                return Some(failure(Reason::RateLimited, Reach::Refused));
            }
            402 => Reason::QuotaExhausted,
            401 => Reason::Auth,
            403 => Reason::Permission,
            404 => Reason::NotFound,
            _ => return None,
        };
        Some(failure(reason, Reach::Answered))
    }

    /// The statuses that are retried, and a throttle under 400.
    fn retryable(&self) -> Option<Verdict> {
        let (reason, reach) = match self.status {
            408 => (Reason::Timeout, Reach::Refused),
            425 => (Reason::ServerError, Reach::Refused),
            409 => (Reason::Conflict, Reach::Answered),
            499 => (Reason::Timeout, Reach::Answered),
            429 if self.is_overload() => (Reason::Overloaded, Reach::Refused),
            429 => (Reason::RateLimited, Reach::Refused),
            413 if self.is_invited() && !self.says(Meaning::TooLarge) => {
                (Reason::Overloaded, Reach::Refused)
            }
            498 if self.says(Meaning::Overloaded) => (Reason::Overloaded, Reach::Refused),
            400 if self.is_throttle() => (Reason::RateLimited, Reach::Refused),
            501 | 505 => return None,
            500..=599 => self.server_failure(),
            _ => return None,
        };
        Some(failure(reason, reach))
    }

    fn server_failure(&self) -> (Reason, Reach) {
        let reason = if self.says(Meaning::RateLimit) {
            Reason::RateLimited
        } else if self.says(Meaning::Overloaded) {
            Reason::Overloaded
        } else if self.says(Meaning::Throttle) {
            Reason::RateLimited
        } else if self.says(Meaning::Timeout) {
            Reason::Timeout
        } else {
            match self.status {
                503 if self.says(Meaning::Internal) => Reason::ServerError,
                503 | 529 => Reason::Overloaded,
                504 | 522 | 524 | 598 | 599 => Reason::Timeout,
                _ => Reason::ServerError,
            }
        };
        let reach = match reason {
            Reason::RateLimited => Reach::Refused,
            _ => Reach::Answered,
        };
        (reason, reach)
    }

    /// A 429 for want of capacity and not for the caller's own rate. Only here prose may tell: the retry is the same,
    /// and some providers have no code for it.
    fn is_overload(&self) -> bool {
        const WORDS: [&str; 4] = ["high demand", "overloaded", "at capacity", "no capacity"];
        if self.says(Meaning::RateLimit) || self.says(Meaning::Overloaded) {
            return !self.says(Meaning::RateLimit);
        }
        let prose = self.body.prose.to_lowercase();
        WORDS.iter().any(|words| prose.contains(words))
    }

    fn is_throttle(&self) -> bool {
        let by_code = self.says(Meaning::RateLimit) || self.says(Meaning::Throttle);
        self.status == 429 || by_code
    }

    fn is_invited(&self) -> bool {
        ServerDelay::is_invitation(self.headers)
    }

    /// A request that is wrong as it stands; its codes tell the caller more than its status.
    fn refused(&self) -> Verdict {
        let reason = match self.status {
            413 => Reason::RequestTooLarge,
            498 => Reason::Auth,
            410 => Reason::NotFound,
            451 => Reason::Permission,
            501 | 505 => Reason::ServerError,
            _ if self.says(Meaning::TooLarge) => Reason::RequestTooLarge,
            _ if self.says(Meaning::Auth) => Reason::Auth,
            _ if self.says(Meaning::Permission) => Reason::Permission,
            _ if self.says(Meaning::NotFound) => Reason::NotFound,
            _ if self.status == 400 && self.is_unpaid() => Reason::QuotaExhausted,
            _ => Reason::InvalidRequest,
        };
        Verdict {
            class: Class::Permanent,
            ..failure(reason, Reach::Answered)
        }
    }

    /// An account without money that is told in prose alone.
    fn is_unpaid(&self) -> bool {
        const WORDS: [&str; 7] = [
            "credit balance",
            "insufficient balance",
            "insufficient credit",
            "insufficient fund",
            "not enough credit",
            "out of credit",
            "all available credits",
        ];
        let prose = self.body.prose.to_lowercase();
        WORDS.iter().any(|words| prose.contains(words))
    }

    fn should_retry(&self) -> Option<bool> {
        let value = self.headers.get("x-should-retry")?.to_str().ok()?.trim();
        if value.eq_ignore_ascii_case("true") {
            return Some(true);
        }
        value.eq_ignore_ascii_case("false").then_some(false)
    }

    fn shares_its_limit(&self) -> bool {
        self.says(Meaning::SharedPool) || self.body.prose.contains("rate-limited upstream")
    }

    /// The status that an error without one would have had: a number among its codes, else what its codes mean.
    fn own_status(&self) -> Option<u16> {
        let numbers = self.body.labels.iter().filter_map(|code| code.parse().ok());
        let mut statuses = numbers.filter(|status| (400..=599).contains(status));
        statuses.next().or_else(|| {
            self.meanings
                .iter()
                .min()
                .and_then(|meaning| status_of(*meaning))
        })
    }
}

/// The status that a meaning is usually sent with.
fn status_of(meaning: Meaning) -> Option<u16> {
    Some(match meaning {
        Meaning::Quota | Meaning::RateLimit | Meaning::Throttle | Meaning::SharedPool => 429,
        Meaning::InFlight => 402,
        Meaning::TooLarge => 413,
        Meaning::Overloaded => 529,
        Meaning::Timeout => 504,
        Meaning::Auth => 401,
        Meaning::Permission => 403,
        Meaning::NotFound => 404,
        Meaning::Conflict => 409,
        Meaning::Internal | Meaning::Server => 500,
        Meaning::Context | Meaning::ContentPolicy | Meaning::Field | Meaning::Invalid => 400,
    })
}

#[cfg(test)]
mod tests;
