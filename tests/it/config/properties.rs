//! Any layers at all, against a merge that is written down as plainly as can be.

mod layers;
mod model;

use super::{SECOND, origins, policy};
use http_retry::policy::Decimal;
use http_retry::{Backoff, Jitter, Methods, RetryPolicy};
use http_retry_core::settings::PolicyExt;
use layers::{config, layers};
use model::{Model, model};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// The same policy by the builder.
fn built(model: &Model) -> RetryPolicy {
    let time = |field: &str| text(model, field).and_then(time);
    let methods = match text(model, "methods").unwrap() {
        "all" => Methods::All,
        _ => Methods::Idempotent,
    };
    let count = |field: &str| text(model, field).map_or(0, |text| text.parse::<u32>().unwrap());
    let retries = count("max_retries");
    let refused = if retries == 0 {
        0
    } else {
        count("max_refused")
    };
    let builder = RetryPolicy::builder()
        .max_retries(retries)
        .max_refused(refused)
        .backoff(backoff(model))
        .deadline(time("deadline"))
        .attempt_timeout(time("attempt_timeout"))
        .max_server_delay(time("retry_after.max"))
        .methods(methods)
        .max_gate_wait(time("gate"));
    builder.build().unwrap()
}

fn backoff(model: &Model) -> Backoff {
    let base = text(model, "base").and_then(time).unwrap();
    let mut backoff = match text(model, "backoff").unwrap() {
        "none" => Backoff::none(),
        "fixed" => Backoff::fixed(base),
        "linear" => Backoff::linear(base),
        _ => Backoff::exponential(base),
    };
    if let Some(most) = text(model, "max_delay") {
        backoff = backoff.max_delay(time(most));
    }
    if let Some(factor) = decimal(model, "factor") {
        backoff = backoff.factor(factor);
    }
    let backoff = match text(model, "cap") {
        Some("before") => backoff.cap_before_jitter(),
        Some("after") => backoff.cap_after_jitter(),
        _ => backoff,
    };
    let step = text(model, "first_step").map_or(0, |step| step.parse().unwrap());
    backoff.first_step(step).jitter(jitter(model))
}

fn jitter(model: &Model) -> Jitter {
    let min = decimal(model, "jitter.min").unwrap_or(Decimal::from(0));
    let max = decimal(model, "jitter.max").unwrap_or(Decimal::from(1));
    match text(model, "jitter") {
        Some("decorrelated") => Jitter::Decorrelated,
        _ => Jitter::between(min, max),
    }
}

fn text<'a>(model: &'a Model, field: &str) -> Option<&'a str> {
    model.get(field).map(|(value, _)| value.as_str())
}

fn decimal(model: &Model, field: &str) -> Option<Decimal> {
    text(model, field).map(|text| Decimal::from(text.parse::<f64>().unwrap()))
}

fn time(text: &str) -> Option<std::time::Duration> {
    let number = |unit: &str| text.strip_suffix(unit)?.parse::<u32>().ok();
    let milliseconds = number("ms").map(|n| SECOND / 1_000 * n);
    let minutes = || number("m").map(|n| SECOND * 60 * n);
    milliseconds
        .or_else(|| number("s").map(|n| SECOND * n))
        .or_else(minutes)
}

/// What is said of a schedule, without its name, and with one word for each way of jitter.
fn schedule(policy: &RetryPolicy) -> Vec<String> {
    let text = policy.explain();
    let lines = text.lines().skip(1);
    lines
        // What is made of a server's wish has no setting in code, and is held by tests of its own.
        .filter(|line| !line.contains(" (from ") && !line.contains("a server "))
        .map(|line| {
            line.replace("jitter 1 to 1", "no jitter")
                .replace("jitter 0.5 to 1", "equal jitter")
                .replace("jitter 0 to 1", "full jitter")
        })
        .collect()
}

proptest! {
    #![proptest_config(Config::with_cases(1_000))]

    #[test]
    fn every_effective_field_comes_from_the_most_specific_layer(layers in layers()) {
        let found = policy(&config(&layers), Some("a"), Some("r"));
        let found: Model = origins(&found)
            .into_iter()
            .map(|(field, value, from)| (field, (value, from)))
            .collect();
        prop_assert_eq!(found, model(&layers));
    }

    #[test]
    fn the_policy_in_force_is_the_one_that_is_explained(layers in layers()) {
        let found = policy(&config(&layers), Some("a"), Some("r"));
        let wanted = built(&model(&layers));
        prop_assert_eq!(found.retry_limit(), wanted.retry_limit());
        prop_assert_eq!(schedule(&found), schedule(&wanted));
    }
}
