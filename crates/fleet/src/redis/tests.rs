//! The store on a server of its own.

use super::*;
use crate::gate::GateNotice;
use crate::tests::server::Server;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Counts in a key, and returns the count and its argument.
const COUNT: &str = "redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]) or 0) \
                     return {redis.call('INCR', KEYS[1]), string.format('%.0f', ARGV[1])}";

fn count() -> Script {
    Script::new(COUNT)
}

fn store(server: &Server) -> RedisStore {
    RedisStore::open(&server.url()).unwrap()
}

struct Recorder(UnboundedSender<Option<GateNotice>>);

impl Subscriber for Recorder {
    fn notified(&self, notice: GateNotice) {
        let _ = self.0.send(Some(notice));
    }

    fn on_lost(&self) {
        let _ = self.0.send(None);
    }
}

fn recorder() -> (Arc<dyn Subscriber>, UnboundedReceiver<Option<GateNotice>>) {
    let (sender, notices) = unbounded_channel();
    (Arc::new(Recorder(sender)), notices)
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_forgotten_script_is_loaded_and_runs_once() {
    let server = Server::start(&[]);
    let (store, script) = (store(&server), count());
    for expected in 1..4 {
        let answer = store.run(&script, &["k"], &[9_007_199_254_740_991]).await;
        assert_eq!(answer, Ok(vec![expected, 9_007_199_254_740_991]));
        server.ask(&["SCRIPT", "FLUSH"]).unwrap();
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_restarted_server_is_reconnected() {
    let mut server = Server::start(&[]);
    let (store, script) = (store(&server), count());
    assert_eq!(store.run(&script, &["k"], &[1]).await, Ok(vec![1, 1]));
    server.kill();
    for _ in 0..3 {
        let answer = store.run(&script, &["k"], &[1]).await;
        assert_eq!(answer, Err(LeaveReason::Unreachable));
    }
    server.start_again();
    assert_eq!(store.run(&script, &["k"], &[2]).await, Ok(vec![1, 2]));
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_server_that_hangs_is_given_up_after_a_second() {
    let server = Server::start(&[]);
    let (store, script) = (store(&server), count());
    assert_eq!(store.run(&script, &["k"], &[1]).await, Ok(vec![1, 1]));
    server.freeze();
    let answer = store.run(&script, &["k"], &[1]).await;
    assert_eq!(answer, Err(LeaveReason::Timeout));
    server.go_on();
    // The command that nobody waits for any more may have run.
    let answer = store.run(&script, &["k"], &[1]).await.unwrap();
    assert!((2..=3).contains(&answer[0]), "{answer:?}");
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn every_server_error_has_its_reason() {
    let server = Server::start(&[]);
    let store = store(&server);
    let run = async |script: &Script| store.run(script, &["k"], &[1]).await.unwrap_err();
    server.ask(&["LPUSH", "k", "a"]).unwrap();
    assert_eq!(run(&count()).await, LeaveReason::WrongType);
    server.ask(&["DEL", "k"]).unwrap();
    assert_eq!(run(&Script::new("return 1")).await, LeaveReason::Script);
    assert_eq!(run(&Script::new("what?")).await, LeaveReason::Script);
    let limit = ["CONFIG", "SET", "maxmemory", "1"];
    server.ask(&limit).unwrap();
    assert_eq!(run(&count()).await, LeaveReason::NoMemory);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    server.ask(&["REPLICAOF", "127.0.0.1", "1"]).unwrap();
    server
        .ask(&["CONFIG", "SET", "replica-serve-stale-data", "no"])
        .unwrap();
    assert_eq!(run(&count()).await, LeaveReason::ReadOnly);
    server
        .ask(&["CONFIG", "SET", "replica-serve-stale-data", "yes"])
        .unwrap();
    assert_eq!(run(&count()).await, LeaveReason::ReadOnly);
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_wrong_password_is_reported_and_never_shown() {
    let server = Server::start(&["--requirepass", "hunter2"]);
    let at = |user: &str| format!("redis://{user}@127.0.0.1:{}", server.port());
    let right = RedisStore::open(&at(":hunter2")).unwrap();
    assert_eq!(right.run(&count(), &["k"], &[1]).await, Ok(vec![1, 1]));
    for user in [":hunter3", "nobody:hunter2"] {
        let wrong = RedisStore::open(&at(user)).unwrap();
        let answer = wrong.run(&count(), &["k"], &[1]).await;
        assert_eq!(answer, Err(LeaveReason::Auth), "{user}");
        let shown = wrong.address();
        assert!(
            !shown.contains("hunter") && !shown.contains("nobody"),
            "{shown}"
        );
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn notices_arrive_until_the_connection_ends() {
    let mut server = Server::start(&[]);
    let store = store(&server);
    let (listener, mut notices) = recorder();
    store.subscribe_to("c", &listener).await.unwrap();
    server.ask(&["PUBLISH", "c", "4:250"]).unwrap();
    let notice = GateNotice {
        change: 4,
        closed: Duration::from_millis(250),
    };
    assert_eq!(notices.recv().await, Some(Some(notice)));
    server.kill();
    assert_eq!(notices.recv().await, Some(None));
    assert_eq!(
        store.subscribe_to("c", &listener).await,
        Err(LeaveReason::Unreachable)
    );
    server.start_again();
    store.subscribe_to("c", &listener).await.unwrap();
    server.ask(&["PUBLISH", "c", "4:250"]).unwrap();
    while let Some(None) = notices.recv().await {}
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn the_documented_rights_suffice() {
    let server = Server::start(&[]);
    let rights = "on >hunter2 ~http-retry:* resetchannels &http-retry:* -@all +evalsha +script|load +hmget +hset +get +set \
                  +pexpire +time +publish +subscribe +ping +hello";
    let mut words = vec!["ACL", "SETUSER", "fleet"];
    words.extend(rights.split_whitespace());
    server.ask(&words).unwrap();
    let url = format!("redis://fleet:hunter2@127.0.0.1:{}", server.port());
    let store = RedisStore::open(&url).unwrap();
    let all = Script::new(
        "redis.call('SET', KEYS[1], 1) redis.call('PEXPIRE', KEYS[1], 9) redis.call('TIME') redis.call('GET', KEYS[1]) \
         redis.call('HSET', KEYS[2], 'f', 1) redis.call('HMGET', KEYS[2], 'f') redis.call('PUBLISH', KEYS[3], 1) return {1}",
    );
    let own = ["http-retry:a", "http-retry:b", "http-retry:c"];
    assert_eq!(store.run(&all, &own, &[]).await, Ok(vec![1]));
    let other = ["other:a", "http-retry:b", "http-retry:c"];
    assert_eq!(store.run(&all, &other, &[]).await, Err(LeaveReason::Denied));
    let (listener, _notices) = recorder();
    assert_eq!(store.subscribe_to("http-retry:c", &listener).await, Ok(()));
    let denied = store.subscribe_to("other:c", &listener).await;
    assert_eq!(denied, Err(LeaveReason::Denied));
}

#[test]
fn an_invalid_url_is_refused_and_not_quoted() {
    for url in [
        "",
        "hunter2",
        "http://:hunter2@cache:6379",
        "redis://:hunter2@cache:hunter2",
        "redis://:hunter2@cache/hunter2",
        "redis://:hunter2@0.0.0.0",
        "redis://:hunter2@",
        "redis://:hunter2@cache?protocol=hunter2",
    ] {
        let error = RedisStore::open(url).err().unwrap();
        assert_eq!(error.field, "fleet.redis", "{url}");
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let error = RedisStore::open("rediss://cache").err().unwrap();
    assert!(error.allowed.contains("TLS"), "{error}");
}
