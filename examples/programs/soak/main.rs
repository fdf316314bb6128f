//! Very many requests through a server that fails one time in five, on both stacks, and a count of what became of them.
//!
//! ```text
//! cargo run --release --all-features --example soak [-- --requests 200000 --in-flight 500]
//! ```
//!
//! Client and server are in one process. It ends with an error if a request was lost, if one that must be processed once
//! was processed twice, if memory grew over the second half, or if more connections stayed open than the pools hold.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

mod clients;
mod ledger;
mod server;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use clients::{Clients, POOL};
use http_retry::runtime::{Runtime, TokioRuntime};
use ledger::Ledger;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Sends requests through faults on both stacks, and counts what became of them.
#[derive(Debug, Parser)]
struct Args {
    /// How many requests to send.
    #[arg(long, default_value_t = 200_000)]
    requests: usize,
    /// How many of them at a time.
    #[arg(long, default_value_t = 500)]
    in_flight: usize,
    /// Which faults meet which requests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// With fewer requests the second half still warms up what the first half did.
const ENOUGH_FOR_MEMORY: usize = 100_000;

/// Far more than five attempts take on any machine.
const LOST_AFTER: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let args = Args::parse();
    let in_flight = within_open_files(args.in_flight)?;
    let started = TokioRuntime.now();
    let ledger = Arc::new(Ledger::new(args.requests, args.seed));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let clients = Arc::new(Clients::new(listener.local_addr()?)?);
    tokio::spawn(server::accept(listener, Arc::clone(&ledger)));

    let half = args.requests / 2;
    send_all(0..half, in_flight, &clients, &ledger).await?;
    let memory_then = resident_kib();
    send_all(half..args.requests, in_flight, &clients, &ledger).await?;
    let memory_now = resident_kib();

    let seconds = TokioRuntime.now().saturating_sub(started).as_secs_f64();
    println!("{ledger}");
    println!("{seconds:.1} s, {in_flight} in flight");
    ledger.check(clients.tokens_spent()?)?;
    check_sockets(&ledger).await?;
    check_memory(args.requests, memory_then, memory_now)?;
    println!("nothing was lost, doubled or left");
    Ok(())
}

async fn send_all(
    numbers: Range<usize>,
    in_flight: usize,
    clients: &Arc<Clients>,
    ledger: &Arc<Ledger>,
) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(numbers.start));
    let mut workers = JoinSet::new();
    for _ in 0..in_flight {
        let (next, end) = (Arc::clone(&next), numbers.end);
        let (clients, ledger) = (Arc::clone(clients), Arc::clone(ledger));
        workers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= end {
                    return Ok(());
                }
                let sent = timeout(LOST_AFTER, clients.send(number)).await;
                let outcome = sent.with_context(|| format!("request {number} is lost"))?;
                ledger.ended(number, outcome?)?;
            }
        });
    }
    workers.join_all().await.into_iter().collect()
}

/// So many requests at a time as the limit of open files allows, at two ends of a connection for each, and as many again
/// for connections that are just being made or let go.
fn within_open_files(wanted: usize) -> Result<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = server::between(&limits, "Max open files", " files").unwrap_or_default();
    let Some(Ok(soft)) = limit.split_whitespace().next().map(str::parse::<usize>) else {
        return Ok(wanted);
    };
    let most = soft.saturating_sub(4 * POOL) / 4;
    ensure!(most > 0, "{soft} open files are too few");
    if most < wanted {
        println!("{soft} open files allow {most} requests at a time");
    }
    Ok(wanted.min(most))
}

async fn check_sockets(ledger: &Ledger) -> Result<()> {
    let mut open = ledger.open.subscribe();
    let few = open.wait_for(|open| *open <= 2 * POOL);
    let waited = timeout(Duration::from_secs(10), few).await;
    println!("{} connections are open", *ledger.open.borrow());
    waited.context("more connections are open than the pools hold")??;
    Ok(())
}

/// What the process holds in memory, where the system tells it as Linux does.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    server::between(&status, "VmRSS:", "kB")?
        .trim()
        .parse()
        .ok()
}

fn check_memory(requests: usize, then: Option<u64>, now: Option<u64>) -> Result<()> {
    let (Some(then), Some(now)) = (then, now) else {
        println!("memory is not checked: this system has no /proc/self/status");
        return Ok(());
    };
    println!("{then} KiB resident after the first half, {now} KiB after the second");
    if requests < ENOUGH_FOR_MEMORY {
        println!("memory is not checked: fewer than {ENOUGH_FOR_MEMORY} requests");
        return Ok(());
    }
    ensure!(
        now <= then.saturating_add(then / 20),
        "memory grew by more than 5 %"
    );
    Ok(())
}
