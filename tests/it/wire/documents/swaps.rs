//! Documents that are swapped while requests are under way.

use super::super::server::{Act, FaultServer, Received};
use super::stacks::{Client, Kit, STACKS, Stack, document, get};
use crate::in_time::in_time;
use http_retry::config::RetryConfig;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;
use tokio::task::JoinSet;

const REQUESTS: usize = 200;
const AT_ONCE: usize = 8;
const SWAPS: usize = 20;
/// How often the second service fails, every other time.
const FAILURES: usize = 60;

/// Document number so-and-so: each of its verdicts bears its number.
fn numbered(number: usize, first: &FaultServer, second: &FaultServer) -> Value {
    let name = format!("document-{number}");
    let retry = |when: Value, header: &str| {
        json!({
            "name": name, "when": when, "do": "retry",
            "set": {"headers": {header: number.to_string()}},
        })
    };
    json!({
        "version": 1,
        "budgets": {"plenty": {"capacity": 1000, "initial": 1000, "per_success": 0}},
        "retry": {"backoff": "none", "budget": "plenty"},
        "services": {
            "first": {
                "match": {"host": first.address().to_string()},
                "retry": {"max_retries": 1},
                "rules": [
                    retry(json!({"status": 503, "attempt": 1}), "x-first"),
                    {
                        "name": name, "when": {"status": 503}, "failover": format!("second-{number}"),
                        "set": {"headers": {"x-second": number.to_string()}},
                    },
                ],
            },
            format!("second-{number}"): {
                "base_url": second.url(&format!("/{number}")),
                // As many as it fails: all of these may fall to one request.
                "retry": {"max_retries": FAILURES},
                "rules": [retry(json!({"status": 502}), "x-third")],
            },
        },
    })
}

/// How many requests are over, for whoever waits for more of them.
#[derive(Debug, Default)]
struct Over {
    count: AtomicUsize,
    changed: Notify,
}

impl Over {
    fn one_more(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    async fn until(&self, count: usize) {
        loop {
            let changed = self.changed.notified();
            if self.count.load(Ordering::SeqCst) >= count {
                return;
            }
            changed.await;
        }
    }
}

/// One request, and the document that each of its verdicts came from.
async fn one(client: &Client, url: &str) -> BTreeSet<String> {
    let told = in_time(client.send(get(url))).await;
    assert_eq!(told.status(), 200, "{told:?}");
    let attempts = told.attempts();
    let statuses: Vec<u16> = attempts.iter().map(|(status, _)| *status).collect();
    assert_eq!(
        statuses.len(),
        told.report.as_ref().unwrap().attempt_count as usize
    );
    assert_eq!(statuses[..2], [503, 503], "{statuses:?}");
    assert!(
        statuses[2..statuses.len() - 1]
            .iter()
            .all(|status| *status == 502),
        "{statuses:?}"
    );
    let judged = attempts.iter().take(attempts.len() - 1);
    judged.map(|(_, rule)| rule.unwrap().to_owned()).collect()
}

/// Sends many requests, and gives the document of each by its place.
async fn load(client: &Client, server: &str, over: &Arc<Over>) -> BTreeMap<usize, String> {
    let mut players = JoinSet::new();
    for first in 0..AT_ONCE {
        let (client, over, server) = (client.clone(), Arc::clone(over), server.to_owned());
        players.spawn(async move {
            let mut documents = BTreeMap::new();
            for number in (first..REQUESTS).step_by(AT_ONCE) {
                let mut judged = one(&client, &format!("{server}/{number}")).await;
                let document = judged.pop_first().unwrap();
                assert!(judged.is_empty(), "{number}: {document} and {judged:?}");
                documents.insert(number, document);
                over.one_more();
            }
            documents
        });
    }
    let mut documents = BTreeMap::new();
    while let Some(some) = players.join_next().await {
        documents.extend(some.unwrap());
    }
    documents
}

/// Puts one document after another in force; between them, one that cannot be.
async fn swap(config: RetryConfig, documents: Vec<Value>, over: Arc<Over>) {
    for (number, next) in documents.into_iter().enumerate() {
        over.until(number * REQUESTS / (SWAPS + 2)).await;
        let mut wrong = next.clone();
        wrong["services"]["first"]["retry"]["max_retrys"] = json!(1);
        config.replace(&document(wrong)).unwrap_err();
        config.replace(&document(next)).unwrap();
    }
}

fn header<'a>(request: &'a Received, name: &str) -> Option<&'a str> {
    let found = request.fields().find(|(own, _)| *own == name);
    found.map(|(_, value)| value)
}

