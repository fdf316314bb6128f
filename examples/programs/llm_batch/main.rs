//! Many calls to an API with a quota, and how each retry layer keeps to it.
//!
//! ```text
//! cargo run --all-features --example llm_batch [-- --calls 2000 --at-once 100 --quota 200 --window-ms 2000]
//! ```
//!
//! Three servers in this process have the same quota, and three clients make the same calls at the same time: through
//! `RetryPolicy::llm()` where a 429 carries `Retry-After`, through the same where every answer tells the quota in its
//! headers, and through reqwest-retry. It ends with an error if either of the first two leaves a call undone, takes much
//! longer than the quota allows, or has more calls refused than it must.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what it is for"
)]

mod batch;
mod chart;
mod progress;
#[path = "server/server.rs"]
mod server;

use anyhow::{Result, bail, ensure};
use batch::{Batch, Outcome, Retries};
use chart::Chart;
use clap::Parser;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long a run may take, in times of the shortest possible.
const MOST_TIME: f64 = 1.12;
/// How many calls may be refused for each that is done, where `Retry-After` alone tells of the quota.
const MOST_REJECTED: f64 = 0.02;
/// The same where every answer tells of it.
const MOST_REJECTED_WITH_HEADERS: f64 = 0.0;
/// A run that takes longer than so many times the shortest possible, and the grace, is ended.
const GIVEN_UP_AFTER: u32 = 3;
const GRACE: Duration = Duration::from_secs(30);

/// Makes many calls against a quota, with three retry layers side by side.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// How many calls to make; more than the quota.
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
    /// How many of them at a time.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    at_once: u16,
    /// How many calls are accepted in a window.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    quota: u32,
    /// How long a window is, in milliseconds.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    window_ms: u64,
    /// A 429 says when to come back in whole seconds, rounded up, and not in milliseconds.
    #[arg(long)]
    whole_seconds: bool,
}

impl Args {
    fn window(&self) -> Duration {
        Duration::from_millis(self.window_ms)
    }

    /// The shortest time for all calls. The quota lets the last of them through in the last window, the first of which
    /// begins with the first call; and only so many calls are made at a time, each of which takes its time.
    fn bound(&self) -> Result<Duration> {
        let windows = self.calls.div_ceil(usize::try_from(self.quota)?);
        ensure!(
            windows > 1,
            "--calls must be more than --quota, or nothing waits"
        );
        let before_the_last = u32::try_from(windows.saturating_sub(1))?;
        let by_quota = self.window().saturating_mul(before_the_last);
        let in_turn = u32::try_from(self.calls)? / u32::from(self.at_once);
        Ok(by_quota.max(batch::mean_call().saturating_mul(in_turn)))
    }

    /// How long a run may take in all. A server that rounds its delays up opens each window late, by up to a second.
    fn most_time(&self, bound: Duration) -> Duration {
        let late = if self.whole_seconds { 1_000 } else { 0 };
        let window = u32::try_from(self.window_ms).unwrap_or(u32::MAX);
        let late = f64::from(window.saturating_add(late)) / f64::from(window);
        bound.mul_f64(MOST_TIME * late)
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("llm_batch: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<()> {
    let bound = args.bound()?;
    let (calls, quota) = (args.calls, args.quota);
    println!(
        "{calls} calls, {} at once, {quota} per {:?}: {:.1} s at least",
        args.at_once,
        args.window(),
        bound.as_secs_f64(),
    );
    let batches = [
        Batch::new("Retry-After only", Retries::HttpRetry, false, args).await?,
        Batch::new("with quota headers", Retries::HttpRetry, true, args).await?,
        Batch::new("reqwest-retry", Retries::ReqwestRetry, false, args).await?,
    ];
    let batches = batches.map(Arc::new);
    let most = bound.saturating_mul(GIVEN_UP_AFTER).saturating_add(GRACE);
    let runs = batches.each_ref().map(|batch| {
        let batch = Arc::clone(batch);
        tokio::spawn(batch.run(usize::from(args.at_once), most))
    });
    progress::show(&batches, calls, || runs.iter().all(JoinHandle::is_finished)).await;
    let mut outcomes = Vec::new();
    for run in runs {
        outcomes.push(run.await??);
    }
    print(&outcomes, calls, bound);
    check(&outcomes, calls, args.most_time(bound))
}

fn print(outcomes: &[Outcome], calls: usize, bound: Duration) {
    println!("\n                        done   rejected  per call done       time  of the bound");
    for outcome in outcomes {
        let seconds = outcome.took.as_secs_f64();
        println!(
            "{:<18} {:>9} {:>10} {:>14.3} {seconds:>8.1} s {:>13.2}",
            outcome.name,
            format!("{}/{calls}", outcome.done),
            outcome.rejected(),
            outcome.rejected_per_done(),
            seconds / bound.as_secs_f64(),
        );
    }
    for outcome in outcomes {
        for (why, count) in &outcome.given_up {
            println!("{}: {count} given up, {why}", outcome.name);
        }
    }
    let columns: Vec<_> = outcomes
        .iter()
        .map(|outcome| (outcome.name, outcome.seconds.clone()))
        .collect();
    println!("\n{}", Chart { columns: &columns });
}

/// Whether this crate's two runs kept what they must; the third is for comparison.
fn check(outcomes: &[Outcome], calls: usize, most_time: Duration) -> Result<()> {
    let limits = [MOST_REJECTED, MOST_REJECTED_WITH_HEADERS];
    let mut broken = Vec::new();
    for (outcome, most_rejected) in outcomes.iter().zip(limits) {
        let name = outcome.name;
        if outcome.done < calls {
            broken.push(format!(
                "{name}: {} calls are not done",
                calls.saturating_sub(outcome.done)
            ));
        }
        if outcome.took > most_time {
            broken.push(format!("{name}: it took more than {most_time:.1?}"));
        }
        if outcome.rejected_per_done() > most_rejected {
            broken.push(format!(
                "{name}: more than {most_rejected} rejected for each call done"
            ));
        }
    }
    if !broken.is_empty() {
        bail!("{}", broken.join("; "));
    }
    println!("\nall calls are done, in less than {most_time:.1?}");
    Ok(())
}
