//! Exactly once, under a document whose rules retry, wait and fail over, on two networks that fail in their own ways.
//!
//! A failure names its seed; `HTTP_RETRY_SEED=<seed> cargo test --all-features --test it documents::once` plays that alone,
//! and `HTTP_RETRY_SCHEDULES=20000` in its place 10,000 schedules on hyper and as many on reqwest.

mod schedule;

use super::super::schedules::{InVain, all_closed, in_time, is_stall, play_all, unless_lost};
use super::super::server::{Act, Answer, FaultServer, Received};
use super::clock::Clock;
use super::stacks::Kit;
use schedule::{SECRET, Schedule};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::ops::AddAssign;
use std::time::Duration;
use tokio::task::yield_now;

const SCHEDULES: usize = 2_000;

/// Rules for whatever a server can say; none of them says that a POST is safe to send twice.
fn document(first: &FaultServer, second: &FaultServer, same_keys: bool) -> Value {
    json!({
        "version": 1,
        "gate": "off",
        "budgets": {"plenty": {"capacity": 1000, "initial": 1000, "timeout_cost": 1}},
        "retry": {
            "max_retries": 3, "backoff": "none", "budget": "plenty", "retry_after": "ignore",
            "attempt_timeout": "30500ms", "credentials": ["x-vendor-key"],
        },
        "services": {
            "first": {
                "match": {"host": first.address().to_string()},
                "base_url": first.url(""),
                "retry": {"on_exhausted": {"failover": "second", "same_keys": same_keys}},
                "rules": [
                    {"when": {"status": [404, 425, 429]}, "failover": "second", "same_keys": same_keys},
                    {
                        "when": {"status": 529}, "failover": "second", "same_keys": same_keys,
                        "set": {"headers": {"x-why": "529", "authorization": "Bearer of-the-second"}},
                    },
                    {"when": {"error": "timeout"}, "failover": "second", "same_keys": same_keys},
                ],
            },
            "second": {"base_url": second.url("/below")},
        },
        "rules": [
            {"when": {"status": 202}, "wait": {"delay": "5s", "at_most": 3}},
            {"when": {"status": 409}, "wait": {"delay": "3s", "max": "9s"}},
            {"when": {"code": "busy"}, "retry": {"max_retries": 5, "backoff": "none", "counter": "rule"}},
            {"when": {"message": "oops", "status": ["4xx", 501]}, "do": "retry", "set": {"headers": {"x-why": "oops"}}},
            {"when": {"status": 500, "method": "GET"}, "do": "retry"},
            {"when": {"error": "reset"}, "do": "retry"},
        ],
        "otherwise": {"retry": {"max_retries": 4}},
    })
}

/// Whether the server says by this act that it did not process the request.
fn refuses(act: &Act) -> bool {
    let refusal = |status: u16| matches!(status, 408 | 425 | 429);
    let invites = |answer: &Answer| {
        answer.status == 413
            && answer
                .headers
                .iter()
                .any(|(name, _)| *name == "retry-after")
    };
    match act {
        Act::Answer(answer) | Act::AnswerThenClose(answer) | Act::AnswerEarly(answer) => {
            refusal(answer.status) || invites(answer)
        }
        Act::CutBody(status) | Act::StallBody(status) | Act::EndlessBody(status) => {
            refusal(*status)
        }
        _ => false,
    }
}

/// What was seen in many schedules, so that nothing was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// POSTs that were refused or never sent, and sent again.
    sent_again: usize,
    /// POSTs among them that came to the other service.
    moved: usize,
    /// POSTs that were left alone although a rule says to send again.
    left_alone: usize,
    /// POSTs with a key that came to the other service, which knows the first one's keys or does not.
    key_known: usize,
    key_unknown: usize,
    /// POSTs with a key that were sent again, and not there.
    key_stayed: usize,
    /// Requests of other methods that a rule sent again, and those that came to the other service.
    repeated: usize,
    repeated_elsewhere: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.sent_again += other.sent_again;
        self.moved += other.moved;
        self.left_alone += other.left_alone;
        self.key_known += other.key_known;
        self.key_unknown += other.key_unknown;
        self.key_stayed += other.key_stayed;
        self.repeated += other.repeated;
        self.repeated_elsewhere += other.repeated_elsewhere;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_must_run_once_does_whatever_the_rules_say() {
    let Some(seen) = play_all::<Seen, _>(SCHEDULES, play).await else {
        return;
    };
    let posts = seen.sent_again > 50 && seen.moved > 20 && seen.left_alone > 200;
    let others = seen.repeated > 500 && seen.repeated_elsewhere > 200;
    let keys = seen.key_known > 20 && seen.key_unknown > 5 && seen.key_stayed > 50;
    assert!(posts && others && keys, "{seen:?}");
}

