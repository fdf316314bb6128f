//! A store in memory, for tests of programs whose processes share a fleet.

use super::budget::model::{StoredBucket, StoredRecord, settle};
use super::budget::{BudgetReply, BudgetReport};
use super::gate::model::{StoredGate, step};
use super::gate::{GateNotice, GateReply, GateReport};
use super::names::{BudgetKeys, GateKeys};
use super::store::{Reply, Store, Subscriber, Subscribers, ends_connection};
use super::sync::lock;
use super::{Fleet, FleetBuilder};
use crate::clock::TokioClock;
use http_retry_core::ConfigError;
use http_retry_core::report::LeaveReason;
use http_retry_core::runtime::Runtime;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio::runtime::Handle;

/// A store of a [`Fleet`] in memory, for tests: several fleets on it act as several processes, all inside one process
/// and without a server.
///
/// It takes the same steps as the scripts on Redis, keeps its state for as long, and notifies of pauses. It can be
/// slow, down or silent, and lose its state. Clones are the same store.
///
/// Its fleets run their tasks on tokio, and use the time of the given runtime. [`MemoryStore::new`] uses tokio's clock,
/// including a paused one. A `ManualRuntime` must be paused, since otherwise every wait of a task advances its clock.
///
/// ```
/// use http_retry::fleet::Fleet;
/// use http_retry::testing::MemoryStore;
#[doc = r#"
use http_retry::RetryPolicy;
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use tower::{Layer, ServiceExt};

# let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
# tokio.block_on(async {
let store = MemoryStore::new();
let process = || {
    let layer = RetryLayer::new(RetryPolicy::background()).fleet(&Fleet::in_memory(&store));
    let down = Script::new().status(503);
    (layer.layer(down.clone()), down)
};
let (one, calls) = process();
let get = || http::Request::get("http://orders.example/").body(String::new());
for _ in 0..20 {
    one.clone().oneshot(get()?).await?;
}
assert_eq!(calls.calls().len(), 20 + 20, "20 retries");

let (other, calls) = process();
other.oneshot(get()?).await?;
assert_eq!(calls.calls().len(), 1, "no token is left for any of the processes");
# Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
# })?;
# Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())"#]
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    runtime: Arc<dyn Runtime>,
    state: Arc<Mutex<StoreState>>,
}

#[derive(Default)]
struct StoreState {
    /// One for each fleet.
    connections: Vec<Weak<MemoryConnection>>,
    data: Data,
    saved: Data,
    latency: Duration,
    health: Health,
    tells: bool,
    commands: u64,
}

/// The state of the store's service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Health {
    #[default]
    Well,
    Fails(LeaveReason),
    Hangs,
}

impl MemoryStore {
    /// Creates an empty store on tokio's clock that replies at once. `tokio::time::advance` advances its time too.
    #[must_use]
    pub fn new() -> Self {
        Self::on(TokioClock)
    }

