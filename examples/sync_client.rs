//! A driver for a client that blocks: the session says what to do next, and the loop below does it.
//! Run it: `cargo run --all-features --example sync_client`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program has a clock, and prints"
)]

use http::{HeaderMap, Method, Response, StatusCode};
use http_retry::budget::PaidRetry;
use http_retry::policy::{Moment, RequestFacts};
use http_retry::{ErrorKind, Outcome, RetryBudget, RetryPolicy};
use http_retry_core::adapter::{Command, Event};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

fn main() -> io::Result<()> {
    let mut statuses = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::OK].into_iter();
    // In its place stands the call of a client that blocks, with this limit as its timeout.
    let mut send = |_limit: Option<Duration>| {
        let response = Response::builder().status(statuses.next().unwrap_or_default());
        response.body(()).map_err(io::Error::other)
    };
    let (policy, budget) = (RetryPolicy::user_facing(), RetryBudget::default());
    drive(&policy, &budget, &mut send).map(drop)
}

/// Sends a request until its session says that it is finished.
fn drive(
    policy: &RetryPolicy,
    budget: &RetryBudget,
    send: &mut impl FnMut(Option<Duration>) -> io::Result<Response<()>>,
) -> io::Result<Response<()>> {
    let start = Instant::now();
    let moment = || {
        let wall = UNIX_EPOCH.elapsed().unwrap_or_default();
        let random = RandomState::new().build_hasher().finish();
        Moment::new(start.elapsed())
            .with_wall(wall)
            .with_random(random)
    };
    let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
    let mut session = policy.session(facts.replayable(true), Duration::ZERO);
    let mut last = Err(io::ErrorKind::NotConnected.into());
    let mut paid = None;
    let mut command = session.step(Event::Start, moment());
    loop {
        command = match command {
            Command::Admit => session.step(Event::Admitted(Duration::ZERO), moment()), // no gate
            Command::Send => {
                paid.take().into_iter().for_each(PaidRetry::commit);
                last = send(session.attempt_limit(start.elapsed()));
                session.step(Event::Outcome(&mut outcome(&last)), moment())
            }
            // Nothing in this program judges a body.
            Command::Read(_) => session.step(Event::Body(&mut outcome(&last)), moment()),
            Command::Withdraw(plan) => match budget.withdraw(*plan, start.elapsed()) {
                Ok(granted) => session.step(Event::Paid(paid.insert(granted)), moment()),
                Err(_) => session.step(Event::Refused(&policy.classify(outcome(&last))), moment()),
            },
            Command::Wait(until) => {
                sleep(until.saturating_sub(start.elapsed()));
                session.step(Event::Woke, moment())
            }
            Command::Finish(why) => {
                println!("finished after {:?}: {}", start.elapsed(), why.explain());
                return last;
            }
        };
    }
}

fn outcome(result: &io::Result<Response<()>>) -> Outcome<'_> {
    match result {
        Ok(response) => Outcome::response(response.status(), response.headers()),
        Err(_) => Outcome::error(ErrorKind::Other),
    }
}
