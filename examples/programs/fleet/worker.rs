//! One of the processes: it calls the server ten times a second, and says four times a second how it is doing.

use crate::server::ATTEMPT;
use crate::store::VARIABLE;
use anyhow::Context;
use http::HeaderName;
use http_retry::fleet::Fleet;
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::{Backoff, RetryBudget, RetryPolicy};
use reqwest_middleware::ClientWithMiddleware;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::interval;

const BETWEEN_CALLS: Duration = Duration::from_millis(100);
const BETWEEN_WORDS: Duration = Duration::from_millis(250);

#[derive(Default)]
struct Tally {
    calls: AtomicU64,
    succeeded: AtomicU64,
}

/// Ends when whoever started it closes its input, also by dying.
pub(crate) async fn run(url: &str, in_fleet: bool) -> anyhow::Result<()> {
    let fleet = if in_fleet {
        Some(Fleet::redis(&std::env::var(VARIABLE)?)?)
    } else {
        None
    };
    let budget = match &fleet {
        Some(fleet) => fleet.budget("example", RetryBudget::builder())?,
        None => RetryBudget::default(),
    };
    let tally = Arc::new(Tally::default());
    let client = client(&budget, fleet.as_ref())?;
    tokio::select! {
        () = call(&client, url, &tally) => {}
        said = tell(&tally, &budget, fleet.as_ref()) => said?,
        () = input_ends() => {}
    }
    if let Some(fleet) = fleet {
        fleet.close().await;
    }
    Ok(())
}

fn client(budget: &RetryBudget, fleet: Option<&Fleet>) -> anyhow::Result<ClientWithMiddleware> {
    let policy = RetryPolicy::background()
        .to_builder()
        .backoff(Backoff::exponential(Duration::from_millis(200)))
        .build()?;
    let mut retries = RetryMiddleware::new(policy)
        .redirects_off()
        .attempt_header(HeaderName::from_static(ATTEMPT))
        .budget(budget.clone());
    if let Some(fleet) = fleet {
        retries = retries.fleet(fleet);
    }
    let plain = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    Ok(reqwest_middleware::ClientBuilder::new(plain)
        .with(retries)
        .build())
}

/// Whatever became of the last call, the next one comes: that is how load is when nobody waits for the answer.
async fn call(client: &ClientWithMiddleware, url: &str, tally: &Arc<Tally>) {
    let mut ticks = interval(BETWEEN_CALLS);
    loop {
        ticks.tick().await;
        let (client, url, tally) = (client.clone(), url.to_owned(), Arc::clone(tally));
        tokio::spawn(async move {
            let answer = client.get(url).send().await;
            tally.calls.fetch_add(1, Ordering::Relaxed);
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                tally.succeeded.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

/// A line: calls that are over, those that succeeded, tokens, and whether it is in the fleet, else why not.
async fn tell(tally: &Tally, budget: &RetryBudget, fleet: Option<&Fleet>) -> anyhow::Result<()> {
    let mut ticks = interval(BETWEEN_WORDS);
    loop {
        ticks.tick().await;
        let tokens = budget.tokens_at(TokioRuntime.now());
        let tokens = tokens.context("the budget is unlimited")?;
        let standing = fleet.map(Fleet::status);
        let standing = match standing {
            None => "none".to_owned(),
            Some(status) if status.joined => "joined".to_owned(),
            Some(status) => status
                .reason
                .map_or("new".to_owned(), |reason| reason.to_string()),
        };
        let (calls, succeeded) = (&tally.calls, &tally.succeeded);
        let (calls, succeeded) = (
            calls.load(Ordering::Relaxed),
            succeeded.load(Ordering::Relaxed),
        );
        let mut out = std::io::stdout().lock();
        writeln!(out, "{calls} {succeeded} {tokens} {standing}")?;
        out.flush()?;
    }
}

async fn input_ends() {
    let mut input = tokio::io::stdin();
    let mut read = [0; 64];
    while input.read(&mut read).await.is_ok_and(|bytes| bytes > 0) {}
}
