//! Calls that are made once, and what becomes of them.

use super::Arrivals;
use super::chance::{attempts, numbered};
use super::client::{Client, Target};
use super::load::{Load, made, offer};
use super::run::Ended;
use super::runtime::Clock;
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::task::JoinSet;

/// Calls that are made once, each as soon as there is room for it or at its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) calls: u64,
    pub(crate) pressure: Pressure,
    /// The number of clients that share the calls, each with a gate of its own.
    pub(crate) processes: usize,
    /// The number of further callers that begin to wait and are never polled again.
    pub(crate) parked: u64,
}

/// The trigger of the next call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pressure {
    /// The end of another: so many are made at a time.
    AtOnce(u64),
    /// The clock, so many times a second.
    EachSecond(u64, Arrivals),
}

impl Batch {
    /// A batch of one client.
    pub(crate) const fn at_once(calls: u64, width: u64) -> Self {
        Self {
            calls,
            pressure: Pressure::AtOnce(width),
            processes: 1,
            parked: 0,
        }
    }
}

/// Makes a batch of calls; those that are over after `longest`.
pub(crate) async fn batch(
    clock: Clock,
    clients: &[Client],
    batch: Batch,
    seed: u64,
    longest: Duration,
) -> Vec<Ended> {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let mut parked = JoinSet::new();
    let numbers = batch.calls..batch.calls + batch.parked;
    for (number, client) in numbers.zip(clients.iter().cycle()) {
        parked.spawn(park(number, client.clone()));
    }
    let callers = async {
        match batch.pressure {
            Pressure::AtOnce(width) => at_once(clock, clients, batch.calls, width, &ended).await,
            Pressure::EachSecond(rate, arrivals) => {
                let begin = clock.now();
                let load = Load::new(rate as f64, 0..longest.as_secs());
                let calls = usize::try_from(batch.calls).unwrap_or(usize::MAX);
                let times = load.times(arrivals, seed).take(calls);
                let times = times.map(|at| begin + at);
                let calls = offer(clock, clients, &[Target::new(0)], times).await;
                lock(&ended).extend(calls);
            }
        }
    };
    // The calls that are not over by then are left out.
    let _ = tokio::time::timeout(longest, callers).await;
    let mut ended = lock(&ended);
    std::mem::take(&mut *ended)
}

/// Makes so many calls, so many of them at a time, each as soon as there is room for it.
async fn at_once(
    clock: Clock,
    clients: &[Client],
    calls: u64,
    width: u64,
    ended: &Arc<Mutex<Vec<Ended>>>,
) {
    let mut callers = JoinSet::new();
    let next = Arc::new(AtomicU64::new(0));
    for (_, client) in (0..width.min(calls)).zip(clients.iter().cycle()) {
        let (client, ended, next) = (client.clone(), Arc::clone(ended), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return;
                }
                let call = made(clock, number, client.clone(), Target::new(0)).await;
                lock(&ended).push(call);
            }
        });
    }
    callers.join_all().await;
}

fn lock(ended: &Mutex<Vec<Ended>>) -> MutexGuard<'_, Vec<Ended>> {
    ended.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes calls until one waits before its first attempt, and leaves that one as it is.
async fn park(number: u64, client: Client) {
    loop {
        let call = client.clone().call(Target::new(0));
        // It is dropped, too, under its number.
        let stays = async {
            let mut call = Box::pin(call);
            let waits = poll_fn(|cx| match call.as_mut().poll(cx) {
                Poll::Ready(_) => Poll::Ready(false),
                Poll::Pending if attempts() == 0 => Poll::Ready(true),
                Poll::Pending => Poll::Pending,
            });
            if waits.await {
                pending::<()>().await;
            }
        };
        numbered(number, stays).await;
    }
}
