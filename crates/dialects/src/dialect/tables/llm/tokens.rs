//! The meanings of the providers' code tokens.

use http::HeaderMap;
use http_retry_core::Outcome;
use http_retry_core::policy::ErrorBody;
use http_retry_rules::ReadBody;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The meaning of one code token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Money, credits or a daily quota are used up.
    Quota,
    /// The prompt does not fit the model.
    Context,
    ContentPolicy,
    /// One field is too long, whatever lengths the prose names.
    Field,
    TooLarge,
    /// A limit on concurrent requests, under the status of another failure.
    InFlight,
    /// A limit that is shared with other accounts.
    SharedPool,
    Overloaded,
    /// A rate limit by name.
    RateLimit,
    /// Some throttle: the same name is also used for overload.
    Throttle,
    Timeout,
    Auth,
    Permission,
    NotFound,
    Conflict,
    /// An internal failure of the provider; sent with 503, it is not an overload.
    Internal,
    /// The provider failed.
    Server,
    Invalid,
}

/// The tokens of one kind.
struct Tokens {
    kind: TokenKind,
    /// The status that they are usually sent with.
    status: u16,
    /// Whole tokens, in lower case and without the marks that [`plain`] removes.
    whole: &'static str,
    /// Words inside the tokens of single providers; each is long enough to have one meaning.
    parts: &'static str,
}

/// All kinds, by precedence: if a response has several, the first counts.
#[rustfmt::skip]
const KNOWN: [Tokens; 18] = [
    tokens(TokenKind::Quota, 429,
        "accessterminated accountoverdue accountquotaexceeded arrearage commoditynotpurchased exceededcurrentquota \
         nocredits notenoughcredits openroutercredits outofcredit outofcredits paymentrequired quotaexceeded \
         quotaexhausted servicequotaexceeded setlimitexceeded usagenotincluded",
        "insufficientquota insufficientcredit insufficientbalance insufficientfund creditsbalance creditbalance \
         creditlimit usagelimit overage spendlimit spendinglimit billing billoverdue budgetexceeded creditsexhausted perday \
         perweek permonth rpdexceeded tpdexceeded"),
    tokens(TokenKind::Context, 400, "exceedcontextlength inputtoolong prompttoolong tokenlimitexceeded",
        "contextlength contextwindow contextsize contextlimit"),
    tokens(TokenKind::ContentPolicy, 400, "datainspectionfailed moderationblocked prohibitedcontent",
        "contentpolicy contentfilter policyviolation"),
    tokens(TokenKind::Field, 400, "stringabovemaxlength arrayabovemaxlength", ""),
    tokens(TokenKind::TooLarge, 413, "requesttoolarge requestentitytoolarge payloadtoolarge", ""),
    tokens(TokenKind::InFlight, 402, "openrouterinflightbudget", ""),
    tokens(TokenKind::SharedPool, 429, "", "sharedpool"),
    tokens(TokenKind::Overloaded, 529,
        "flexunavailable resourceunavailable serviceunavailable unavailable theserviceiscurrentlyunavailable \
         modelnotready modelloading serverbusy enginebusy modelbusy", "capacity overload"),
    tokens(TokenKind::RateLimit, 429, "slowdown ramplimitexceeded userratelimitexceeded", "ratelimit"),
    tokens(TokenKind::Throttle, 429,
        "resourceexhausted someresourcehasbeenexhausted toomanyrequests requestlimitexceeded bandwidthlimitexceeded \
         limitexceeded priorrequestnotcomplete provisionedthroughputexceeded transactioninprogress", "throttl"),
    tokens(TokenKind::Timeout, 504, "deadlineexceeded cancelled", "timeout"),
    tokens(TokenKind::Auth, 401,
        "apikeyinvalid authentication expiredtoken invalidapikey invalidauthentication unauthenticated unauthorized \
         unrecognizedclient", ""),
    tokens(TokenKind::Permission, 403, "accessdenied forbidden permission permissiondenied", ""),
    tokens(TokenKind::NotFound, 404, "deploymentnotfound modelnotfound notfound resourcenotfound", ""),
    tokens(TokenKind::Conflict, 409, "conflict", ""),
    tokens(TokenKind::Internal, 500, "api cmekkeyunreachable internal internalserver", ""),
    tokens(TokenKind::Server, 500, "server modelstream internalfailure", ""),
    tokens(TokenKind::Invalid, 400,
        "badrequest clientspecifiedaninvalidargument failedprecondition unprocessableentity validation",
        "invalid unsupported"),
];

const fn tokens(kind: TokenKind, status: u16, whole: &'static str, parts: &'static str) -> Tokens {
    Tokens {
        kind,
        status,
        whole,
        parts,
    }
}

