//! Chat, social networks, mail and notifications: Slack, Discord, Telegram, Matrix, Feishu, DingTalk, WeChat, VK, Zoom,
//! turn.io, X, Facebook, LinkedIn, SendGrid, Emailit, Resend, Brevo, MailerLite, Twilio, Apple's push notifications.

use super::{MINUTE, on, seconds, unless_head};
use crate::dialect::{Interpretation, Location, Row};
use http::header::RETRY_AFTER;
use http_retry_core::policy::{Reason, Scope, Unit};
use http_retry_rules::Value;

pub(super) fn slack() -> Vec<Row> {
    // A method is a path, and each has its own limit; so has each webhook.
    let slow = || Interpretation::throttled().scope(Scope::Route);
    let no = || on([200]).path("/api/*").json("/ok", "false");
    vec![
        on([429]).is(slow()),
        no().json("/error", ["ratelimited", "rate_limited"])
            .is(slow()),
        no().json(
            "/error",
            [
                "internal_error",
                "fatal_error",
                "service_unavailable",
                "team_added_to_org",
            ],
        )
        .is(Interpretation::transient()),
    ]
}

pub(super) fn discord() -> Vec<Row> {
    let refused = || on([429]);
    let slow = || {
        Interpretation::throttled()
            .delay(Location::json("/retry_after"), Unit::S)
            .delay(Location::header("x-ratelimit-reset-after"), Unit::S)
    };
    vec![
        // The resource's own limit, which other clients use up as well.
        refused()
            .header("x-ratelimit-scope", "shared")
            .is(slow().scope(Scope::Request)),
        refused()
            .header("x-ratelimit-global", "true")
            .is(slow().scope(Scope::Account)),
        refused()
            .json("/global", "true")
            .is(slow().scope(Scope::Account)),
        refused().is(slow().scope_from(Location::header("x-ratelimit-bucket"))),
    ]
}

pub(super) fn telegram() -> Vec<Row> {
    let delay = "/parameters/retry_after";
    vec![on([429]).is(Interpretation::throttled().delay(Location::json(delay), Unit::S))]
}

pub(super) fn matrix() -> Vec<Row> {
    let delay = "/retry_after_ms";
    let slow = Interpretation::throttled().delay(Location::json(delay), Unit::Ms);
    vec![on([429]).json(delay, Value::any()).is(slow)]
}

pub(super) fn feishu() -> Vec<Row> {
    // The limits are those "of each API, each app and each tenant".
    let slow = || {
        Interpretation::throttled()
            .delay(Location::header("x-ogw-ratelimit-reset"), Unit::S)
            .scope(Scope::MethodRoute)
    };
    // "Request trigger frequency limit"; the limit of one message or chat; a robot's message at a busy time.
    let codes = ["99991400", "230020", "11232"];
    vec![
        on([429]).is(slow()),
        // Older methods refuse with 400; some gateways hand the code on in a 200.
        on([200, 400])
            .path("/open-apis/*")
            .json("/code", codes)
            .is(slow()),
    ]
}

pub(super) fn dingtalk() -> Vec<Row> {
    // "The limit lasts 1 second." Its name begins like that of a permission.
    let slow = || {
        Interpretation::throttled()
            .at_least(seconds(1))
            .scope(Scope::MethodRoute)
    };
    vec![
        on([403])
            .json("/code", Value::has(["QpsLimitFor"]))
            .is(slow()),
        // The older API, which responds with 200.
        on([200]).json("/errcode", "90018").is(slow()),
        on([200]).json("/sub_code", "90018").is(slow()),
    ]
}

pub(super) fn wechat() -> Vec<Row> {
    let error = |code: &str| on([200]).path("/cgi-bin/*").json("/errcode", code);
    let slow = || {
        Interpretation::throttled()
            .at_least(MINUTE)
            .scope(Scope::MethodRoute)
    };
    vec![
        // "reach max api daily quota limit"; WeCom has the same code for the calls of a minute or an hour.
        error("45009")
            .message("daily quota")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        error("45009").is(slow()),
        // "api minute-quota reach limit, must slower, retry next minute"
        error("45011").is(slow()),
        // "system error": busy, try again.
        error("-1").is(Interpretation::transient()),
    ]
}

pub(super) fn vk() -> Vec<Row> {
    let error = |code: &str| on([200]).path("/method/*").json("/error/error_code", code);
    vec![
        // "Rate limit reached": the quota of a method.
        error("29").is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // "Too many requests per second"
        error("6").is(Interpretation::throttled().at_least(seconds(1))),
        error("10").is(Interpretation::transient()),
    ]
}

