//! A store that goes away and comes back.

use super::process::{BOTH, Process};
use super::server::Server;

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_store_that_is_killed_and_comes_back_empty_is_joined_again() {
    let mut server = Server::start(&[]);
    for stack in BOTH {
        let mut process = Process::joined(stack, &server.url()).await;
        process.is_down(true);
        assert_eq!(process.retries(5).await, 5);
        server.kill();
        let alone = process.retries(40).await;
        assert!((1..=15).contains(&alone), "{alone}");
        assert_eq!(process.event().await, "orders left: unreachable");
        server.start_again();
        assert_eq!(process.event().await, "orders joined");
        let after = process.retries(40).await;
        assert!(alone + after <= 15, "{alone} and {after} of 15");
        assert_eq!(process.other_events(), [""; 0]);
        server.start_again();
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_store_that_stops_for_a_while_holds_nobody_up_twice() {
    let server = Server::start(&[]);
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        let mut process = Process::joined(stack, &server.url()).await;
        process.is_down(true);
        server.freeze();
        let retries = process.retries(40).await;
        assert!((1..=20).contains(&retries), "{retries}");
        assert_eq!(process.event().await, "orders left: timeout");
        server.go_on();
        assert_eq!(process.event().await, "orders joined");
        // One more may have been on its way when the store stopped.
        let after = process.retries(40).await;
        assert!(retries + after <= 21, "{retries} and {after} of 20");
        assert_eq!(process.other_events(), [""; 0]);
    }
}
