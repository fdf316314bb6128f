//! The subscriptions of a process, with a connection that the test breaks.

use super::gate::GateNotice;
use super::*;
use http_retry::testing::Script;
use http_retry::tower::{Retry, RetryLayer};
use tower::{Layer, ServiceExt};

/// A store that grants every subscription, and whose connection ends with the first step after it, unless it lasts.
#[derive(Clone, Default)]
struct TestStore(Arc<Mutex<Connection>>);

#[derive(Default)]
struct Connection {
    subscribers: Vec<Arc<dyn Subscriber>>,
    lasts: bool,
    is_silent: bool,
    subscriptions: usize,
    steps: usize,
    gate: Option<StoredGate>,
}

impl TestStore {
    fn with<R>(&self, act: impl FnOnce(&mut Connection) -> R) -> R {
        act(&mut self.0.lock().unwrap())
    }

    fn breaks(&self) {
        for subscriber in self.with(|connection| std::mem::take(&mut connection.subscribers)) {
            subscriber.on_lost();
        }
    }
}

impl Store for TestStore {
    fn settle_budget<'a>(
        &'a self,
        _: &'a BudgetKeys,
        _: &'a BudgetReport,
    ) -> Reply<'a, BudgetReply> {
        Box::pin(std::future::ready(Err(LeaveReason::Script)))
    }

    fn step_gate<'a>(&'a self, _: &'a GateKeys, report: &'a GateReport) -> Reply<'a, GateReply> {
        Box::pin(async move {
            TokioClock.sleep(MILLI).await;
            let (lasts, is_silent) = self.with(|connection| {
                connection.steps += 1;
                (connection.lasts, connection.is_silent)
            });
            if is_silent {
                return std::future::pending().await;
            }
            if !lasts {
                self.breaks();
                return Err(LeaveReason::Unreachable);
            }
            let now = u64::try_from(TokioClock.now().as_micros()).unwrap();
            let (answer, _) =
                self.with(|connection| step(&mut connection.gate, report, now + 1_000_000));
            Ok(answer)
        })
    }

    fn subscribe<'a>(
        &'a self,
        _: &'a GateKeys,
        subscriber: &'a Arc<dyn Subscriber>,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            TokioClock.sleep(MILLI).await;
            self.with(|connection| {
                connection.subscriptions += 1;
                connection.subscribers.push(Arc::clone(subscriber));
            });
            Ok(())
        })
    }
}

const MILLI: Duration = Duration::from_millis(1);

/// A process that has used its gates at so many hosts.
async fn process(store: &TestStore, hosts: usize) -> (Fleet, Retry<Script>) {
    let fleet = Fleet::builder()
        .prefix("p")
        .wait(WAIT)
        .on(Box::new(store.clone()), String::new());
    let layer = RetryLayer::new(RetryPolicy::rate_limited()).budget(RetryBudget::unlimited());
    let layer = layer.fleet(&fleet);
    let client = layer.layer(Script::new());
    for host in 0..hosts {
        let get = http::Request::get(format!("http://host{host}/"));
        let call = client.clone().oneshot(get.body(String::new()).unwrap());
        call.await.unwrap();
    }
    (fleet, client)
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_after_each_grant_is_backed_off() {
    for hosts in [1, 50] {
        let store = TestStore::default();
        let (fleet, _client) = process(&store, hosts).await;
        pass(SECOND * 60).await;
        let subscriptions = store.with(|connection| connection.subscriptions);
        assert!(!fleet.status().joined);
        // After 0.25, 0.5, 1, 2, 4 and then each 5 s, every gate at once.
        let most = 20 * hosts;
        assert!(subscriptions <= most, "{subscriptions} of {hosts}");
        store.with(|connection| connection.lasts = true);
        pass(SECOND * 7).await;
        assert!(fleet.status().joined, "it tries on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_lasted_is_renewed_at_once() {
    let store = TestStore::default();
    store.with(|connection| connection.lasts = true);
    let (fleet, _client) = process(&store, 3).await;
    for _ in 0..3 {
        pass(SECOND * 10).await;
        store.with(|connection| connection.subscriptions = 0);
        store.breaks();
        pass(MILLI * 5).await;
        assert_eq!(store.with(|connection| connection.subscriptions), 3);
    }
    assert!(fleet.status().joined);
}

#[tokio::test(start_paused = true)]
async fn a_reply_does_not_end_the_backoff() {
    let store = TestStore::default();
    store.with(|connection| connection.lasts = true);
    let (_fleet, _client) = process(&store, 1).await;
    for _ in 0..60 * 50 {
        pass(MILLI * 20).await;
        // Each subscription was granted, and the report after it got a reply.
        store.breaks();
    }
    let subscriptions = store.with(|connection| connection.subscriptions);
    assert!(subscriptions <= 20, "{subscriptions}");
}

fn closed(change: u64, millis: u64) -> GateNotice {
    GateNotice {
        change,
        closed: MILLI * u32::try_from(millis).unwrap(),
    }
}

/// A hundred messages in each of so many milliseconds, all open or now closed, now open.
async fn flood(store: &TestStore, millis: u64, ends: &[GateNotice]) {
    let subscribers = store.with(|connection| connection.subscribers.clone());
    for _ in 0..millis {
        for push in ends.iter().cycle().take(100 * ends.len()) {
            for subscriber in &subscribers {
                subscriber.notified(*push);
            }
        }
        pass(MILLI).await;
    }
}

async fn call(client: &Retry<Script>) -> Duration {
    let begun = TokioClock.now();
    let get = http::Request::get("http://host0/").body(String::new());
    client.clone().oneshot(get.unwrap()).await.unwrap();
    TokioClock.now() - begun
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_messages_costs_bounded_commands() {
    for ends in [&[closed(2, 0)][..], &[closed(1, 3_000), closed(2, 0)]] {
        let store = TestStore::default();
        store.with(|connection| connection.lasts = true);
        let (_fleet, _client) = process(&store, 1).await;
        pass(SECOND).await;
        let steps = store.with(|connection| connection.steps);
        flood(&store, 1_000, ends).await;
        pass(SECOND).await;
        let steps = store.with(|connection| connection.steps) - steps;
        assert!(steps <= 110, "{steps}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_of_many_notices_decides() {
    for (last, waits) in [(closed(3, 3_000), 2..9), (closed(4, 0), 0..1)] {
        let store = TestStore::default();
        store.with(|connection| connection.lasts = true);
        let (_fleet, client) = process(&store, 1).await;
        pass(SECOND).await;
        // The store must not reply, since it knows nothing of these notices.
        store.with(|connection| connection.is_silent = true);
        flood(&store, 5, &[closed(1, 3_000), closed(2, 0), last]).await;
        pass(MILLI * 20).await;
        let waited = call(&client).await.as_secs();
        assert!(waits.contains(&waited), "{last:?}: {waited} s");
    }
}