/// Returns `true` if a response has a token of one of these kinds.
pub(super) fn has_token(outcome: &Outcome<'_>, kinds: &[TokenKind]) -> bool {
    let all = all(outcome.headers(), outcome.body());
    kinds.iter().any(|kind| all & bit(*kind) != 0)
}

/// Returns the status that an error without one would have had: a number among its tokens, or else the status of its
/// kind.
pub(super) fn own_status(headers: &HeaderMap, body: &ErrorBody) -> Option<u16> {
    let numbers = body.labels().iter().filter_map(|token| token.parse().ok());
    let mut statuses = numbers.filter(|status| (400..=599).contains(status));
    let all = all(Some(headers), Some(body));
    let first = KNOWN.iter().find(|known| all & bit(known.kind) != 0);
    statuses.next().or_else(|| Some(first?.status))
}

/// Returns `true` if a token is one of the numbers by which Zhipu (Z.ai) reports that nothing is left, that a plan does
/// not include the model, or that the account is locked or restricted; they have this meaning with a 429 alone.
///
/// # Source
///
/// docs.z.ai and docs.bigmodel.cn, API codes.
pub(super) fn is_spent_by_number(_: &Outcome<'_>, body: &ErrorBody) -> bool {
    let numbers = [
        "1110", "1112", "1113", "1121", "1304", "1308", "1309", "1310", "1311", "1313", "1316",
        "1317", "1318", "1319", "1320", "1321",
    ];
    body.labels()
        .iter()
        .any(|token| numbers.contains(&&**token))
}

/// Returns the kinds of all tokens, a bit for each: those of the body, and the one in the header of AWS.
fn all(headers: Option<&HeaderMap>, body: Option<&ErrorBody>) -> u32 {
    let head = headers.and_then(|headers| headers.get("x-amzn-errortype"));
    let head = head.and_then(|token| token.to_str().ok());
    let head = head
        .filter(|token| token.len() <= MAX_TOKEN_CHARS)
        .and_then(kind);
    let of_body = |body: &ErrorBody| {
        let kinds = body.labels().iter().filter_map(|token| kind(token));
        TokenKinds(kinds.fold(0, |bits, kind| bits | bit(kind)))
    };
    body.map_or(0, |body| body.keep(of_body).0) | head.map_or(0, bit)
}

/// Kinds of tokens, a bit for each.
#[derive(Clone, Copy)]
struct TokenKinds(u32);

/// The longest token in a header that is read, in bytes.
const MAX_TOKEN_CHARS: usize = 512;

fn bit(kind: TokenKind) -> u32 {
    1_u32.checked_shl(kind as u32).unwrap_or_default()
}

/// Returns the kind of a token, or `None` if it is not known.
///
/// A token is compared whole, in lower case and without `_`, `-`, `.` and blanks; AWS may put a namespace before it and
/// an address after it, and some providers send an address that ends with it. Families such as
/// `organization_spend_limit_exceeded` are known by a word in the token.
fn kind(token: &str) -> Option<TokenKind> {
    if is_quota_problem(token) {
        return Some(TokenKind::RateLimit);
    }
    let plain = plain(token);
    let ends = ["exception", "error"];
    let name = ends.iter().find_map(|end| plain.strip_suffix(end));
    let name = name.unwrap_or(&plain);
    // A token that is known whole may contain a word of another kind, so whole tokens are compared first.
    match WHOLE.get(name) {
        None if is_of_a_day(name) => Some(TokenKind::Quota),
        None => {
            let part = PARTS.iter().find(|(part, _)| name.contains(part));
            part.map(|(_, kind)| *kind)
        }
        Some(kind) => Some(*kind),
    }
}

/// The whole tokens of [`KNOWN`]; of two kinds the first has them.
static WHOLE: LazyLock<HashMap<&'static str, TokenKind>> = LazyLock::new(|| {
    let words = |known: &Tokens| known.whole.split_ascii_whitespace();
    let last_first = KNOWN.iter().rev();
    let all = last_first.flat_map(|known| words(known).map(|word| (word, known.kind)));
    all.collect()
});

/// The parts of tokens of [`KNOWN`], in its order.
static PARTS: LazyLock<Vec<(&'static str, TokenKind)>> = LazyLock::new(|| {
    let words = |known: &Tokens| known.parts.split_ascii_whitespace();
    let all = KNOWN.iter();
    let all = all.flat_map(|known| words(known).map(|word| (word, known.kind)));
    all.collect()
});

/// Returns `true` if a token is the problem type of a request over its quota. This is a quota of requests in a time,
/// not of money as `quota_exceeded` alone is.
///
/// # Source
///
/// draft-ietf-httpapi-ratelimit-headers, "Problem Types":
/// `https://iana.org/assignments/http-problem-types#quota-exceeded`.
fn is_quota_problem(token: &str) -> bool {
    let end = token.trim_end_matches('/').rsplit(['/', '#']).next();
    token.contains('/') && end.is_some_and(|end| end.eq_ignore_ascii_case("quota-exceeded"))
}

