//! Which addresses a fleet takes, and what a user sees of the others.

use super::process::{BOTH, Process};
use super::server::Server;
use http_retry::fleet::Fleet;

#[test]
fn an_address_of_another_kind_says_what_to_do_instead() {
    for (url, wanted) in [
        (
            "rediss://:hunter2@cache:6379",
            "fleet.redis: the URL is not allowed: needs a TLS feature of the crate redis, such as tokio-rustls-comp",
        ),
        (
            "redis-sentinel://:hunter2@cache:26379/main",
            "fleet.redis: the URL is not allowed: must be of a server and not of its sentinels: ask them for the primary, \
             and give a redis::Client of it to Fleet::redis_client",
        ),
        (
            "redis+cluster://:hunter2@cache:6379",
            "fleet.redis: the URL is not allowed: must be of one server, which has all slots: a cluster is not followed",
        ),
        (
            "http://:hunter2@cache",
            "fleet.redis: the URL is not allowed: must be the URL of a server, such as redis://user:password@host:6379/0",
        ),
    ] {
        let error = Fleet::redis(url).unwrap_err();
        assert_eq!(error.to_string(), wanted, "{url}");
    }
}

#[cfg(unix)]
#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_fleet_meets_on_a_unix_socket_too() {
    let socket = std::env::temp_dir().join(format!("http-retry-{}.sock", std::process::id()));
    let socket = socket.to_str().unwrap();
    let server = Server::start(&["--unixsocket", socket]);
    let by_socket = Process::joined(BOTH[0], &format!("redis+unix://{socket}")).await;
    let by_port = Process::joined(BOTH[1], &server.url()).await;
    by_socket.is_down(true);
    by_port.is_down(true);
    assert_eq!(by_socket.retries(12).await, 12);
    assert_eq!(by_port.retries(20).await, 8);
    drop(server);
    std::fs::remove_file(socket).unwrap();
}
