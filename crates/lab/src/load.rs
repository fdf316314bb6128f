//! Calls that come, and what becomes of them.

use super::Arrivals;
use super::call::{attempts, numbered};
use super::chance::{Use, draw, gap};
use super::clients::{Client, Target};
use super::run::Ended;
use super::runtime::Clock;
use std::future::{Future, pending, poll_fn};
use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::task::JoinSet;

/// So many calls a second, over this time.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) per_second: f64,
    pub(crate) during: Range<Duration>,
}

impl Load {
    pub(crate) fn new(per_second: f64, seconds: Range<u64>) -> Self {
        Self {
            per_second,
            during: Duration::from_secs(seconds.start)..Duration::from_secs(seconds.end),
        }
    }

    /// When the calls come.
    pub(crate) fn times(self, arrivals: Arrivals, seed: u64) -> impl Iterator<Item = Duration> {
        let (rate, start, end) = (self.per_second, self.during.start, self.during.end);
        let mut number = start.as_secs() << 32;
        let next = move |time: &Duration| {
            number += 1;
            let gap = match arrivals {
                Arrivals::Even => Duration::from_secs_f64(1.0 / rate),
                Arrivals::Poisson => gap(rate, draw(seed, Use::Arrival, number, 0)),
            };
            Some(*time + gap)
        };
        iter::successors(Some(start), next).take_while(move |time| *time < end)
    }
}

/// Makes a call at each of these times, whatever became of the others: the clients and the targets in turn.
pub(crate) async fn offer(
    clock: Clock,
    clients: &[Client],
    targets: &[Target],
    times: impl Iterator<Item = Duration>,
) -> Vec<Ended> {
    offer_by(clock, clients.iter().cycle().cloned(), targets, times).await
}

/// The same, each call by the next of these clients.
pub(crate) async fn offer_by(
    clock: Clock,
    clients: impl Iterator<Item = Client>,
    targets: &[Target],
    times: impl Iterator<Item = Duration>,
) -> Vec<Ended> {
    let (mut calls, mut ended) = (JoinSet::new(), Vec::new());
    let callers = clients.zip(targets.iter().cycle());
    for ((number, time), (client, target)) in (0..).zip(times).zip(callers) {
        clock.until(time).await;
        calls.spawn(Box::pin(made(clock, number, client, target.clone())));
        while let Some(call) = calls.try_join_next() {
            ended.extend(call);
        }
    }
    ended.extend(calls.join_all().await);
    ended
}

/// Calls that are made once, each as soon as there is room for it or at its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) calls: u64,
    pub(crate) pressure: Pressure,
    /// How many clients share the calls, each with a gate of its own.
    pub(crate) processes: usize,
    /// How many more callers begin to wait and are never polled again.
    pub(crate) parked: u64,
}

/// What makes a call begin.
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
    // What is not over by then is no part of the answer.
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

/// Makes a call under its number.
pub(crate) async fn made(clock: Clock, number: u64, client: Client, target: Target) -> Ended {
    let began = clock.now();
    let succeeded = numbered(number, client.call(target)).await;
    Ended {
        number,
        began,
        took: clock.now() - began,
        succeeded,
    }
}