pub(super) fn zoom() -> Vec<Row> {
    let refused = || on([429]);
    // Each category of methods, `Light` to `Resource-intensive`, has limits of its own.
    let category = "x-ratelimit-category";
    let slow = || Interpretation::throttled().scope_from(Location::header(category));
    let of_a_second = || slow().at_least(seconds(1));
    vec![
        // The limit of one user and day, without the headers of the others: "You may resume these requests at GMT
        // 00:00:00."
        refused()
            .and(unless_head(RETRY_AFTER))
            .message("daily rate limit")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        refused()
            .header("x-ratelimit-type", "QPS")
            .is(of_a_second()),
        refused().message("per-second").is(of_a_second()),
        // For a daily limit, `Retry-After` is an ISO 8601 date.
        refused().has_header(category).is(slow()),
    ]
}

pub(super) fn turn_io() -> Vec<Row> {
    vec![
        on([429])
            .has_header("x-ratelimit-bucket")
            .is(Interpretation::throttled().scope_from(Location::header("x-ratelimit-bucket"))),
    ]
}

pub(super) fn x() -> Vec<Row> {
    let refused = || on([429]);
    let day = |name: &str| {
        let remaining = format!("x-{name}-limit-24hour-remaining");
        let reset = Location::header(&format!("x-{name}-limit-24hour-reset"));
        let slow = Interpretation::throttled().delay(reset, Unit::Unix);
        refused().header(&remaining, 0).is(slow.scope(Scope::Route))
    };
    vec![
        refused()
            .json("/title", ["UsageCapExceeded", "SpendCapReached"])
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        day("user"),
        day("app"),
        refused().is(Interpretation::throttled().scope(Scope::Route)),
    ]
}

pub(super) fn facebook() -> Vec<Row> {
    let failed = || on(400..=599);
    // The minutes until the app, page or account has access again; for each of its uses one.
    let usage = Location::header_part(
        "x-business-use-case-usage",
        "estimated_time_to_regain_access",
    );
    let slow = Interpretation::throttled().delay(usage, Unit::Min);
    // An app, a user, a page, a custom limit; then the limits of each business use: insights, pages, Instagram,
    // audiences, ads, leads, Messenger, WhatsApp, catalogs.
    let limits = [
        "4", "17", "32", "613", "80000", "80001", "80002", "80003", "80004", "80005", "80006",
        "80008", "80009", "80014",
    ];
    vec![
        failed()
            .json("/error/code", limits)
            .is(slow.at_least(MINUTE)),
        // "Temporary issue due to downtime", or due to throttling (341): "Wait and retry the operation."
        failed()
            .json("/error/code", ["1", "2", "341"])
            .is(Interpretation::transient()),
        failed()
            .json("/error/is_transient", "true")
            .is(Interpretation::transient()),
    ]
}

pub(super) fn linkedin() -> Vec<Row> {
    // "Resource level throttle APPLICATION DAY limit for calls to this resource is reached." A day ends at midnight,
    // UTC.
    vec![
        on([429])
            .message("day limit for calls")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
    ]
}

pub(super) fn sendgrid() -> Vec<Row> {
    vec![on([429]).is(Interpretation::throttled().scope(Scope::Route))]
}

pub(super) fn emailit() -> Vec<Row> {
    vec![on([429]).is(Interpretation::throttled().delay(Location::json("/retry_after"), Unit::S))]
}

pub(super) fn resend() -> Vec<Row> {
    // The emails of a day and of a month; `rate_limit_exceeded` is another.
    vec![
        on([429])
            .json("/name", ["daily_quota_exceeded", "monthly_quota_exceeded"])
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
    ]
}

pub(super) fn brevo() -> Vec<Row> {
    let reset = Location::header("x-sib-ratelimit-reset");
    let slow = Interpretation::throttled().delay(reset, Unit::S);
    vec![on([429]).is(slow.scope(Scope::Route))]
}

pub(super) fn mailerlite() -> Vec<Row> {
    // The classic API: a limit for each endpoint, and a delay in a header of its own. The current API has
    // `Retry-After`.
    let after = "x-ratelimit-retry-after";
    let slow = Interpretation::throttled().delay(Location::header(after), Unit::S);
    vec![on([429]).has_header(after).is(slow.scope(Scope::Route))]
}

pub(super) fn twilio() -> Vec<Row> {
    let error = |code: &str| on([429]).json("/code", code);
    vec![
        // "Max check attempts reached": a new code must be sent.
        error("60202").is(Interpretation::permanent()),
        // "Max send attempts reached": five messages to one number in ten minutes.
        error("60203").is(Interpretation::throttled()
            .at_least(seconds(10 * 60))
            .scope(Scope::Request)),
    ]
}

pub(super) fn apns() -> Vec<Row> {
    vec![
        // "Too many requests were made consecutively to the same device token", which the path ends with.
        on([429])
            .json("/reason", "TooManyRequests")
            .is(Interpretation::throttled().scope(Scope::Route)),
    ]
}
