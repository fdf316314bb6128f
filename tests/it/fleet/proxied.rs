//! A network between the fleet and its store that repeats, cuts and delays.

use super::process::{BOTH, Process};
use super::proxy::{Fault, before};
use super::scripts::scripts;
use super::server::Server;
use http_retry::fleet::Fleet;
use std::time::Duration;

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_command_that_arrives_twice_counts_once() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        let url = before(server.port(), Fault::Repeated).await;
        let mut process = Process::joined(stack, &url).await;
        process.is_down(true);
        let before = scripts(&server);
        let retries = process.retries(60).await;
        assert!(retries <= 20, "{retries}");
        assert_eq!(process.other_events(), [""; 0]);
        // A call asks three times at most, each of which arrives twice; it does not ask for as long as it may wait.
        let asked = scripts(&server) - before;
        assert!(asked <= 60 * 6, "{asked}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_connection_that_ends_after_each_answer_is_made_anew() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        // The server knows the script by this.
        let _well = Process::joined(stack, &server.url()).await;
        let url = before(server.port(), Fault::CutAfter).await;
        let process = Process::joined(stack, &url).await;
        process.is_down(true);
        let retries = process.retries(60).await;
        assert!((1..=20).contains(&retries), "{retries}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn answers_that_are_lost_give_back_what_they_granted() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        let well = Process::joined(stack, &server.url()).await;
        let url = before(server.port(), Fault::CutBefore).await;
        let mut process = Process::start(stack, Fleet::redis(&url).unwrap()).await;
        process.is_down(true);
        let alone = process.retries(60).await;
        assert_eq!(
            alone, 1,
            "a process that never heard of the others has one token"
        );
        assert_eq!(process.event().await, "orders left: unreachable");
        well.is_down(true);
        let others = well.retries(60).await;
        assert!((10..=20).contains(&others), "{others}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_store_far_away_is_asked_by_nobody_who_waits() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        let far = Fault::Late(Duration::from_millis(200));
        let url = before(server.port(), far).await;
        let mut process = Process::start(stack, Fleet::redis(&url).unwrap()).await;
        assert_eq!(process.get().await.status, 200);
        assert_eq!(process.event().await, "orders left: timeout");
        process.is_down(true);
        let retries = process.retries(100).await;
        assert!((1..=20).contains(&retries), "{retries}");
        assert_eq!(process.other_events(), [""; 0], "it stays alone");
    }
}
