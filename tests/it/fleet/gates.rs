//! Gates that members share by a real server.

use super::member::Member;
use super::process::LONG;
use super::proxy::{Fault, before};
use super::server::Server;
use tokio::task::yield_now;

const KEY: &str = "http-retry:1:{api.example}:gate";

/// How often the gate was closed or opened for all.
fn changes(server: &Server) -> u64 {
    let kept = server.ask(&["HGET", KEY, "change"]).unwrap();
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

/// A member hears that the gate is closed: a call of it waits, or goes as a probe, succeeds, and opens the gate again, which
/// is a second change.
async fn hears_of_it(server: &Server, member: &Member) {
    let waited = member.waits();
    let hears = async {
        while member.waits() == waited && changes(server) < 2 {
            member.get().await;
            yield_now().await;
        }
    };
    tokio::time::timeout(LONG, hears).await.unwrap();
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_member_that_joins_during_a_cooldown_hears_of_it() {
    let server = Server::start(&[]);
    let first = Member::joined(&server.url()).await;
    let refused = first.clone();
    let refused = tokio::spawn(async move { refused.is_refused().await });
    until(|| changes(&server) == 1).await;
    let late = Member::joined(&server.url()).await;
    hears_of_it(&server, &late).await;
    refused.await.unwrap();
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_document_shares_its_gates_but_those_that_it_takes_out() {
    let server = Server::start(&[]);
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
        if shared {
            hears_of_it(&server, &other).await;
        } else {
            other.get().await;
            assert_eq!(other.waits(), waited, "nobody tells it");
        }
        refused.await.unwrap();
    }
    let keys = server.ask(&["KEYS", "*:gate"]).unwrap();
    let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    assert_eq!(keys, [KEY]);
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn gates_stay_local_where_the_server_cannot_push() {
    let server = Server::start(&[]);
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
    until(|| one.sent() == 5).await;
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
