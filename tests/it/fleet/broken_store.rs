//! A store that refuses: nobody's call fails, the reason is told once, and the process goes on with its share.

use super::process::{BOTH, Process, Stack};
use super::server::Server;

/// What is done to a server, and the reason that is told.
const REFUSALS: [(&[&[&str]], &str); 4] = [
    (&[&["CONFIG", "SET", "maxmemory", "1"]], "no_memory"),
    (&[&["REPLICAOF", "127.0.0.1", "1"]], "read_only"),
    (
        &[
            &["DEL", "http-retry:1:{orders}:budget"],
            &["LPUSH", "http-retry:1:{orders}:budget", "a"],
        ],
        "wrong_type",
    ),
    (&[&["ACL", "SETUSER", "default", "-evalsha"]], "denied"),
];

/// What makes each of them well again.
const CURES: [&[&[&str]]; 4] = [
    &[&["CONFIG", "SET", "maxmemory", "0"]],
    &[&["REPLICAOF", "NO", "ONE"]],
    &[&["DEL", "http-retry:1:{orders}:budget"]],
    &[&["ACL", "SETUSER", "default", "+evalsha"]],
];

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_refusal_is_told_once_and_fails_no_call() {
    let server = Server::start(&[]);
    for (place, (refusal, reason)) in REFUSALS.into_iter().enumerate() {
        for stack in BOTH {
            server.ask(&["FLUSHALL"]).unwrap();
            let mut process = Process::joined(stack, &server.url()).await;
            all(&server, refusal);
            process.is_down(true);
            let retries = process.retries(40).await;
            assert!((1..=20).contains(&retries), "{reason}: {retries}");
            assert_eq!(process.event().await, format!("orders left: {reason}"));
            assert!(!process.fleet.status().joined);
            all(&server, CURES[place]);
            assert_eq!(process.event().await, "orders joined", "{reason}");
            assert_eq!(process.other_events(), [""; 0]);
        }
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_password_that_is_changed_is_told() {
    let server = Server::start(&["--requirepass", "hunter2"]);
    let url = format!("redis://:hunter3@127.0.0.1:{}", server.port());
    let fleet = http_retry::fleet::Fleet::redis(&url).unwrap();
    let mut process = Process::start(Stack::Tower, fleet).await;
    process.is_down(true);
    let retries = process.retries(40).await;
    assert_eq!(
        retries, 1,
        "a process that never heard of the others has one token"
    );
    assert_eq!(process.event().await, "orders left: auth");
    assert_eq!(process.other_events(), [""; 0]);
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_password_that_is_changed_and_set_back_is_told_each_time() {
    let server = Server::start(&[]);
    let password = |password: &str| {
        let rights = ["~*", "&*", "+@all"];
        let user = ["ACL", "SETUSER", "fleet", "on", "resetpass", password];
        server.ask(&[&user[..], &rights].concat()).unwrap();
    };
    let url = format!("redis://fleet:hunter2@127.0.0.1:{}", server.port());
    for stack in BOTH {
        server.ask(&["FLUSHALL"]).unwrap();
        password(">hunter2");
        let mut process = Process::joined(stack, &url).await;
        password(">hunter3");
        // A server asks for the password of new connections alone.
        server.ask(&["CLIENT", "KILL", "USER", "fleet"]).unwrap();
        // What is asked on a connection of which nobody knows yet that it has ended has another reason.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        process.is_down(true);
        let alone = process.retries(40).await;
        assert!((1..=20).contains(&alone), "{alone}");
        assert_eq!(process.event().await, "orders left: auth");
        password(">hunter2");
        assert_eq!(process.event().await, "orders joined");
        assert!(alone + process.retries(40).await <= 20);
        assert_eq!(process.other_events(), [""; 0]);
    }
}

fn all(server: &Server, commands: &[&[&str]]) {
    for command in commands {
        server.ask(command).unwrap();
    }
}
