//! Nothing that a fleet keeps, tells or shows holds a secret of the store's or of a request's.

use super::server::Server;
use http_retry::fleet::Fleet;
use http_retry::llm::LlmPreset;
use http_retry::report::RetryEvent;
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, Jitter, RetryPolicy};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

const SECRET: &str = "hunter2";

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn no_key_value_event_or_debug_text_holds_a_secret() {
    let server = Server::start(&[]);
    server
        .ask(&[
            "ACL", "SETUSER", "alice", "on", ">hunter2", "+@all", "~*", "&*",
        ])
        .unwrap();
    let url = format!("redis://alice:{SECRET}@127.0.0.1:{}", server.port());
    let fleet = Fleet::redis(&url).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let policy = RetryPolicy::llm().to_builder();
    let policy = policy.backoff(Backoff::fixed(Duration::from_millis(1)).jitter(Jitter::None));
    let layer = RetryLayer::new(policy.build().unwrap())
        .fleet(&fleet)
        .observe(move |event: &RetryEvent<'_>| heard.lock().unwrap().push(format!("{event:?}")));
    while !fleet.status().joined {
        let request = http::Request::get("http://bob:hunter2@api.example/hunter2?key=hunter2")
            .header("authorization", "Bearer hunter2")
            .header("x-api-key", SECRET)
            .body(SECRET.to_owned())
            .unwrap();
        let client = layer.layer(Script::new().status(503).status(200));
        assert_eq!(client.oneshot(request).await.unwrap().status(), 200);
        fleet.close().await;
    }
    let mut shown = std::mem::take(&mut *told.lock().unwrap());
    shown.extend([
        format!("{fleet:?}"),
        format!("{layer:?}"),
        format!("{:?}", fleet.status()),
    ]);
    shown.extend(stored(&server));
    let wrong: Vec<_> = shown.iter().filter(|text| text.contains(SECRET)).collect();
    assert_eq!(wrong, [""; 0]);
}

/// The keys of a store, and their values.
fn stored(server: &Server) -> Vec<String> {
    let keys = server.ask(&["KEYS", "*"]).unwrap();
    let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    assert!(
        keys.contains(&"http-retry:1:{api.example}:budget".to_owned()),
        "{keys:?}"
    );
    let dumps = keys.iter().map(|key| {
        let dump = server.ask(&["DUMP", key]).unwrap();
        let dump: Vec<u8> = redis::from_redis_value(dump).unwrap();
        String::from_utf8_lossy(&dump).into_owned()
    });
    let dumps: Vec<String> = dumps.collect();
    [keys, dumps].concat()
}