fn plain(token: &str) -> String {
    let before = if token.starts_with("http") { '/' } else { '#' };
    let name = token.rsplit(before).next().unwrap_or(token);
    let name = name.split(':').next().unwrap_or(name);
    let kept = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    kept.collect::<String>().to_ascii_lowercase()
}

/// Returns `true` if a token names a limit of a day, a week or a month, such as `openrouterfreetierdaily` (not
/// everything that is called daily is a limit), or insufficient credits.
fn is_of_a_day(name: &str) -> bool {
    let holds = |words: &str| words.split(' ').any(|word| name.contains(word));
    let credits = name.starts_with("insufficient") && name.contains("credit");
    let limit = || holds("cap exceed free limit quota request token usage");
    credits || (holds("daily weekly monthly") && limit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_means_the_same_however_it_is_spelled() {
        for token in [
            "ThrottlingException",
            "throttlingException",
            "com.amazon.coral.availability#ThrottlingException",
            "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/",
            "Throttling.RateQuota",
            "RequestThrottled",
        ] {
            assert_eq!(kind(token), Some(TokenKind::Throttle), "{token}");
        }
        for token in [
            "rate_limit_exceeded",
            "RateLimitError",
            "RATE_LIMIT_EXCEEDED",
            "rate-limited",
        ] {
            assert_eq!(kind(token), Some(TokenKind::RateLimit), "{token}");
        }
    }

    #[test]
    fn an_address_behind_a_token_or_before_it_is_no_part_of_it() {
        for token in [
            "ServiceUnavailableException:http://internal.amazon.com/coral/",
            "https://example.com/problems/service-unavailable",
        ] {
            assert_eq!(kind(token), Some(TokenKind::Overloaded), "{token}");
        }
    }

    #[test]
    fn a_daily_quota_is_told_from_one_of_a_minute() {
        let day = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";
        assert_eq!(kind(day), Some(TokenKind::Quota));
        let minute = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier";
        assert_eq!(kind(minute), None);
        assert_eq!(kind("token_quota_exceeded"), None);
        for day in [
            "free-models-per-day",
            "openrouter_free_tier_daily",
            "dailyLimitExceeded",
            "MonthlyQuotaExceeded",
            "weekly_usage",
            "rate_limit_per_week",
            "RateLimitExceeded.FoundationModelTPDExceeded",
        ] {
            assert_eq!(kind(day), Some(TokenKind::Quota), "{day}");
        }
        assert_eq!(kind("daily-digest"), None);
    }

    #[test]
    fn a_quota_problem_is_of_rate_and_the_bare_code_of_money() {
        for problem in [
            "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "https://api.example/problems/quota-exceeded",
            "HTTPS://api.example/Quota-Exceeded/",
            "/quota-exceeded",
        ] {
            assert_eq!(kind(problem), Some(TokenKind::RateLimit), "{problem}");
        }
        for money in [
            "quota_exceeded",
            "quota-exceeded",
            "QuotaExceeded",
            "com.amazonaws#QuotaExceededException",
            "https://api.example/problems/monthly-quota-exceeded",
        ] {
            assert_eq!(kind(money), Some(TokenKind::Quota), "{money}");
        }
    }

    #[test]
    fn the_allowance_of_a_plan_is_told_from_a_rate() {
        for plan in [
            "usage_limit_reached",
            "FreeUsageLimitError",
            "GoUsageLimitError",
            "access_terminated_error",
            "AccountQuotaExceeded",
            "SetLimitExceeded",
            "credit_limit",
            "PrepaidBillOverdue",
            "CommodityNotPurchased",
            "MONTHLY_REQUEST_COUNT",
            "OVERAGE_REQUEST_LIMIT_EXCEEDED",
        ] {
            assert_eq!(kind(plan), Some(TokenKind::Quota), "{plan}");
        }
        for rate in [
            "ModelAccountTpmRateLimitExceeded",
            "RateLimitExceeded.EndpointRPMExceeded",
            "rate_limit_reached_error",
            "user_global_rate_limited:pro",
        ] {
            assert_eq!(kind(rate), Some(TokenKind::RateLimit), "{rate}");
        }
        for busy in [
            "MODEL_CAPACITY_EXHAUSTED",
            "engine_overloaded_error",
            "ServerOverloaded",
        ] {
            assert_eq!(kind(busy), Some(TokenKind::Overloaded), "{busy}");
        }
    }

    #[test]
    fn other_tokens_mean_nothing() {
        for token in [
            "", "tokens", "requests", "429", "1300", "text", "object", "failed", "error", "#", ":",
        ] {
            assert_eq!(kind(token), None, "{token}");
        }
    }
}
