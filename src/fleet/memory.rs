//! A store in memory, for tests of programs whose processes share a fleet.

mod data;
mod line;

use super::core::lock;
use super::listeners::Listeners;
use super::{Fleet, FleetBuilder};
use crate::budget::fleet::LeaveReason;
use crate::error::ConfigError;
use crate::runtime::{Runtime, TokioRuntime};
use data::Data;
use line::Line;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// A store of a [`Fleet`] in memory, for tests: several fleets on it are several processes, all inside one, and without a
/// server.
///
/// It takes the same steps as the scripts on Redis, keeps what it knows as long, and tells of pauses. It can be slow, down
/// or silent, and forget. Clones are the same store.
///
/// Its fleets run their tasks on tokio, and wait by the runtime given: [`MemoryStore::new`] goes by tokio's clock, also
/// where that is paused. A [`ManualRuntime`] must be a paused one, as others move on with each wait of a task.
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
///
/// [`ManualRuntime`]: crate::testing::ManualRuntime
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    runtime: Arc<dyn Runtime>,
    state: Mutex<State>,
    /// One for each fleet.
    lines: Mutex<Vec<Weak<Line>>>,
}

#[derive(Default)]
struct State {
    data: Data,
    saved: Data,
    latency: Duration,
    health: Health,
    tells: bool,
    commands: u64,
}

/// What the store does with commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Health {
    #[default]
    Well,
    Fails(LeaveReason),
    Hangs,
}

impl MemoryStore {
    /// An empty store on tokio's clock, that answers at once. Its time goes on with `tokio::time::advance` too.
    #[must_use]
    pub fn new() -> Self {
        Self::on(TokioRuntime)
    }

    /// An empty store on the clock of this runtime, that answers at once. Its fleets begin on the same runtime.
    #[must_use]
    pub fn on(runtime: impl Runtime) -> Self {
        Self(Arc::new(Inner {
            runtime: Arc::new(runtime),
            state: Mutex::new(State {
                tells: true,
                ..State::default()
            }),
            lines: Mutex::default(),
        }))
    }

    /// From now on an answer takes this long: one half before the step, and the other after it. What it tells of pauses
    /// takes the second half. Default zero; more than the fleet's [`wait`](FleetBuilder::wait) is a store that nobody waits
    /// for.
    pub fn set_latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// From now on every command fails for this reason, after the latency. With [`LeaveReason::Unreachable`] the connections
    /// end at once.
    pub fn fail(&self, reason: LeaveReason) {
        self.state().health = Health::Fails(reason);
        if reason == LeaveReason::Unreachable {
            self.cut();
        }
    }

    /// From now on nothing is answered, nor told. A process waits for at most the fleet's [`wait`](FleetBuilder::wait), and
    /// gives up its connection after a second without an answer.
    pub fn hang(&self) {
        self.state().health = Health::Hangs;
    }

    /// From now on all is well, with what the store knew before and the latency that was set. Processes join again when they
    /// ask next, at most 6 s later, and 1 s more after [`MemoryStore::hang`].
    pub fn recover(&self) {
        self.state().health = Health::Well;
    }

    /// Forgets everything, as `FLUSHALL` or a restart without persistence. What [`MemoryStore::save`] has kept stays.
    pub fn forget(&self) {
        self.state().data = Data::default();
    }

    /// Remembers what is known now for [`MemoryStore::roll_back`].
    pub fn save(&self) {
        let mut state = self.state();
        state.saved = state.data.clone();
    }

    /// Goes back to what was known at the last [`MemoryStore::save`], else to nothing: as after a failover to a replica
    /// that had heard no more.
    pub fn roll_back(&self) {
        let mut state = self.state();
        state.data = state.saved.clone();
    }

    /// Whether processes can hear of pauses from now on, which they do by default. While they cannot, their own gates
    /// decide.
    pub fn tell_of_pauses(&self, tells: bool) {
        self.state().tells = tells;
        if !tells {
            self.cut();
        }
    }

    /// How many commands all processes have sent so far, subscriptions and those that failed included.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.state().commands
    }

    /// Nothing comes by the connections of now any more.
    fn cut(&self) {
        for line in self.lines() {
            line.lose();
        }
    }

    fn lines(&self) -> Vec<Arc<Line>> {
        let mut lines = lock(&self.0.lines);
        lines.retain(|line| line.strong_count() > 0);
        lines.iter().filter_map(Weak::upgrade).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows how the store is, and nothing that it knows.
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
    /// A fleet of one process on a store in memory, with the default settings, for tests. Every call makes another process.
    #[must_use]
    pub fn in_memory(store: &MemoryStore) -> Self {
        Self::builder().joins(store)
    }
}

impl FleetBuilder {
    /// The fleet on a store in memory; see [`Fleet::in_memory`].
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first setting that cannot work.
    pub fn in_memory(self, store: &MemoryStore) -> Result<Fleet, ConfigError> {
        self.check()?;
        Ok(self.joins(store))
    }

    fn joins(self, store: &MemoryStore) -> Fleet {
        let line = Arc::new(Line {
            store: store.clone(),
            listeners: Listeners::default(),
        });
        lock(&store.0.lines).push(Arc::downgrade(&line));
        let fleet = Fleet::on(
            Box::new(line),
            (self.prefix, self.wait),
            "memory".to_owned(),
        );
        fleet.0.core.set_runtime(&store.0.runtime);
        fleet
    }
}
