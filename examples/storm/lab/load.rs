//! Calls that come, and what becomes of them.

use super::Arrivals;
use super::call::numbered;
use super::chance::{Use, draw, gap};
use super::clients::{Client, Target};
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
    let (mut calls, mut ended) = (JoinSet::new(), Vec::new());
    let callers = clients.iter().cycle().zip(targets.iter().cycle());
    for ((number, time), (client, target)) in (0..).zip(times).zip(callers) {
        clock.until(time).await;
        calls.spawn(Box::pin(made(
            clock,
            number,
            client.clone(),
            target.clone(),
        )));
        while let Some(call) = calls.try_join_next() {
            ended.push(call.expect("a call does not panic"));
        }
    }
    ended.extend(calls.join_all().await);
    ended
}

/// Makes so many calls, so many of them at a time, each as soon as there is room for it.
pub(crate) async fn at_once(clock: Clock, client: &Client, calls: u64, width: u64) -> Vec<Ended> {
    let mut callers = JoinSet::new();
    for first in 0..width {
        let client = client.clone();
        let numbers = (first..calls).step_by(usize::try_from(width).expect("a small number"));
        callers.spawn(async move {
            let mut ended = Vec::new();
            for number in numbers {
                ended.push(made(clock, number, client.clone(), Target::new(0)).await);
            }
            ended
        });
    }
    callers.join_all().await.concat()
}

async fn made(clock: Clock, number: u64, client: Client, target: Target) -> Ended {
    let began = clock.now();
    let succeeded = numbered(number, client.call(target)).await;
    Ended {
        number,
        began,
        took: clock.now() - began,
        succeeded,
    }
}
