//! APIs of language models: OpenAI, Azure, Anthropic, Gemini and Vertex, Bedrock, Groq, Mistral, Cohere, OpenRouter,
//! DeepSeek, xAI, and compatible APIs.
//!
//! They name the failure by a token ([`tokens`]) that may be in many places of a body, so rows test for its kind.
//! Conditions that a row cannot express are named functions: counts in prose, the window of a limit, a prompt that does
//! not fit.

mod counts;
mod prose;
mod tokens;

pub(crate) use counts::{TokenCounts, context_counts, limit_and_requested};

use super::on;
use crate::dialect::{Dialect, Interpretation, Location, Row};
use http::{HeaderMap, StatusCode};
use http_retry_core::policy::{Classify, ErrorBody, Reason, Scope, Unit, Verdict};
use http_retry_core::reading::RetryTime;
use http_retry_core::{Class, Outcome, Reach};
use http_retry_rules::{Condition, ReadBody};
use std::sync::LazyLock;
use std::time::Duration;
use tokens::TokenKind;

#[rustfmt::skip]
pub(super) fn llm() -> Vec<Row> {
    let timed = |meaning: Interpretation, reason| limited(meaning.delay(Location::anywhere(), Unit::Auto), reason);
    let slow = |reason| timed(Interpretation::throttled(), reason);
    let busy = |reason| timed(Interpretation::throttled().answered(), reason);
    let failed = |reason| timed(Interpretation::transient(), reason);
    // The reset of a limit that no retry waits for is no wish to come back then.
    let wrong = |reason| limited(Interpretation::permanent().delay(Location::asked(), Unit::Auto), reason);
    let firm = |reason| wrong(reason).firm();
    let any = Row::when;
    vec![
        // Failures that no retry can help, whatever the status or the headers are.
        any().and(any_token([TokenKind::Quota])).and(!function("a quota of a minute", is_quota_of_a_minute)).is(firm(Reason::QuotaExhausted)),
        any().and(throttle()).and(function("nothing is left", has_nothing_left)).is(firm(Reason::QuotaExhausted)),
        on([429]).and(function("a number of spent money", tokens::is_spent_by_number)).is(firm(Reason::QuotaExhausted)),
        any().and(any_token([TokenKind::Context])).is(firm(Reason::ContextLength)),
        on([400, 413, 422, 424, 500]).and(!throttle()).and(overflows()).is(firm(Reason::ContextLength)),
        any().and(any_token([TokenKind::ContentPolicy])).is(firm(Reason::ContentPolicy)),
        any().and(function("more than the limit", is_more_than_the_limit)).is(firm(Reason::RequestTooLarge)),
        on([402]).and(!any_token([TokenKind::InFlight])).is(firm(Reason::QuotaExhausted)),
        on([401]).is(firm(Reason::Auth)),
        on([403]).is(firm(Reason::Permission)),
        on([404]).is(firm(Reason::NotFound)),
        // The statuses that are retried.
        on([402]).is(slow(Reason::RateLimited)),
        on([408]).is(failed(Reason::Timeout).refused()),
        on([425]).is(failed(Reason::ServerError).refused()),
        on([409]).is(failed(Reason::Conflict)),
        on([499]).is(failed(Reason::Timeout)),
        on([429]).and(function("no capacity", is_overload)).is(slow(Reason::Overloaded)),
        on([429]).is(slow(Reason::RateLimited)),
        on([413]).and(!any_token([TokenKind::TooLarge])).and(function("a time to come back", is_invited)).is(slow(Reason::Overloaded)),
        on([498]).and(any_token([TokenKind::Overloaded])).is(slow(Reason::Overloaded)),
        on([400]).and(throttle()).is(slow(Reason::RateLimited)),
        on([501, 505]).is(wrong(Reason::ServerError)),
        on(500..=599).and(any_token([TokenKind::RateLimit])).is(slow(Reason::RateLimited)),
        on(500..=599).and(any_token([TokenKind::Overloaded])).is(busy(Reason::Overloaded)),
        on(500..=599).and(any_token([TokenKind::Throttle])).is(slow(Reason::RateLimited)),
        on(500..=599).and(any_token([TokenKind::Timeout])).is(failed(Reason::Timeout)),
        on([503]).and(any_token([TokenKind::Internal])).is(failed(Reason::ServerError)),
        on([503, 529]).is(busy(Reason::Overloaded)),
        on([504, 522, 524, 598, 599]).is(failed(Reason::Timeout)),
        on(500..=599).is(failed(Reason::ServerError)),
        // Requests that are wrong in themselves; their tokens are more precise than the status.
        on([413]).is(wrong(Reason::RequestTooLarge)),
        on([498]).is(wrong(Reason::Auth)),
        on([410]).is(wrong(Reason::NotFound)),
        on([451]).is(wrong(Reason::Permission)),
        any().and(any_token([TokenKind::TooLarge])).is(wrong(Reason::RequestTooLarge)),
        any().and(any_token([TokenKind::Auth])).is(wrong(Reason::Auth)),
        any().and(any_token([TokenKind::Permission])).is(wrong(Reason::Permission)),
        any().and(any_token([TokenKind::NotFound])).is(wrong(Reason::NotFound)),
        on([400]).and(function("no money", is_unpaid_by_prose)).is(wrong(Reason::QuotaExhausted)),
        any().is(wrong(Reason::InvalidRequest)),
    ]
}

