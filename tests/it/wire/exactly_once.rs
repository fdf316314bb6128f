//! Thousands of requests, each against a network that fails in its own way: what must happen once happens once, and
//! what can succeed does.
//!
//! A failure names its seed; `HTTP_RETRY_SEED=<seed> cargo test --all-features --test it exactly_once` plays that one
//! alone. `HTTP_RETRY_SCHEDULES=20000` in its place plays so many of each kind, half of them on either stack.

mod client;
mod elsewhere;
mod own_bodies;
mod schedule;
mod several;
mod shared;
mod spelled;
mod unreachable;

use super::connections::client::Settings;
use super::proxies::Proxy;
use super::schedules::{InVain, Steered, all_closed, in_time, play_all, unless_lost};
use super::server::{FaultServer, Received};
use schedule::{Kind, Promise, Schedule, refuses};
use std::ops::AddAssign;

const SCHEDULES: usize = 10_000;
/// Of those with redirects, and of those with a proxy.
const OTHERS: usize = 2_000;
/// Of those whose body fails, and of those that are sent with a record.
const FEW: usize = 500;

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Requests that must be processed once, sent again because the server refused them or never had them.
    sent_again: usize,
    /// Requests that must be processed once, not sent again although attempts were left.
    left_alone: usize,
    /// Requests that had to succeed, after a failure.
    rescued: usize,
    /// Requests that must be processed once, redirected and then refused.
    redirected: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.sent_again += other.sent_again;
        self.left_alone += other.left_alone;
        self.rescued += other.rescued;
        self.redirected += other.redirected;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_processed_once_and_one_that_can_succeed_does() {
    let plays = play_all::<Seen, _>(SCHEDULES, |seed| play(Kind::Plain, seed));
    if let Some(seen) = plays.await {
        let enough = seen.sent_again > 300 && seen.left_alone > 1_000 && seen.rescued > 1_000;
        assert!(enough, "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_redirected_is_processed_once() {
    let plays = play_all::<Seen, _>(OTHERS, |seed| play(Kind::Redirects, seed));
    if let Some(seen) = plays.await {
        let enough = seen.sent_again > 40 && seen.left_alone > 100 && seen.rescued > 100;
        assert!(enough && seen.redirected > 20, "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_behind_a_proxy_is_processed_once() {
    let plays = play_all::<Seen, _>(OTHERS, |seed| play(Kind::Proxy, seed));
    if let Some(seen) = plays.await {
        let enough = seen.sent_again > 40 && seen.left_alone > 300 && seen.rescued > 100;
        assert!(enough, "{seen:?}");
    }
}

/// Plays one schedule; its seed stands in every complaint.
async fn play(kind: Kind, seed: usize) -> Seen {
    let schedule = Schedule::of(kind, seed);
    let outcome = unless_lost(|| outcome(&schedule)).await;
    let (status, received) = outcome
        .unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}: {schedule:#?}"));
    let complain = |what: &str| {
        panic!("HTTP_RETRY_SEED={seed}: {what}: {status:?}, {schedule:#?}, {received:#?}")
    };
    let whole = || received.iter().filter(|request| request.whole);
    let succeeded = status.is_some_and(|status| (200..400).contains(&status));
    let followed = received.iter().filter(|request| schedule.follows(request));
    if received.len() - followed.count() > schedule.max_retries as usize + 1 {
        complain("sent too often");
    }
    if whole().any(|request| !schedule.is_own(request) && !schedule.is_of_a_redirect(request)) {
        complain("another request arrived");
    }
    let processed = whole().filter(|request| schedule.is_own(request));
    let processed = processed.filter(|request| !request.act.as_ref().is_some_and(refuses));
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
    sent(schedule, |settings, url| async move {
        let client = client::of(schedule, settings.runtime);
        let answer = client.send(schedule.request(&url)).await.ok()?;
        Some(answer.status().as_u16())
    })
    .await
}

/// What comes of a schedule whose request a client of these settings sends to this URL, and what the server has in the
/// end.
async fn sent<F>(
    schedule: &Schedule,
    send: impl FnOnce(Settings<Steered>, String) -> F,
) -> Result<(Option<u16>, Vec<Received>), InVain>
where
    F: Future<Output = Option<u16>>,
{
    let server = FaultServer::start(schedule.acts.clone()).await;
    let proxy = match &schedule.apology {
        Some(apology) => Some(Proxy::before(&server, apology.clone()).await),
        None => None,
    };
    let url = match &proxy {
        Some(proxy) => proxy.url(&schedule.path),
        None => server.url(&schedule.path),
    };
    let runtime = Steered::default();
    let settings = client::settings(schedule, runtime.clone());
    let answer = async {
        tokio::select! {
            answer = send(settings, url) => answer,
            never = runtime.cut_off_stalls(&server) => match never {},
        }
    };
    let status = in_time(answer, &[&server]).await?;
    drop(proxy);
    all_closed(&[&server]).await?;
    Ok((status, server.received()))
}

fn seen(schedule: &Schedule, received: &[Received]) -> Seen {
    let hops = received.iter().filter(|request| schedule.follows(request));
    let hops = hops.count();
    let again = received.len() > hops + 1;
    let left = received.len() <= schedule.max_retries as usize && schedule.acts.len() > hops + 1;
    let refused = received.last().and_then(|last| last.act.as_ref());
    let refused = hops > 0 && refused.is_some_and(refuses);
    Seen {
        sent_again: usize::from(schedule.is_once_only() && again),
        left_alone: usize::from(schedule.is_once_only() && !again && left),
        rescued: usize::from(schedule.promise() == Promise::Success && again),
        redirected: usize::from(schedule.is_once_only() && !again && refused),
    }
}
