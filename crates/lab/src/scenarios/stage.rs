//! The parts that the scenarios share: a server, a load, and each contender in between.

use super::super::World;
use super::super::clients::{Client, Target, Tokens};
use super::super::load::{self, Load};
use super::super::origin::Origin;
use super::super::run::{Ended, Run};
use super::super::runtime::{Clock, LabRuntime};
use super::super::server::{Rules, Server};
use super::super::verdict::Row;
use http_retry::fleet::Fleet;
use http_retry::gate::Gate;
use http_retry::testing::MemoryStore;
use http_retry::{RetryBudget, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;
use tower::retry::budget::TpsBudget;

/// A source of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
    NoRetries,
    HttpRetry,
    /// The same as one fleet, whose store is this far away.
    Fleet(Duration),
    ReqwestRetry,
    TowerRetry,
}

impl Contender {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NoRetries => "no retries",
            Self::HttpRetry => "http-retry",
            Self::Fleet(_) => "a fleet",
            Self::ReqwestRetry => "reqwest-retry",
            Self::TowerRetry => "tower::retry",
        }
    }

    /// Those whom this crate is compared with.
    pub(super) fn peers(world: World) -> &'static [Self] {
        if !world.peers {
            &[]
        } else {
            &[Self::ReqwestRetry, Self::TowerRetry]
        }
    }
}

/// One server, many callers.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) rules: Rules,
    pub(super) loads: Vec<Load>,
    /// The time that a caller waits for an attempt.
    pub(super) patience: Option<Duration>,
    /// The number of clients, each with a budget of its own.
    pub(super) clients: usize,
    pub(super) policy: RetryPolicy,
    pub(super) budget: fn() -> RetryBudget,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            loads: Vec::new(),
            patience: None,
            clients: 1,
            policy: RetryPolicy::background(),
            budget: RetryBudget::default,
        }
    }
}

impl Setup {
    /// The default policy with so many retries.
    pub(super) fn retries(max_retries: u32) -> RetryPolicy {
        let builder = RetryPolicy::background().to_builder();
        builder
            .max_retries(max_retries)
            .build()
            .expect("a small number")
    }

    pub(super) fn run(&self, world: World, contender: Contender) -> Run {
        world.play(async {
            let stage = Stage::new(world, vec![self.rules.clone()]);
            let store = stage.store(contender);
            let clients: Vec<_> = (0..self.clients)
                .map(|_| self.client(&stage, contender, &store))
                .collect();
            let calls = stage.offer(&clients, 1, &self.loads).await;
            stage.run(calls)
        })
    }

    fn client(&self, stage: &Stage, contender: Contender, store: &MemoryStore) -> Client {
        let origin = &stage.origin.with_patience(self.patience);
        let policy = || {
            let builder = self.policy.to_builder().attempt_timeout(self.patience);
            builder.build().expect("a timeout of some length")
        };
        match contender {
            Contender::NoRetries => Client::bare(origin),
            Contender::ReqwestRetry => Client::reqwest_retry(origin),
            Contender::TowerRetry => Client::tower_retry(origin, &tps_budget()),
            Contender::HttpRetry => stage.ours(&policy(), &Tokens::One((self.budget)())),
            Contender::Fleet(_) => stage.process(origin, &policy(), (store, None)),
        }
    }
}

/// The numbers that `reqwest::retry` and Finagle have too: a fifth of the requests, and ten a second.
pub(super) fn tps_budget() -> Arc<TpsBudget> {
    Arc::new(TpsBudget::new(Duration::from_secs(10), 10, 0.2))
}

/// A world with its servers.
#[derive(Debug)]
pub(super) struct Stage {
    world: World,
    pub(super) clock: Clock,
    servers: Vec<Server>,
    pub(super) origin: Origin,
    runtime: LabRuntime,
}

impl Stage {
    pub(super) fn new(world: World, rules: Vec<Rules>) -> Self {
        let clock = Clock::new();
        let servers: Vec<_> = rules
            .into_iter()
            .map(|rules| Server::new(clock, world.seed, rules))
            .collect();
        Self {
            world,
            clock,
            origin: Origin::new(&servers),
            servers,
            runtime: LabRuntime::new(clock, world.seed),
        }
    }

    pub(super) fn runtime(&self) -> LabRuntime {
        self.runtime.clone()
    }

    /// The store of a fleet, which nobody asks where there is none.
    pub(super) fn store(&self, contender: Contender) -> MemoryStore {
        let store = MemoryStore::on(self.runtime());
        if let Contender::Fleet(latency) = contender {
            store.set_latency(latency);
        }
        store
    }

    /// A process of the fleet on this store; with a gate, that one is its own.
    pub(super) fn process(
        &self,
        origin: &Origin,
        policy: &RetryPolicy,
        (store, gate): (&MemoryStore, Option<Gate>),
    ) -> Client {
        let fleet = Fleet::in_memory(store);
        let shared = (&fleet, gate);
        Client::in_fleet(self.world, self.runtime(), origin, policy, shared)
    }

    /// A client of this crate with a gate of its own, which counts where the policy has one.
    pub(super) fn ours(&self, policy: &RetryPolicy, tokens: &Tokens) -> Client {
        Client::ours(
            self.world,
            self.runtime(),
            &self.origin,
            policy,
            tokens,
            &Gate::new(),
        )
    }

    /// A client of this crate with nothing set but its policy.
    pub(super) fn with_defaults(&self, policy: &RetryPolicy) -> Client {
        Client::with_defaults(self.world, self.runtime(), &self.origin, policy)
    }

    /// Makes the calls of these loads to so many services in turn.
    pub(super) async fn offer(
        &self,
        clients: &[Client],
        services: usize,
        loads: &[Load],
    ) -> Vec<Ended> {
        let (arrivals, seed) = (self.world.arrivals, self.world.seed);
        let targets: Vec<_> = (0..services).map(Target::new).collect();
        let times = loads
            .iter()
            .cloned()
            .flat_map(|load| load.times(arrivals, seed));
        load::offer(self.clock, clients, &targets, times).await
    }

    pub(super) fn run(&self, calls: Vec<Ended>) -> Run {
        let attempts = self.servers.iter().flat_map(Server::attempts).collect();
        Run::new(
            calls,
            attempts,
            self.servers.iter().map(Server::refused).sum(),
            self.servers.iter().map(Server::early).sum(),
        )
    }
}

/// A row without a bound, of anybody.
pub(super) fn peer_named(scenario: &'static str, name: &'static str, run: &Run) -> Row {
    Row::new(scenario, name, run.series())
}

/// A row without a bound, for those whom this crate is compared with.
pub(super) fn peer(scenario: &'static str, contender: Contender, run: &Run) -> Row {
    peer_named(scenario, contender.name(), run)
}

pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}