/// Returns the table's verdict on a failure. For a response that is a success by its status it returns `None`, unless
/// the body is an error by its shape: then it judges the status that the body's tokens imply.
pub(crate) fn judge(status: StatusCode, headers: &HeaderMap, body: &ErrorBody) -> Option<Verdict> {
    match status.as_u16() {
        ..400 if !body.is_error() => None,
        ..400 => interpret_own_status(headers, body, 400),
        status => interpret(status, headers, body),
    }
}

/// Returns the table's verdict on an error inside a stream that began as a success, and so has neither a status nor
/// headers for it.
pub(crate) fn judge_event(json: &[u8]) -> Option<Verdict> {
    let (headers, body) = (HeaderMap::new(), ErrorBody::read(json));
    interpret_own_status(&headers, &body, 500)
}

/// Judges the status that the body's tokens imply, or this one if they imply none. An ambiguous body never makes a
/// response refused.
fn interpret_own_status(headers: &HeaderMap, body: &ErrorBody, or: u16) -> Option<Verdict> {
    let status = tokens::own_status(headers, body).unwrap_or(or);
    let mut verdict = interpret(status, headers, body)?;
    if !body.is_unambiguous() {
        verdict.reach = Reach::Answered;
    }
    Some(verdict)
}

fn interpret(status: u16, headers: &HeaderMap, body: &ErrorBody) -> Option<Verdict> {
    static TABLE: LazyLock<Dialect> = LazyLock::new(Dialect::llm);
    let outcome = Outcome::response(StatusCode::from_u16(status).ok()?, headers).with_body(body);
    TABLE.classify(&outcome)
}

/// Adds the reason, and the scope of the limit.
fn limited(meaning: Interpretation, reason: Reason) -> Interpretation {
    let shared = function("a limit of others", |outcome, body| {
        tokens::has_token(outcome, &[TokenKind::SharedPool])
            || body.prose().contains("rate-limited upstream")
    });
    // Each model, or deployment of one, has limits of its own, and the paths of some APIs name it.
    let models = ["*/deployments/*", "*/model/*", "*/models/*"].map(Condition::path);
    let of_a_model = Condition::any(models.into_iter().flatten());
    let meaning = meaning.because(reason).scope_where(shared, Scope::Request);
    meaning.scope_where(of_a_model, Scope::Route)
}

fn function(name: &'static str, holds: fn(&Outcome<'_>, &ErrorBody) -> bool) -> Condition {
    Condition::function(name, holds)
}

fn any_token<const N: usize>(kinds: [TokenKind; N]) -> Condition {
    Condition::function("a token", move |outcome, _| {
        tokens::has_token(outcome, &kinds)
    })
}

fn throttle() -> Condition {
    function("a throttle", |outcome, _| {
        let throttles = [TokenKind::RateLimit, TokenKind::Throttle];
        outcome.status() == Some(StatusCode::TOO_MANY_REQUESTS)
            || tokens::has_token(outcome, &throttles)
    })
}

