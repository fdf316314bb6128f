//! Gates that members share by a real server.

use super::member::Member;
use super::process::LONG;
use super::proxy::{Fault, before};
use super::server::Server;
use futures_util::FutureExt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use tokio::task::{JoinSet, yield_now};

const KEY: &str = "http-retry:1:{api.example}:gate";
/// Tells the other process where the store is; a run without it is no other process.
const STORE: &str = "HTTP_RETRY_TEST_GATE";

/// How many calls ask in each turn, and how many may go at the same time as the last of them.
const CALLS: u64 = 8;
const TOGETHER: usize = 3;

/// A number that the store keeps of the gate.
fn kept(server: &Server, field: &str) -> u64 {
    let kept = server.ask(&["HGET", KEY, field]).unwrap();
    let kept: Option<String> = redis::from_redis_value(kept).unwrap();
    kept.map_or(0, |kept| kept.parse().unwrap())
}

async fn until(mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            yield_now().await;
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap();
}

#[tokio::test]
async fn a_member_that_joins_during_a_pause_waits_like_all() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let first = Member::joined(&server.url()).await;
    let refused = first.clone();
    let refused = tokio::spawn(async move { refused.is_refused().await });
    until(|| kept(&server, "closed") == 1).await;
    let late = Member::joined(&server.url()).await;
    let waited = late.waits();
    late.get().await;
    assert!(late.waits() > waited, "its second call at the latest");
    assert!(
        kept(&server, "opening") > 0,
        "nobody goes before the pause is over"
    );
    refused.await.unwrap();
    assert_eq!(first.sent() + late.sent(), 7, "nobody else was refused");
}

/// Asked for by one member, then by the other, then by the first again: neither goes on with what it has while the other
/// waits for older ones.
#[tokio::test]
async fn tickets_go_in_the_order_of_asking_over_two_members() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let [a, b] = [
        Member::joined(&server.url()).await,
        Member::joined(&server.url()).await,
    ];
    // The release goes on for some seconds, and not for half a minute.
    for _ in 0..10 {
        a.get().await;
    }
    let refused = a.clone();
    let refused = tokio::spawn(async move { refused.is_refused().await });
    until(|| kept(&server, "closed") == 1).await;
    until(|| b.get().now_or_never().is_none()).await;
    let mut calls = JoinSet::new();
    for (turn, member) in [&b, &a, &b].into_iter().enumerate() {
        let asked = kept(&server, "next");
        for _ in 0..CALLS {
            let member = member.clone();
            calls.spawn(async move {
                member.get().await;
                turn
            });
        }
        until(|| kept(&server, "next") >= asked + CALLS).await;
    }
    let mut went = Vec::new();
    while let Some(turn) = calls.join_next().await {
        went.push(turn.unwrap());
    }
    refused.await.unwrap();
    for turn in 1..=2 {
        let first = went.iter().position(|other| *other == turn).unwrap();
        let late = went[first..].iter().filter(|other| **other < turn).count();
        assert!(late <= TOGETHER, "{went:?}");
    }
}

#[tokio::test]
async fn a_process_that_is_killed_with_tickets_holds_nobody_up() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let member = Member::joined(&server.url()).await;
    for _ in 0..100 {
        member.get().await;
    }
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["fleet::gates::the_other_process", "--exact", "--nocapture"])
        .env(STORE, server.url())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    let waits = lines.any(|line| line.is_ok_and(|line| line.contains("waits")));
    until(|| kept(&server, "next") >= 4).await;
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(waits);
    let before = member.waits();
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        let member = member.clone();
        calls.spawn(async move { member.get().await });
    }
    tokio::time::timeout(LONG, calls.join_all()).await.unwrap();
    assert_eq!(member.waits() - before, 5, "they wait for the pause");
}

/// Is refused, and waits in the pause with five calls.
#[tokio::test]
#[expect(
    clippy::print_stdout,
    reason = "the process that waits for it reads it"
)]
async fn the_other_process() {
    let Ok(url) = std::env::var(STORE) else {
        return;
    };
    let member = Member::joined(&url).await;
    let mut calls = JoinSet::new();
    let refused = member.clone();
    calls.spawn(async move { refused.is_refused().await });
    until(|| member.sent() == 3).await;
    for _ in 0..4 {
        let member = member.clone();
        calls.spawn(async move { member.get().await });
    }
    println!("waits");
    calls.join_all().await;
}

#[tokio::test]
async fn a_document_shares_its_gates_but_those_that_it_takes_out() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let members = [
        Member::by_document(&server.url()).await,
        Member::by_document(&server.url()).await,
    ];
    for (uri, shared) in [
        ("http://alone.example/", false),
        ("http://api.example/", true),
    ] {
        let [one, other] = [&members[0], &members[1]].map(|member| member.at(uri));
        other.get().await;
        let (sent, waited) = (one.sent(), other.waits());
        let refused = tokio::spawn(async move { one.is_refused().await });
        until(|| members[0].sent() > sent).await;
        other.get().await;
        while shared && other.waits() == waited {
            other.get().await;
            yield_now().await;
        }
        assert_eq!(other.waits() - waited, usize::from(shared), "{uri}");
        refused.await.unwrap();
    }
    let keys = server.ask(&["KEYS", "*:gate"]).unwrap();
    let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    assert_eq!(keys, [KEY]);
}

#[tokio::test]
async fn gates_stay_local_where_the_server_cannot_push() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let old = before(server.port(), Fault::OldProtocol).await;
    let members = [Member::start(&old), Member::start(&old)];
    for member in &members {
        member.get().await;
        until(|| member.told().len() == 1).await;
        assert_eq!(member.told(), ["left: no_push"]);
        // The budget is shared all the same, by a connection that lasts.
        until(|| member.fleet.status().processes > 0).await;
    }
    let [one, other] = &members;
    let refused = one.clone();
    let refused = tokio::spawn(async move { refused.is_refused().await });
    until(|| one.sent() == 3).await;
    let waited = other.waits();
    other.get().await;
    assert_eq!(other.waits(), waited, "nobody tells it");
    refused.await.unwrap();
    for member in &members {
        assert_eq!(member.told(), ["left: no_push"]);
    }
    let clients = server.ask(&["CLIENT", "LIST", "TYPE", "NORMAL"]).unwrap();
    let clients: String = redis::from_redis_value(clients).unwrap();
    assert_eq!(clients.lines().count(), 3, "two members, and who asks");
}
