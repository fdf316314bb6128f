//! Settings that can work, at every size.

use super::inputs::{count, decimal_up_to, duration};
use http_retry::llm::LlmPreset;
use http_retry::policy::Decimal;
use http_retry::{Backoff, Jitter, Methods, RetryPolicy};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;

fn nonzero() -> BoxedStrategy<Duration> {
    let least = Duration::from_nanos(1);
    duration()
        .prop_map(move |duration| duration.max(least))
        .boxed()
}

fn factor() -> BoxedStrategy<Decimal> {
    prop_oneof![
        (1_u32..=1_000).prop_map(Decimal::from),
        (1_000_u32..=10_000).prop_map(|thousandths| Decimal::from(f64::from(thousandths) / 1e3)),
        Just(Decimal::from(1.000_001)),
    ]
    .boxed()
}

fn jitter() -> BoxedStrategy<Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        (decimal_up_to(1), (1_u32..=1_000).prop_map(Decimal::from))
            .prop_map(|(min, max)| Jitter::Between { min, max }),
    ]
    .boxed()
}

/// A growth, and the least that its maximum delay may be.
fn growth() -> BoxedStrategy<(Backoff, Duration)> {
    prop_oneof![
        Just((Backoff::none(), Duration::ZERO)),
        duration().prop_map(|base| (Backoff::fixed(base), base)),
        nonzero().prop_map(|base| (Backoff::linear(base), base)),
        nonzero().prop_map(|base| (Backoff::exponential(base), base)),
        vec(duration(), 1..6).prop_map(|list| (Backoff::schedule(list), Duration::ZERO)),
        duration().prop_map(|each| {
            let custom = Backoff::custom(move |n| each.saturating_mul(n / 2));
            (custom, Duration::ZERO)
        }),
    ]
    .boxed()
}

/// A backoff, and the maximum that none of its delays exceeds.
pub(super) fn capped_backoff() -> BoxedStrategy<(Backoff, Duration)> {
    let after = any::<bool>();
    (growth(), factor(), 0_u32..=1, jitter(), duration(), after)
        .prop_map(
            |((backoff, least), factor, first_step, jitter, more, after)| {
                let most = least.saturating_add(more);
                let backoff = backoff.factor(factor).first_step(first_step);
                let backoff = backoff.jitter(jitter).max_delay(most);
                if after {
                    (backoff.cap_after_jitter(), most)
                } else {
                    (backoff, most)
                }
            },
        )
        .boxed()
}

pub(super) fn backoff() -> BoxedStrategy<Backoff> {
    let capped = || capped_backoff().prop_map(|(backoff, _)| backoff);
    prop_oneof![
        capped(),
        capped().prop_map(Backoff::cap_before_jitter),
        capped().prop_map(|backoff| backoff.max_delay(None)),
    ]
    .boxed()
}

/// A policy with any number of retries.
pub(super) fn policy() -> BoxedStrategy<RetryPolicy> {
    prop_oneof![
        1 => select(vec![
            RetryPolicy::user_facing(),
            RetryPolicy::background(),
            RetryPolicy::llm(),
            RetryPolicy::rate_limited(),
            RetryPolicy::never(),
        ]),
        4 => policy_from_the_ground_up(),
    ]
    .boxed()
}

fn policy_from_the_ground_up() -> BoxedStrategy<RetryPolicy> {
    let limits = (
        option::of(nonzero()),
        option::of(nonzero()),
        option::of(duration()),
    );
    let methods = select(vec![Methods::Idempotent, Methods::All]);
    (count(), backoff(), limits, methods)
        .prop_map(|(retries, backoff, (deadline, timeout, asked), methods)| {
            let timeout = timeout.map(|timeout| timeout.min(deadline.unwrap_or(timeout)));
            let builder = RetryPolicy::builder().max_retries(retries).backoff(backoff);
            let builder = builder.deadline(deadline).attempt_timeout(timeout);
            let builder = builder.max_server_delay(asked).methods(methods);
            builder.build().unwrap()
        })
        .boxed()
}
