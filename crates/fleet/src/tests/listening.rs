//! What a process does with its subscription, on a store whose connection a test holds.

use super::gate::GateNotice;
use super::*;
use http_retry::testing::Script;
use http_retry::tower::{Retry, RetryLayer};
use tower::{Layer, ServiceExt};

/// A store that grants every subscription, and whose connection ends with the first step after it, unless it lasts.
#[derive(Clone, Default)]
struct Line(Arc<Mutex<Wire>>);

#[derive(Default)]
struct Wire {
    subscribers: Vec<Arc<dyn Subscriber>>,
    lasts: bool,
    is_silent: bool,
    subscriptions: usize,
    steps: usize,
    gate: Option<StoredGate>,
}

impl Line {
    fn with<R>(&self, act: impl FnOnce(&mut Wire) -> R) -> R {
        act(&mut self.0.lock().unwrap())
    }

    fn breaks(&self) {
        for subscriber in self.with(|wire| std::mem::take(&mut wire.subscribers)) {
            subscriber.on_lost();
        }
    }
}

impl Store for Line {
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
            let (lasts, is_silent) = self.with(|wire| {
                wire.steps += 1;
                (wire.lasts, wire.is_silent)
            });
            if is_silent {
                return std::future::pending().await;
            }
            if !lasts {
                self.breaks();
                return Err(LeaveReason::Unreachable);
            }
            let now = u64::try_from(TokioClock.now().as_micros()).unwrap();
            let (answer, _) = self.with(|wire| step(&mut wire.gate, report, now + 1_000_000));
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
            self.with(|wire| {
                wire.subscriptions += 1;
                wire.subscribers.push(Arc::clone(subscriber));
            });
            Ok(())
        })
    }
}

const MILLI: Duration = Duration::from_millis(1);

/// A process that has used its gates at so many hosts.
async fn process(line: &Line, hosts: usize) -> (Fleet, Retry<Script>) {
    let fleet = Fleet::builder()
        .prefix("p")
        .wait(WAIT)
        .on(Box::new(line.clone()), String::new());
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
        let line = Line::default();
        let (fleet, _client) = process(&line, hosts).await;
        pass(SECOND * 60).await;
        let subscriptions = line.with(|wire| wire.subscriptions);
        assert!(!fleet.status().joined);
        // After 0.25, 0.5, 1, 2, 4 and then each 5 s, every gate at once.
        let most = 20 * hosts;
        assert!(subscriptions <= most, "{subscriptions} of {hosts}");
        line.with(|wire| wire.lasts = true);
        pass(SECOND * 7).await;
        assert!(fleet.status().joined, "it tries on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_lasted_is_renewed_at_once() {
    let line = Line::default();
    line.with(|wire| wire.lasts = true);
    let (fleet, _client) = process(&line, 3).await;
    for _ in 0..3 {
        pass(SECOND * 10).await;
        line.with(|wire| wire.subscriptions = 0);
        line.breaks();
        pass(MILLI * 5).await;
        assert_eq!(line.with(|wire| wire.subscriptions), 3);
    }
    assert!(fleet.status().joined);
}

#[tokio::test(start_paused = true)]
async fn an_answer_does_not_end_the_back_off() {
    let line = Line::default();
    line.with(|wire| wire.lasts = true);
    let (_fleet, _client) = process(&line, 1).await;
    for _ in 0..60 * 50 {
        pass(MILLI * 20).await;
        // Each subscription and the look after it were answered.
        line.breaks();
    }
    let subscriptions = line.with(|wire| wire.subscriptions);
    assert!(subscriptions <= 20, "{subscriptions}");
}

fn closed(change: u64, millis: u64) -> GateNotice {
    GateNotice {
        change,
        closed: MILLI * u32::try_from(millis).unwrap(),
    }
}

/// A hundred messages in each of so many milliseconds, all open or now closed, now open.
async fn flood(line: &Line, millis: u64, ends: &[GateNotice]) {
    let subscribers = line.with(|wire| wire.subscribers.clone());
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
        let line = Line::default();
        line.with(|wire| wire.lasts = true);
        let (_fleet, _client) = process(&line, 1).await;
        pass(SECOND).await;
        let steps = line.with(|wire| wire.steps);
        flood(&line, 1_000, ends).await;
        pass(SECOND).await;
        let steps = line.with(|wire| wire.steps) - steps;
        assert!(steps <= 110, "{steps}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_of_many_messages_holds() {
    for (last, waits) in [(closed(3, 3_000), 2..9), (closed(4, 0), 0..1)] {
        let line = Line::default();
        line.with(|wire| wire.lasts = true);
        let (_fleet, client) = process(&line, 1).await;
        pass(SECOND).await;
        // A store that answers knows nothing of them.
        line.with(|wire| wire.is_silent = true);
        flood(&line, 5, &[closed(1, 3_000), closed(2, 0), last]).await;
        pass(MILLI * 20).await;
        let waited = call(&client).await.as_secs();
        assert!(waits.contains(&waited), "{last:?}: {waited} s");
    }
}
