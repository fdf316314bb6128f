//! What the code tokens of the providers mean.

/// What one code token means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meaning {
    /// Money, credits or a daily quota are used up.
    Quota,
    /// The prompt does not fit the model.
    Context,
    ContentPolicy,
    /// One field is too long, whatever the prose says of lengths.
    Field,
    TooLarge,
    /// A limit on what runs at once, under a status that says otherwise.
    InFlight,
    /// A limit that others share.
    SharedPool,
    /// A rate limit by name.
    RateLimit,
    Overloaded,
    /// Some throttle: a name that is also given to overload.
    Throttle,
    Timeout,
    Auth,
    Permission,
    NotFound,
    Conflict,
    /// The provider failed inside: said at 503 to tell it from overload.
    Internal,
    /// The provider failed.
    Server,
    Invalid,
}

/// What a token means, where it is a known one.
///
/// A token is compared whole, in lower case and without `_`, `-` and blanks; AWS may put a namespace before it and an
/// address behind it, and some send an address that ends with it. Families such as `organization_spend_limit_exceeded` are
/// known by the words in the token.
pub(crate) fn meaning(token: &str) -> Option<Meaning> {
    if is_quota_problem(token) {
        return Some(Meaning::RateLimit);
    }
    let plain = plain(token);
    let name = ["exception", "error"]
        .iter()
        .find_map(|end| plain.strip_suffix(end))
        .unwrap_or(&plain);
    exact(name).or_else(|| family(name))
}

/// What `1113` and the other numbers of Zhipu mean; numbers mean this only beside a 429.
pub(crate) fn is_spent_by_number(token: &str) -> bool {
    matches!(token, "1113" | "1304" | "1308" | "1309" | "1310")
}

/// Whether a token is the problem type of a request over its quota, which is one of requests in a time and not of money,
/// as `quota_exceeded` alone is.
///
/// # Source
///
/// draft-ietf-httpapi-ratelimit-headers, "Problem Types": `https://iana.org/assignments/http-problem-types#quota-exceeded`.
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

fn exact(name: &str) -> Option<Meaning> {
    Some(match name {
        "accountoverdue"
        | "arrearage"
        | "exceededcurrentquota"
        | "nocredits"
        | "notenoughcredits"
        | "openroutercredits"
        | "outofcredit"
        | "outofcredits"
        | "paymentrequired"
        | "quotaexceeded"
        | "quotaexhausted"
        | "servicequotaexceeded"
        | "usagelimitexceeded"
        | "usagelimitreached"
        | "usagenotincluded" => Meaning::Quota,
        "exceedcontextlength" | "inputtoolong" | "prompttoolong" | "tokenlimitexceeded" => {
            Meaning::Context
        }
        "datainspectionfailed" | "moderationblocked" | "prohibitedcontent" => {
            Meaning::ContentPolicy
        }
        "stringabovemaxlength" | "arrayabovemaxlength" => Meaning::Field,
        "requesttoolarge" | "requestentitytoolarge" | "payloadtoolarge" => Meaning::TooLarge,
        "openrouterinflightbudget" => Meaning::InFlight,
        "slowdown" | "ramplimitexceeded" | "userratelimitexceeded" => Meaning::RateLimit,
        "resourceexhausted"
        | "someresourcehasbeenexhausted"
        | "toomanyrequests"
        | "requestlimitexceeded"
        | "bandwidthlimitexceeded"
        | "limitexceeded"
        | "priorrequestnotcomplete"
        | "provisionedthroughputexceeded"
        | "transactioninprogress" => Meaning::Throttle,
        "flexunavailable"
        | "resourceunavailable"
        | "serviceunavailable"
        | "unavailable"
        | "theserviceiscurrentlyunavailable"
        | "modelnotready"
        | "modelloading"
        | "serverbusy"
        | "enginebusy"
        | "modelbusy" => Meaning::Overloaded,
        "deadlineexceeded" | "cancelled" => Meaning::Timeout,
        "api" | "cmekkeyunreachable" | "internal" | "internalserver" => Meaning::Internal,
        "server" | "modelstream" | "internalfailure" => Meaning::Server,
        _ => return refused(name),
    })
}

/// The codes of requests that are wrong in themselves.
fn refused(name: &str) -> Option<Meaning> {
    Some(match name {
        "apikeyinvalid"
        | "authentication"
        | "expiredtoken"
        | "invalidapikey"
        | "invalidauthentication"
        | "unauthenticated"
        | "unauthorized"
        | "unrecognizedclient" => Meaning::Auth,
        "accessdenied" | "forbidden" | "permission" | "permissiondenied" => Meaning::Permission,
        "deploymentnotfound" | "modelnotfound" | "notfound" | "resourcenotfound" => {
            Meaning::NotFound
        }
        "conflict" => Meaning::Conflict,
        "badrequest"
        | "clientspecifiedaninvalidargument"
        | "failedprecondition"
        | "unprocessableentity"
        | "validation" => Meaning::Invalid,
        _ => return None,
    })
}

