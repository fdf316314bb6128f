//! Eight processes that share a retry budget, and the same eight without.
//!
//! It starts a store (`redis-server` or `valkey-server` if one is on PATH, else the one at `REDIS_URL`) and a server that
//! has a quota, then an outage. Eight worker processes of this program call it, first each for itself, then as a fleet; in
//! the middle of the second outage the store is killed and brought back. The table is live, and the end compares the two.
//!
//! `cargo run --all-features --example fleet`

#![expect(clippy::disallowed_methods, reason = "an example shows real time")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what it is for"
)]

mod crew;
mod server;
mod store;
mod worker;

use anyhow::{Context, ensure};
use clap::{Parser, Subcommand};
use crew::Crew;
use server::{Counts, Phase, Server};
use std::process::ExitCode;
use std::time::Duration;
use store::Store;
use tokio::time::{Instant, interval, sleep};

/// Eight processes that share a retry budget through an outage, beside the same eight without a fleet. Takes half a minute.
#[derive(Parser)]
#[command(name = "fleet")]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Subcommand)]
enum Role {
    /// What the program starts eight times of itself
    #[command(hide = true)]
    Worker {
        /// The server to call
        url: String,
        /// Joins the fleet on the store that REDIS_URL names
        #[arg(long)]
        fleet: bool,
    },
}

const WORKERS: usize = 8;
/// What the server does, until which time of a run.
const PLAN: [(Phase, Duration); 4] = [
    (Phase::Quota, Duration::from_secs(4)),
    // As long as it takes until no gate holds a call back any more: those would come in the outage, or after it.
    (Phase::Well, Duration::from_secs(9)),
    (Phase::Outage, Duration::from_secs(14)),
    (Phase::Well, Duration::from_secs(16)),
];
const STORE_DIES: Duration = Duration::from_millis(11_500);
const STORE_RETURNS: Duration = Duration::from_millis(12_500);

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match Arguments::parse().role {
        Some(Role::Worker { url, fleet }) => worker::run(&url, fleet).await,
        None => compare().await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn compare() -> anyhow::Result<()> {
    let mut store = Store::start().await?;
    println!("{WORKERS} processes, each for itself:");
    let alone = run(None).await?;
    println!("\n{WORKERS} processes, a fleet on {}:", store.shown());
    let fleet = run(Some(&mut store)).await?;
    show(&alone, &fleet);
    check(&alone, &fleet)
}

/// What came of a run.
struct Ran {
    /// What the server saw while it had its quota, and while it was down.
    quota: Counts,
    outage: Counts,
    calls: u64,
    succeeded: u64,
    tokens_at_start: f64,
    /// Whether all workers were in the fleet at the end.
    joined: bool,
}

async fn run(mut store: Option<&mut Store>) -> anyhow::Result<Ran> {
    let server = Server::start().await?;
    let url = store.as_ref().map(|store| store.url());
    let mut crew =
        Crew::start(WORKERS, server.url(), url.as_deref()).context("the workers do not start")?;
    crew.are_ready(Duration::from_secs(10)).await?;
    let tokens_at_start = crew.tokens();
    println!("  time  server   store    calls  succeeded  429s  503s  tokens  in the fleet");
    let start = Instant::now();
    let mut ticks = interval(Duration::from_millis(250));
    let mut marks = Marks::default();
    let mut shown = Duration::ZERO;
    loop {
        ticks.tick().await;
        let at = start.elapsed();
        let Some((phase, _)) = PLAN.iter().find(|(_, until)| at < *until) else {
            break;
        };
        server.turn(*phase);
        if let Some(store) = store.as_deref_mut() {
            store.keep(at < STORE_DIES || at >= STORE_RETURNS).await?;
        }
        marks.note(*phase, server.counts());
        crew.all_live()?;
        if at >= shown {
            shown += Duration::from_secs(1);
            row(at, *phase, store.as_deref(), (&server, &crew));
        }
    }
    // What was asked last is answered.
    sleep(Duration::from_millis(500)).await;
    Ok(Ran {
        quota: marks.quota,
        outage: marks.outage(),
        calls: crew.calls(),
        succeeded: crew.succeeded(),
        tokens_at_start,
        joined: crew.joined() == WORKERS,
    })
}

/// The server's counts at the turns of the plan.
#[derive(Default)]
struct Marks {
    quota: Counts,
    before: Counts,
    last: Counts,
}

impl Marks {
    fn note(&mut self, phase: Phase, now: Counts) {
        match phase {
            Phase::Quota => self.quota = now,
            Phase::Outage => self.last = now,
            Phase::Well if self.last == Counts::default() => self.before = now,
            Phase::Well => {}
        }
    }

    fn outage(&self) -> Counts {
        self.last.since(&self.before)
    }
}

fn row(at: Duration, phase: Phase, store: Option<&Store>, (server, crew): (&Server, &Crew)) {
    let counts = server.counts();
    let store = match store {
        None => "none",
        Some(store) if store.is_up() => "up",
        Some(_) => "KILLED",
    };
    println!(
        "{:4.0} s  {:7}  {store:6}  {:6}  {:9}  {:4}  {:4}  {:6.1}  {}",
        at.as_secs_f64(),
        phase.as_str(),
        crew.calls(),
        crew.succeeded(),
        counts.refused,
        counts.failed,
        crew.tokens(),
        crew.standing(),
    );
}

fn show(alone: &Ran, fleet: &Ran) {
    println!("\n                                        each for itself   as a fleet");
    let line = |what: &str, of: &dyn Fn(&Ran) -> String| {
        println!("{what:38}  {:>15}  {:>11}", of(alone), of(fleet));
    };
    line("tokens at the start", &|ran| {
        format!("{:.0}", ran.tokens_at_start)
    });
    line("calls while the server was down", &|ran| {
        ran.outage.first.to_string()
    });
    line("- retries of them", &|ran| ran.outage.again.to_string());
    line("- attempts per call", &|ran| {
        format!("{:.2}", ran.outage.amplification())
    });
    line("429s while the server had its quota", &|ran| {
        ran.quota.refused.to_string()
    });
    line("calls that succeeded, of all", &|ran| {
        format!("{} of {}", ran.succeeded, ran.calls)
    });
}

/// A fleet has the tokens of one process: without it the outage meets eight times as many.
fn check(alone: &Ran, fleet: &Ran) -> anyhow::Result<()> {
    ensure!(
        fleet.joined,
        "not every worker was back in the fleet at the end"
    );
    ensure!(
        fleet.outage.again * 2 < alone.outage.again,
        "the fleet made {} retries in the outage, and the processes alone {}",
        fleet.outage.again,
        alone.outage.again
    );
    Ok(())
}
