//! Where people and programs talk: Slack, Discord, Telegram, Zoom, turn.io, X.

use super::seconds;
use crate::dialect::{At, Dialect, Meaning, Row};
use crate::policy::rules::Value;
use crate::policy::{Reason, Scope, Unit};

pub(super) fn slack() -> Dialect {
    // A method is a path, and each has its own limit; so has each webhook.
    let slow = || Meaning::throttled().scope(Scope::Route);
    let no = || Row::when().status(200).path("/api/*").json("/ok", "false");
    Dialect::built_in(
        "slack",
        "docs.slack.dev, rate limits and errors of the Web API",
    )
    .rows([
        Row::when().status(429).is(slow()),
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
        .is(Meaning::transient()),
    ])
}

pub(super) fn discord() -> Dialect {
    let refused = || Row::when().status(429);
    let slow = || {
        Meaning::throttled()
            .delay(At::json("/retry_after"), Unit::S)
            .delay(At::head("x-ratelimit-reset-after"), Unit::S)
    };
    Dialect::built_in("discord", "discord/discord-api-docs, rate limits").rows([
        // The resource's own limit, which others use up as well.
        refused()
            .head("x-ratelimit-scope", "shared")
            .is(slow().scope(Scope::Request)),
        refused()
            .head("x-ratelimit-global", "true")
            .is(slow().scope(Scope::Account)),
        refused()
            .json("/global", "true")
            .is(slow().scope(Scope::Account)),
        refused().is(slow().scope_from(At::head("x-ratelimit-bucket"))),
    ])
}

pub(super) fn telegram() -> Dialect {
    let delay = "/parameters/retry_after";
    Dialect::built_in("telegram", "core.telegram.org/bots/api, ResponseParameters").rows([
        Row::when()
            .status(429)
            .is(Meaning::throttled().delay(At::json(delay), Unit::S)),
    ])
}

pub(super) fn zoom() -> Dialect {
    let refused = || Row::when().status(429);
    // Of a day's limit `Retry-After` is a date of ISO 8601.
    let of_a_day = || Meaning::throttled().delay(At::head("retry-after"), Unit::Iso);
    let of_a_second = || Meaning::throttled().at_least(seconds(1));
    Dialect::built_in("zoom", "developers.zoom.us, rate limits").rows([
        refused()
            .head("x-ratelimit-type", Value::starts("daily"))
            .is(of_a_day()),
        refused().text("daily rate limit").is(of_a_day()),
        refused().head("x-ratelimit-type", "QPS").is(of_a_second()),
        refused().text("per-second").is(of_a_second()),
    ])
}

pub(super) fn turn_io() -> Dialect {
    Dialect::built_in("turn_io", "whatsapp.turn.io/docs, rate limiting").rows([Row::when()
        .status(429)
        .has_head("x-ratelimit-bucket")
        .is(Meaning::throttled().scope_from(At::head("x-ratelimit-bucket")))])
}

pub(super) fn x() -> Dialect {
    let refused = || Row::when().status(429);
    let day = |name: &str| {
        let remaining = format!("x-{name}-limit-24hour-remaining");
        let reset = At::head(&format!("x-{name}-limit-24hour-reset"));
        let slow = Meaning::throttled().delay(reset, Unit::Unix);
        refused().head(&remaining, 0).is(slow.scope(Scope::Route))
    };
    Dialect::built_in("x", "docs.x.com, rate limits").rows([
        refused()
            .json("/title", "UsageCapExceeded")
            .is(Meaning::permanent().because(Reason::QuotaExhausted)),
        day("user"),
        day("app"),
        refused().is(Meaning::throttled().scope(Scope::Route)),
    ])
}