/// Tokens that providers vary; the words are long enough to mean one thing.
fn family(name: &str) -> Option<Meaning> {
    const FAMILIES: [(&str, Meaning); 29] = [
        ("insufficientquota", Meaning::Quota),
        ("insufficientcredit", Meaning::Quota),
        ("insufficientbalance", Meaning::Quota),
        ("insufficientfund", Meaning::Quota),
        ("creditsbalance", Meaning::Quota),
        ("creditbalance", Meaning::Quota),
        ("spendlimit", Meaning::Quota),
        ("spendinglimit", Meaning::Quota),
        ("billing", Meaning::Quota),
        ("budgetexceeded", Meaning::Quota),
        ("creditsexhausted", Meaning::Quota),
        ("perday", Meaning::Quota),
        ("perweek", Meaning::Quota),
        ("permonth", Meaning::Quota),
        ("contextlength", Meaning::Context),
        ("contextwindow", Meaning::Context),
        ("contextsize", Meaning::Context),
        ("contextlimit", Meaning::Context),
        ("contentpolicy", Meaning::ContentPolicy),
        ("contentfilter", Meaning::ContentPolicy),
        ("policyviolation", Meaning::ContentPolicy),
        ("sharedpool", Meaning::SharedPool),
        ("capacity", Meaning::Overloaded),
        ("overload", Meaning::Overloaded),
        ("ratelimit", Meaning::RateLimit),
        ("throttl", Meaning::Throttle),
        ("timeout", Meaning::Timeout),
        ("invalid", Meaning::Invalid),
        ("unsupported", Meaning::Invalid),
    ];
    let insufficient = name.starts_with("insufficient") && name.contains("credit");
    if insufficient || is_of_a_day(name) {
        return Some(Meaning::Quota);
    }
    let found = FAMILIES.iter().find(|(words, _)| name.contains(words));
    found.map(|(_, meaning)| *meaning)
}

/// Whether a token names a limit of a day, a week or a month, as `openrouterfreetierdaily` does; not everything that is
/// called daily is a limit.
fn is_of_a_day(name: &str) -> bool {
    const LIMITS: [&str; 8] = [
        "cap", "exceed", "free", "limit", "quota", "request", "token", "usage",
    ];
    let long = ["daily", "weekly", "monthly"];
    let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
    holds(&long) && holds(&LIMITS)
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
            assert_eq!(meaning(token), Some(Meaning::Throttle), "{token}");
        }
        for token in [
            "rate_limit_exceeded",
            "RateLimitError",
            "RATE_LIMIT_EXCEEDED",
            "rate-limited",
        ] {
            assert_eq!(meaning(token), Some(Meaning::RateLimit), "{token}");
        }
    }

    #[test]
    fn an_address_behind_a_token_or_before_it_is_no_part_of_it() {
        for token in [
            "ServiceUnavailableException:http://internal.amazon.com/coral/",
            "https://example.com/problems/service-unavailable",
        ] {
            assert_eq!(meaning(token), Some(Meaning::Overloaded), "{token}");
        }
    }

    #[test]
    fn a_daily_quota_is_told_from_one_of_a_minute() {
        let day = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";
        assert_eq!(meaning(day), Some(Meaning::Quota));
        let minute = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier";
        assert_eq!(meaning(minute), None);
        assert_eq!(meaning("token_quota_exceeded"), None);
        for day in [
            "free-models-per-day",
            "openrouter_free_tier_daily",
            "dailyLimitExceeded",
            "MonthlyQuotaExceeded",
            "weekly_usage",
            "rate_limit_per_week",
        ] {
            assert_eq!(meaning(day), Some(Meaning::Quota), "{day}");
        }
        assert_eq!(meaning("daily-digest"), None);
    }

    #[test]
    fn a_quota_problem_is_of_rate_and_the_bare_code_of_money() {
        for problem in [
            "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "https://api.example/problems/quota-exceeded",
            "HTTPS://api.example/Quota-Exceeded/",
            "/quota-exceeded",
        ] {
            assert_eq!(meaning(problem), Some(Meaning::RateLimit), "{problem}");
        }
        for money in [
            "quota_exceeded",
            "quota-exceeded",
            "QuotaExceeded",
            "com.amazonaws#QuotaExceededException",
            "https://api.example/problems/monthly-quota-exceeded",
        ] {
            assert_eq!(meaning(money), Some(Meaning::Quota), "{money}");
        }
    }

    #[test]
    fn other_tokens_mean_nothing() {
        for token in [
            "", "tokens", "requests", "429", "1300", "text", "object", "failed", "error", "#", ":",
        ] {
            assert_eq!(meaning(token), None, "{token}");
        }
    }
}