    /// Creates an empty store on the clock of this runtime that replies at once. Its fleets start on the same runtime.
    #[must_use]
    pub fn on(runtime: impl Runtime) -> Self {
        let state = StoreState {
            tells: true,
            ..StoreState::default()
        };
        Self {
            runtime: Arc::new(runtime),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Sets the latency of a reply from now on: one half passes before the step, and the other after it. Notices of
    /// pauses take the second half. Default zero; no call waits for a store whose latency is above the fleet's
    /// [`wait`](FleetBuilder::wait).
    pub fn set_latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Makes every command fail for this reason from now on, after the latency. With [`LeaveReason::Unreachable`] the
    /// connections end at once.
    pub fn fail(&self, reason: LeaveReason) {
        self.state().health = Health::Fails(reason);
        if reason == LeaveReason::Unreachable {
            self.cut();
        }
    }

    /// Stops all replies and notices from now on. A process waits for at most the fleet's [`wait`](FleetBuilder::wait),
    /// and gives up its connection after a second without a reply.
    pub fn hang(&self) {
        self.state().health = Health::Hangs;
    }

    /// Ends the failures, with the state from before and the latency that was set. Processes join again with their next
    /// report, at most 6 s later, and 1 s more after [`MemoryStore::hang`].
    pub fn recover(&self) {
        self.state().health = Health::Well;
    }

    /// Clears the state, like `FLUSHALL` or a restart without persistence. The copy of [`MemoryStore::save`] stays.
    pub fn forget(&self) {
        self.state().data = Data::default();
    }

    /// Saves a copy of the state for [`MemoryStore::roll_back`].
    pub fn save(&self) {
        let mut state = self.state();
        state.saved = state.data.clone();
    }

    /// Returns to the state of the last [`MemoryStore::save`], or to an empty one, as after a failover to a replica
    /// that lags behind.
    pub fn roll_back(&self) {
        let mut state = self.state();
        state.data = state.saved.clone();
    }

    /// Sets whether processes get notices of pauses from now on, which is the default. Without notices, their own gates
    /// decide.
    pub fn deliver_notices(&self, tells: bool) {
        self.state().tells = tells;
        if !tells {
            self.cut();
        }
    }

    /// Returns the number of commands that all processes have sent so far, including subscriptions and failed commands.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.state().commands
    }

    /// Ends all present connections.
    fn cut(&self) {
        for connection in self.connections() {
            connection.disconnect();
        }
    }

    fn connections(&self) -> Vec<Arc<MemoryConnection>> {
        let connections = &mut self.state().connections;
        connections.retain(|connection| connection.strong_count() > 0);
        connections.iter().filter_map(Weak::upgrade).collect()
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        lock(&self.state)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the condition of the store, and none of its data.
impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("MemoryStore")
            .field("latency", &state.latency)
            .field("health", &state.health)
            .field("tells", &state.tells)
            .field("commands", &state.commands)
            .finish_non_exhaustive()
    }
}

impl Fleet {
    /// Creates a fleet of one process on a store in memory, with the default settings, for tests. Every call makes
    /// another process.
    #[must_use]
    pub fn in_memory(store: &MemoryStore) -> Self {
        Self::builder().on_memory(store)
    }
}

impl FleetBuilder {
    /// Builds the fleet on a store in memory; see [`Fleet::in_memory`].
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first invalid setting.
    pub fn in_memory(self, store: &MemoryStore) -> Result<Fleet, ConfigError> {
        self.check()?;
        Ok(self.on_memory(store))
    }

    fn on_memory(self, store: &MemoryStore) -> Fleet {
        let connection = Arc::new(MemoryConnection {
            store: store.clone(),
            subscribers: Subscribers::default(),
        });
        let weak = Arc::downgrade(&connection);
        store.state().connections.push(weak);
        let fleet = self.on(Box::new(connection), "memory".to_owned());
        fleet.shared.set_runtime(&store.runtime);
        fleet
    }
}

/// The connection of one process to a store.
struct MemoryConnection {
    store: MemoryStore,
    subscribers: Subscribers,
}

/// The number of every connection: a new one looks the same to its subscribers as the one that was lost.
const CONNECTION: u64 = 1;

/// The longest time that a reply may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);

impl MemoryConnection {
    /// Ends the connection.
    fn disconnect(&self) {
        self.subscribers.remove_connection(CONNECTION);
    }

    /// Sends a command, and returns an error if it does not reach the store.
    async fn reaches_store(&self) -> Result<(), LeaveReason> {
        self.store.state().commands += 1;
        self.half_latency().await;
        // Read only now: a store that goes down meanwhile fails the command too.
        let health = self.store.state().health;
        let failed = match health {
            Health::Well => return Ok(()),
            Health::Fails(reason) => {
                self.half_latency().await;
                reason
            }
            Health::Hangs => {
                self.store.runtime.sleep(RESPONSE_TIMEOUT).await;
                LeaveReason::Timeout
            }
        };
        if ends_connection(failed) {
            self.disconnect();
        }
        Err(failed)
    }