/// Prose counts only if no token names another cause: "too many tokens" may also be a throttle.
fn overflows() -> Condition {
    let prose = function("a prompt that does not fit", |_, body| {
        prose::overflows(body.prose())
    });
    (!any_token([TokenKind::Field])).and(prose)
}

/// Returns `true` for a limit of zero, one that counts over two hours or longer, one of money, or the allowance of a
/// plan. If the same prose names a time to retry, it returns `false` for the latter three: a daily quota that is
/// counted over the last 24 hours opens again bit by bit.
fn has_nothing_left(outcome: &Outcome<'_>, body: &ErrorBody) -> bool {
    let prose = body.prose();
    let zero = body.has_zero_quota() || counts::has_zero_limit(prose);
    let in_a_label = || {
        body.labels()
            .iter()
            .any(|label| prose::names_long_window(label))
    };
    let is_short = || prose::names_short_window(prose);
    let unpaid = || is_unpaid_by_prose(outcome, body) && !is_short();
    let spent = || {
        let in_the_head = outcome.server_hints(Duration::ZERO).asked;
        prose::names_spent_allowance(prose) && in_the_head.is_none() && !is_short()
    };
    let in_prose = || prose::names_long_window(prose) || unpaid() || spent();
    zero || in_a_label() || (!names_a_time(body) && in_prose())
}

/// Returns `true` if the prose itself names a time to retry.
fn names_a_time(body: &ErrorBody) -> bool {
    let mut times = body.prose_times().into_iter();
    times.any(|time| time != RetryTime::In(Duration::ZERO))
}

/// Returns `true` for a limit of a minute that DashScope names like a lack of money.
///
/// # Source
///
/// help.aliyun.com, Model Studio: error codes and rate limits ("Allocated quota exceeded": the tokens of a minute).
fn is_quota_of_a_minute(outcome: &Outcome<'_>, body: &ErrorBody) -> bool {
    let words = "error-code#token-limit|allocated quota exceeded";
    outcome.status() == Some(StatusCode::TOO_MANY_REQUESTS)
        && has_words(body, words)
        && !prose::names_spent_allowance(body.prose())
}

/// Returns `true` if the rate limit is smaller than this one request.
fn is_more_than_the_limit(_: &Outcome<'_>, body: &ErrorBody) -> bool {
    limit_and_requested(body.prose()).is_some_and(|(limit, requested)| requested > limit)
}

fn is_invited(outcome: &Outcome<'_>, _: &ErrorBody) -> bool {
    let response = |headers| Outcome::response(StatusCode::PAYLOAD_TOO_LARGE, headers);
    // By the standard table a 413 is a throttle only if it names a time to retry.
    let class = outcome.headers().map(|headers| response(headers).class());
    class == Some(Class::Throttled)
}

/// Returns `true` for a 429 due to a lack of capacity rather than the caller's own rate. Only here prose may decide:
/// the retry is the same, and some providers have no token for it.
fn is_overload(outcome: &Outcome<'_>, body: &ErrorBody) -> bool {
    let words = "high demand|overloaded|at capacity|no capacity";
    let by_rate = tokens::has_token(outcome, &[TokenKind::RateLimit]);
    !by_rate && (tokens::has_token(outcome, &[TokenKind::Overloaded]) || has_words(body, words))
}

/// Returns `true` if only the prose reports an account without money.
fn is_unpaid_by_prose(_: &Outcome<'_>, body: &ErrorBody) -> bool {
    let words = "credit balance|insufficient balance|balance is insufficient|insufficient credit|\
                 insufficient fund|not enough credit|out of credit|all available credits|credits are depleted|\
                 credits are required|out of extra usage|extra usage is required|spending limit|spend limit|\
                 long context beta is not yet available";
    has_words(body, words)
}

fn has_words(body: &ErrorBody, words: &str) -> bool {
    let prose = body.prose().to_lowercase();
    words.split('|').any(|words| prose.contains(words))
}

#[cfg(test)]
mod tests;
