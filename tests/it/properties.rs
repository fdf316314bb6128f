//! Rules that hold for every input, each tried on a thousand of them and more.

mod backoff;
mod budget;
mod inputs;
mod limits;
mod repeatable;
mod server_delay;
mod sound;

use http_retry::budget::PaidRetry;
use http_retry::policy::{Moment, RetrySession};
use http_retry::{Outcome, RetryBudget};
use proptest::test_runner::Config;
use std::time::Duration;

fn a_thousand_cases() -> Config {
    Config::with_cases(1_000)
}

/// One more outcome for a session; the retry, if it decides for one, which costs nothing.
fn retry(session: &mut RetrySession, outcome: &Outcome<'_>, moment: Moment) -> Option<PaidRetry> {
    let plan = session.plan(outcome, moment).ok()?;
    let paid = RetryBudget::unlimited().withdraw(plan, Duration::ZERO);
    let paid = paid.ok()?;
    session.apply(&paid);
    Some(paid)
}