    async fn half_latency(&self) {
        let latency = self.store.state().latency;
        if !latency.is_zero() {
            self.store.runtime.sleep(latency / 2).await;
        }
    }
}

impl Store for Arc<MemoryConnection> {
    fn settle_budget<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        report: &'a BudgetReport,
    ) -> Reply<'a, BudgetReply> {
        Box::pin(async move {
            self.reaches_store().await?;
            let now = self.store.runtime.now();
            let reply = self.store.state().data.settle(keys, report, now);
            self.half_latency().await;
            Ok(reply)
        })
    }

    fn step_gate<'a>(&'a self, keys: &'a GateKeys, report: &'a GateReport) -> Reply<'a, GateReply> {
        Box::pin(async move {
            self.reaches_store().await?;
            let now = self.store.runtime.now();
            let (reply, notice) = self.store.state().data.step(keys, report, now);
            // The sender is notified as well, like every subscriber of a channel.
            if let Some(notice) = notice {
                self.store.notify(&keys.channel, notice);
            }
            self.half_latency().await;
            Ok(reply)
        })
    }

    fn subscribe<'a>(
        &'a self,
        keys: &'a GateKeys,
        subscriber: &'a Arc<dyn Subscriber>,
    ) -> Reply<'a, ()> {
        Box::pin(async move {
            self.reaches_store().await?;
            if !self.store.state().tells {
                return Err(LeaveReason::Denied);
            }
            self.subscribers.add(CONNECTION, &keys.channel, subscriber);
            self.half_latency().await;
            Ok(())
        })
    }
}

impl MemoryStore {
    /// Notifies all subscribers, after half of the latency.
    fn notify(&self, channel: &str, notice: GateNotice) {
        let latency = self.state().latency;
        // The store's runtime cannot start a task, so the wait needs tokio's; without it, notices arrive at once.
        match Handle::try_current() {
            Ok(tokio) if !latency.is_zero() => {
                let (store, channel) = (self.clone(), channel.to_owned());
                let arrives = self.runtime.sleep(latency / 2);
                tokio.spawn(async move {
                    arrives.await;
                    store.deliver(&channel, notice);
                });
            }
            _ => self.deliver(channel, notice),
        }
    }

    fn deliver(&self, channel: &str, notice: GateNotice) {
        if self.state().health == Health::Hangs {
            return;
        }
        for connection in self.connections() {
            connection.subscribers.notify(CONNECTION, channel, notice);
        }
    }
}

/// The state of a store, each part kept for as long as a server would keep it.
#[derive(Clone, Default)]
struct Data {
    buckets: Expiring<StoredBucket>,
    records: Expiring<StoredRecord>,
    gates: Expiring<StoredGate>,
}

/// Each value with the time at which it expires.
type Expiring<T> = HashMap<String, (T, Duration)>;

/// The times for which the scripts keep a key that no step touches.
const SHARED_TTL: Duration = Duration::from_secs(3_600);
const RECORD_TTL: Duration = Duration::from_secs(60);

/// The lead of the store's clock, which is far ahead of a process's as a server's may be.
const CLOCK_LEAD: Duration = Duration::from_secs(1_800_000_000);

impl Data {
    fn settle(&mut self, keys: &BudgetKeys, report: &BudgetReport, now: Duration) -> BudgetReply {
        let mut bucket = get(&self.buckets, &keys.budget, now);
        let mut record = get(&self.records, &keys.record, now);
        let time = (CLOCK_LEAD + now)
            .as_millis()
            .try_into()
            .unwrap_or(i64::MAX);
        let reply = settle(&mut bucket, &mut record, report, time);
        put(&mut self.buckets, &keys.budget, bucket, now + SHARED_TTL);
        put(&mut self.records, &keys.record, record, now + RECORD_TTL);
        reply
    }

    fn step(
        &mut self,
        keys: &GateKeys,
        report: &GateReport,
        now: Duration,
    ) -> (GateReply, Option<GateNotice>) {
        let mut gate = get(&self.gates, &keys.gate, now);
        let time = (CLOCK_LEAD + now)
            .as_micros()
            .try_into()
            .unwrap_or(u64::MAX);
        let reply = step(&mut gate, report, time);
        put(&mut self.gates, &keys.gate, gate, now + SHARED_TTL);
        reply
    }
}

fn get<T: Copy>(entries: &Expiring<T>, key: &str, now: Duration) -> Option<T> {
    let (value, until) = entries.get(key)?;
    (now < *until).then_some(*value)
}

fn put<T>(entries: &mut Expiring<T>, key: &str, value: Option<T>, until: Duration) {
    let Some(value) = value else { return };
    match entries.get_mut(key) {
        Some(entry) => *entry = (value, until),
        None => {
            entries.insert(key.to_owned(), (value, until));
        }
    }
}
