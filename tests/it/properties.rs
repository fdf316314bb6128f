//! Rules that hold for every input, each tried on a thousand of them and more.

mod backoff;
mod budget;
mod inputs;
mod limits;
mod repeatable;
mod server_delay;
mod sound;

use http_retry::policy::{Decision, Moment, RetryPlan, RetrySession};
use http_retry::{Outcome, RetryBudget};
use proptest::test_runner::Config;
use std::time::Duration;

fn a_thousand_cases() -> Config {
    Config::with_cases(1_000)
}

/// The delay of a plan that nobody has to pay for.
fn delay_of(plan: RetryPlan) -> Duration {
    let paid = RetryBudget::unlimited().withdraw(plan, Duration::ZERO);
    paid.unwrap().delay()
}

/// One more outcome for a session; the plan, if it decides to retry.
fn plan(session: &mut RetrySession, outcome: &Outcome<'_>, moment: Moment) -> Option<RetryPlan> {
    match session.on_outcome(outcome, moment) {
        Decision::Retry(plan) => Some(plan),
        _ => None,
    }
}
