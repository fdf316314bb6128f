//! A process that is killed with tokens in hand.

use super::process::{Process, Stack};
use super::server::Server;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Tells the other process where the store is; a run without it is no other process.
const STORE: &str = "HTTP_RETRY_TEST_STORE";
const SPENT: usize = 8;

#[tokio::test]
async fn a_process_that_is_killed_takes_only_what_it_has_spent() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
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
    assert_eq!(process.retries(60).await, 20 - SPENT);
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
    println!("spent");
    std::future::pending::<()>().await;
}
