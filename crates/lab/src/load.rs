//! Calls that come, and what becomes of them.

use super::Arrivals;
use super::chance::{Use, draw, gap, numbered};
use super::client::{Client, Target};
use super::run::Ended;
use super::runtime::Clock;
use std::iter;
use std::ops::Range;
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

    /// Returns the times of the calls.
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
#[cfg(feature = "scenarios")]
pub(crate) async fn offer(
    clock: Clock,
    clients: &[Client],
    targets: &[Target],
    times: impl Iterator<Item = Duration>,
) -> Vec<Ended> {
    offer_by(clock, clients.iter().cycle().cloned(), targets, times).await
}

/// The same, each call by the next of these clients.
#[cfg(feature = "scenarios")]
pub(crate) async fn offer_by(
    clock: Clock,
    clients: impl Iterator<Item = Client>,
    targets: &[Target],
    times: impl Iterator<Item = Duration>,
) -> Vec<Ended> {
    let mut ended = Vec::new();
    offer_into(
        &mut ended,
        clock,
        clients.zip(targets.iter().cycle()),
        times,
    )
    .await;
    ended
}

/// The same; what has ended by then is there even if this is dropped.
pub(crate) async fn offer_into(
    ended: &mut Vec<Ended>,
    clock: Clock,
    callers: impl Iterator<Item = (Client, &Target)>,
    times: impl Iterator<Item = Duration>,
) {
    let mut calls = JoinSet::new();
    for ((number, time), (client, target)) in (0..).zip(times).zip(callers) {
        clock.until(time).await;
        calls.spawn(Box::pin(made(clock, number, client, target.clone())));
        while let Some(call) = calls.try_join_next() {
            ended.extend(call);
        }
    }
    while let Some(call) = calls.join_next().await {
        ended.extend(call);
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
