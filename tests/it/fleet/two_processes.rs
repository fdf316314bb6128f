//! A process that is killed with tokens in hand.

use super::process::{Process, Stack};
use super::server::Server;
use http_retry::fleet::Fleet;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, Jitter, RetryOverride, RetryPolicy};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt};

/// Tells the other process where the store is; a run without it is no other process.
const STORE: &str = "HTTP_RETRY_TEST_STORE";
const SPENT: usize = 8;

/// Tokens that the other process has paid with and not used yet.
const HELD: usize = 5;

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_process_that_is_killed_takes_only_what_it_has_paid() {
    let server = Server::start(&[]);
    let process = Process::joined(Stack::Tower, &server.url()).await;
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args([
            "fleet::two_processes::the_other_process",
            "--exact",
            "--nocapture",
        ])
        .env(STORE, server.url())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    let is_spent = lines.any(|line| line.is_ok_and(|line| line.contains("spent")));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(is_spent);
    process.is_down(true);
    assert_eq!(process.retries(60).await, 20 - SPENT - HELD);
}

#[tokio::test]
#[expect(
    clippy::print_stdout,
    reason = "the process that waits for it reads it"
)]
async fn the_other_process() {
    let Ok(url) = std::env::var(STORE) else {
        return;
    };
    let process = Process::joined(Stack::Tower, &url).await;
    process.is_down(true);
    assert_eq!(process.retries(SPENT).await, SPENT);
    let mut calls = JoinSet::new();
    for _ in 0..HELD {
        calls.spawn(waits_for_its_retry(process.fleet.clone()));
    }
    calls.join_all().await;
    println!("spent");
    std::future::pending::<()>().await;
}

/// A call that has paid for a retry, which is due in an hour; it goes on by itself.
async fn waits_for_its_retry(fleet: Fleet) {
    let (paid, is_paid) = oneshot::channel();
    let paid = Mutex::new(Some(paid));
    let hour = Backoff::fixed(Duration::from_secs(3_600)).jitter(Jitter::None);
    let policy = RetryPolicy::builder().backoff(hour).max_gate_wait(None);
    let layer = RetryLayer::new(policy.build().unwrap()).fleet(&fleet);
    let layer = layer.observe(move |event: &RetryEvent<'_>| {
        if let RetryEventKind::RetryScheduled { .. } = event.kind {
            let paid = paid.lock().unwrap().take();
            let _ = paid.unwrap().send(());
        }
    });
    let service = layer.layer(Script::new().status(503));
    let mut request = http::Request::new(String::new());
    let named = RetryOverride::new().service("orders");
    request.extensions_mut().insert(named);
    tokio::spawn(service.oneshot(request));
    is_paid.await.unwrap();
}
