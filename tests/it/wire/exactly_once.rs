//! Ten thousand requests, each against a network that fails in its own way: what must happen once happens once, and what
//! can succeed does.
//!
//! A failure names its seed; `HTTP_RETRY_SEED=<seed> cargo test --all-features --test it exactly_once` plays that one alone.

mod schedule;
mod unreachable;

use super::connections::client::{Settings, Speaks, without_waits};
use super::schedules::{InVain, all_closed, in_time, is_stall, play_all, unless_lost};
use super::server::{FaultServer, Received};
use http_retry::RetryPolicy;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use schedule::{Promise, Schedule, refuses};
use std::convert::Infallible;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const SCHEDULES: usize = 10_000;

/// Limits that no server asks for by a delay of its own.
const ATTEMPT: Duration = Duration::from_secs(1_000_000);
const DRAIN: Duration = Duration::from_secs(2_000_000);

/// Waits take no time, and a limit is reached only when the server stalls.
#[derive(Debug, Clone, Default)]
struct Steered {
    stalled: Arc<Notify>,
}

impl Runtime for Steered {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let stalled = Arc::clone(&self.stalled);
        match duration {
            ATTEMPT | DRAIN => Box::pin(async move { stalled.notified().await }),
            _ => Box::pin(std::future::ready(())),
        }
    }
}

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Requests that must be processed once, sent again because the server refused them or never had them.
    sent_again: usize,
    /// Requests that must be processed once, not sent again although attempts were left.
    left_alone: usize,
    /// Requests that had to succeed, after a failure.
    rescued: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.sent_again += other.sent_again;
        self.left_alone += other.left_alone;
        self.rescued += other.rescued;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_processed_once_and_one_that_can_succeed_does() {
    let Some(seen) = play_all::<Seen, _>(SCHEDULES, play).await else {
        return;
    };
    let enough = seen.sent_again > 300 && seen.left_alone > 1_000 && seen.rescued > 1_000;
    assert!(enough, "{seen:?}");
}

/// Plays one schedule; its seed stands in every complaint.
async fn play(seed: usize) -> Seen {
    let schedule = Schedule::of(seed);
    let outcome = unless_lost(|| outcome(&schedule)).await;
    let (status, received) = outcome
        .unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}: {schedule:#?}"));
    let complain = |what: &str| {
        panic!("HTTP_RETRY_SEED={seed}: {what}: {status:?}, {schedule:#?}, {received:#?}")
    };
    let whole = || received.iter().filter(|request| request.whole);
    let processed = whole().filter(|request| !request.act.as_ref().is_some_and(refuses));
    let succeeded = status.is_some_and(|status| (200..300).contains(&status));
    if received.len() > schedule.max_retries as usize + 1 {
        complain("sent too often");
    }
    if whole().any(|request| request.body != schedule.body()) {
        complain("another body arrived");
    }
    if schedule.is_once_only() && processed.count() > 1 {
        complain("processed twice");
    }
    if schedule.promise() == Promise::Success && !succeeded {
        complain("could have succeeded");
    }
    seen(&schedule, &received)
}

/// The answer's status, if there was one, and what the server has in the end.
async fn outcome(schedule: &Schedule) -> Result<(Option<u16>, Vec<Received>), InVain> {
    let server = FaultServer::start(schedule.acts.clone()).await;
    let runtime = Steered::default();
    let settings = Settings {
        policy: policy(schedule.max_retries),
        runtime: runtime.clone(),
        drain: (128 * 1024, DRAIN),
    };
    let client = schedule.stack.bare(Speaks::Http1).with_retries(settings);
    let answer = async {
        tokio::select! {
            answer = client.send(schedule.request(&server.url("/"))) => answer,
            never = cut_off_stalls(&server, &runtime) => match never {},
        }
    };
    let answer = in_time(answer, &[&server]).await?;
    let status = answer.ok().map(|answer| answer.status().as_u16());
    drop(client);
    all_closed(&[&server]).await?;
    Ok((status, server.received()))
}

fn policy(max_retries: u32) -> RetryPolicy {
    let builder = without_waits(max_retries).to_builder();
    builder.attempt_timeout(ATTEMPT).build().unwrap()
}

/// Lets a limit pass for each time that the server stalls.
async fn cut_off_stalls(server: &FaultServer, runtime: &Steered) -> Infallible {
    let stalls = |server: &FaultServer| {
        let received = server.received();
        received
            .iter()
            .filter(|request| request.whole && is_stall(request))
            .count()
    };
    for cut in 0.. {
        server.until(|server| stalls(server) > cut).await;
        runtime.stalled.notify_one();
    }
    std::future::pending().await
}

fn seen(schedule: &Schedule, received: &[Received]) -> Seen {
    let again = received.len() > 1;
    let left = received.len() <= schedule.max_retries as usize && schedule.acts.len() > 1;
    Seen {
        sent_again: usize::from(schedule.is_once_only() && again),
        left_alone: usize::from(schedule.is_once_only() && !again && left),
        rescued: usize::from(schedule.promise() == Promise::Success && again),
    }
}