/// Every request came as often as its verdicts say, and each time as its own document has it.
fn assert_received(documents: &BTreeMap<usize, String>, servers: [&FaultServer; 2], why: &str) {
    let [first, second] = servers.map(FaultServer::received);
    assert_eq!(first.len(), 2 * REQUESTS, "{why}");
    let mut at_second = second.len();
    for (number, document) in documents {
        let document = document.strip_prefix("document-").unwrap();
        let path = format!("/{number}");
        let came: Vec<_> = first
            .iter()
            .filter(|request| request.target() == path)
            .collect();
        let set: Vec<_> = came
            .iter()
            .map(|request| header(request, "x-first"))
            .collect();
        assert_eq!(set, [None, Some(document)], "{why} {number}");
        let moved = format!("/{document}/{number}");
        let came: Vec<_> = second
            .iter()
            .filter(|request| request.target() == moved)
            .collect();
        assert!(!came.is_empty(), "{why} {number}");
        at_second -= came.len();
        for (place, request) in came.iter().enumerate() {
            let set = ["x-first", "x-second", "x-third"].map(|name| header(request, name));
            let third = (place > 0).then_some(document);
            assert_eq!(
                set,
                [Some(document), Some(document), third],
                "{why} {number}"
            );
        }
    }
    assert_eq!(at_second, 0, "{why}: a request came that nobody sent");
}

async fn play(stack: Stack) {
    let first = FaultServer::start(std::iter::repeat_n(Act::status(503), 2 * REQUESTS)).await;
    let second = (0..FAILURES).flat_map(|_| [Act::status(502), Act::status(200)]);
    let second = FaultServer::start(second).await;
    let kit = Kit::new(numbered(0, &first, &second));
    let over = Arc::new(Over::default());
    let next = (1..=SWAPS).map(|number| numbered(number, &first, &second));
    let swapping = tokio::spawn(swap(kit.config.clone(), next.collect(), Arc::clone(&over)));
    let client = kit.client(stack);
    let documents = in_time(load(&client, &first.url(""), &over)).await;
    in_time(swapping).await.unwrap();
    assert_eq!(documents.len(), REQUESTS, "{stack:?}");
    let seen: BTreeSet<_> = documents.values().collect();
    assert!(seen.len() > SWAPS / 2, "{stack:?}: {seen:?}");
    assert_received(&documents, [&first, &second], &format!("{stack:?}"));
    assert_tokens(&kit, &first, second.received().len()).await;
}

/// One budget has paid for every retry that was sent, whatever document it was planned by, and for no failover.
async fn assert_tokens(kit: &Kit, first: &FaultServer, at_second: usize) {
    let told = kit.send(Stack::Boxed, get(&first.url("/"))).await;
    let left = told.report.unwrap().tokens_left.unwrap();
    // One at the first service, and at the second all but the failover itself.
    let retries = REQUESTS + (at_second - REQUESTS);
    let expected = u32::try_from(1_000 - retries).unwrap();
    assert_eq!(left, expected.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_is_judged_once_by_one_document() {
    for stack in STACKS {
        play(stack).await;
    }
}

#[tokio::test]
async fn a_request_keeps_its_document_and_the_next_has_the_new() {
    for stack in STACKS {
        let first = FaultServer::start([503, 503].map(Act::status)).await;
        let second = FaultServer::start([502, 502].map(Act::status)).await;
        let kit = Kit::new(numbered(1, &first, &second));
        let client = kit.client(stack);
        let url = first.url("/7");
        let (config, runtime) = (kit.config.clone(), kit.clock.clone());
        let mut documents = (2..).map(|number| numbered(number, &first, &second));
        let call = client.send(get(&url));
        let mut call = std::pin::pin!(call);
        let mut seen = 0;
        // A new document after each thing that the call does.
        let told = in_time(std::future::poll_fn(|cx| {
            let events = kit.events().len();
            if events > seen {
                config
                    .replace(&document(documents.next().unwrap()))
                    .unwrap();
                seen = events;
            }
            call.as_mut().poll(cx)
        }))
        .await;
        let rule = Some("document-1");
        let expected = [503, 503, 502, 502].map(|status| (status, rule));
        assert_eq!(told.attempts()[..4], expected, "{stack:?}");
        assert_eq!(told.attempts()[4..], [(200, None)], "{stack:?}");
        assert!(seen > 0 && runtime.alive() == 0, "{stack:?}");
        let received = second.received();
        assert!(received.iter().all(|request| request.target() == "/1/7"));
    }
}

#[tokio::test]
async fn one_service_is_patched_and_the_others_stay() {
    for stack in STACKS {
        let server = FaultServer::start([503, 503].map(Act::status)).await;
        let kit = Kit::new(json!({
            "version": 1,
            "services": {"it": {
                "match": {"host": server.address().to_string()},
                "retry": {"max_retries": 0},
            }},
        }));
        let client = kit.client(stack);
        let told = in_time(client.send(get(&server.url("/")))).await;
        assert_eq!(told.status(), 503, "{stack:?}");
        let change = document(json!({"retry": {"max_retries": 1, "backoff": "none"}}));
        kit.config.patch_service("it", &change).unwrap();
        let wrong = document(json!({"retry": {"max_retries": "many"}}));
        kit.config.patch_service("it", &wrong).unwrap_err();
        let told = in_time(client.send(get(&server.url("/")))).await;
        assert_eq!(
            (told.status(), told.attempts().len()),
            (200, 2),
            "{stack:?}"
        );
    }
}