/// Plays one schedule; its seed stands in every complaint.
async fn play(seed: usize) -> Seen {
    let schedule = Schedule::of(seed);
    let received = unless_lost(|| received(&schedule)).await;
    let [first, second] = received
        .unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}: {schedule:#?}"));
    if let Some(what) = wrong(&schedule, &first, &second) {
        panic!("HTTP_RETRY_SEED={seed}: {what}: {schedule:#?}, {first:#?}, {second:#?}");
    }
    seen(&schedule, &first, &second)
}

/// What should not have come to the servers, if anything did.
fn wrong(schedule: &Schedule, first: &[Received], second: &[Received]) -> Option<&'static str> {
    let whole = || first.iter().chain(second).filter(|request| request.whole);
    let is_processed =
        |request: &&Received| request.whole && !request.act.as_ref().is_some_and(refuses);
    let processed = [first, second].map(|server| server.iter().filter(is_processed).count());
    let body = schedule.body();
    let is_other = |request: &Received| request.body != body || request.method() != schedule.method;
    let by_each = processed.iter().all(|count| *count > 0);
    // Retries by rules of two kinds and by class, and waits of two kinds: at both services no more than these.
    let most = 2 * (1 + 5 + 4 + 3 + 3);
    let complaints = [
        (whole().any(is_other), "another request arrived"),
        (
            schedule.is_once_only() && processed.iter().sum::<usize>() > 1,
            "processed twice",
        ),
        (
            schedule.key && !schedule.same_keys && by_each,
            "processed by each server",
        ),
        (
            second.iter().any(|request| request.head.contains(SECRET)),
            "a secret came to the other server",
        ),
        (first.len() + second.len() > most, "sent too often"),
    ];
    let found = complaints.into_iter().find(|(is_so, _)| *is_so);
    found.map(|(_, what)| what)
}

fn seen(schedule: &Schedule, first: &[Received], second: &[Received]) -> Seen {
    let (once, sent) = (schedule.is_once_only(), first.len() + second.len());
    let elsewhere = schedule.key && !second.is_empty();
    let stayed = once && sent == 1 && schedule.first.len() > 1;
    Seen {
        sent_again: usize::from(once && sent > 1),
        moved: usize::from(once && !second.is_empty()),
        left_alone: usize::from(stayed),
        key_known: usize::from(elsewhere && schedule.same_keys),
        key_unknown: usize::from(elsewhere && !schedule.same_keys),
        key_stayed: usize::from(schedule.key && sent > 1 && second.is_empty()),
        repeated: usize::from(!once && sent > 1),
        repeated_elsewhere: usize::from(!once && !second.is_empty()),
    }
}

/// What either server has in the end.
async fn received(schedule: &Schedule) -> Result<[Vec<Received>; 2], InVain> {
    let first = FaultServer::start(schedule.first.clone()).await;
    let second = FaultServer::start(schedule.second.clone()).await;
    let kit = Kit::new(document(&first, &second, schedule.same_keys));
    let client = kit.client(schedule.stack);
    let answer = async {
        tokio::select! {
            told = client.send(schedule.request(&first.url("/a?b=c"))) => told,
            never = cut_off_stalls([&first, &second], &kit.clock) => match never {},
        }
    };
    let told = in_time(answer, &[&first, &second]).await?;
    drop((told, client));
    all_closed(&[&first, &second]).await?;
    Ok([first, second].map(|server| server.received()))
}

/// Lets time pass from the first stall on: for its limit, and for what a wait has left after it.
async fn cut_off_stalls(servers: [&FaultServer; 2], clock: &Clock) -> Infallible {
    loop {
        let mut received = servers.iter().flat_map(|server| server.received());
        if received.any(|request| is_stall(&request)) {
            clock.advance(Duration::from_millis(100));
        }
        yield_now().await;
    }
}
