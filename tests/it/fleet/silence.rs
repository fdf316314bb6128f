//! A store that accepts a connection and never says a word, on a clock that stands while anything else is to be done.

use super::process::{Process, Stack};
use crate::listening::listener;
use http_retry::fleet::Fleet;
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "on tokio's paused clock")]
async fn a_first_attempt_never_waits_and_a_retry_not_long() {
    let listener = listener().await;
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let wait = Duration::from_millis(50);
    let process = Process::start(Stack::Tower, Fleet::redis(&url).unwrap()).await;
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(process.get().await.status, 200);
    }
    assert_eq!(Instant::now(), begun);
    process.is_down(true);
    let mut calls = Vec::new();
    for _ in 0..40 {
        let begun = Instant::now();
        assert_eq!(process.get().await.status, 503);
        calls.push(begun.elapsed());
    }
    // The timer of a clock that is paused goes by milliseconds.
    let most = wait + Duration::from_millis(2);
    assert!(calls.iter().all(|took| *took <= most), "{calls:?}");
    let waited = calls.iter().filter(|took| **took >= wait);
    assert_eq!(
        waited.count(),
        1,
        "once the store was silent, nobody waits for it"
    );
    drop(listener);
}
