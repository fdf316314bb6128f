//! Outages: everything fails for a while, or nothing is answered.

use super::super::load::Load;
use super::super::run::{Ended, Run};
use super::super::server::Rules;
use super::super::verdict::Row;
use super::super::{Stack, World};
use super::stage::{Contender, Setup, peer, seconds};
use super::{Scenario, Worlds};
use http_retry::RetryBudget;
use std::ops::Range;
use std::time::Duration;

/// The time that a caller waits for an attempt.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// So many are served in a second: 50 workers, 50 ms each.
pub(super) fn thousand_a_second() -> Rules {
    Rules {
        workers: Some(50),
        service_time: Duration::from_millis(50),
        ..Rules::default()
    }
}

pub(super) const A: Scenario = Scenario {
    id: "A",
    title: "everything fails for 60 s, 500 requests a second",
    worlds: Worlds::All,
    play: a,
};

fn a(world: World) -> Vec<Row> {
    let begins = Duration::from_secs(20);
    let setup = Setup {
        rules: Rules {
            outage: begins..Duration::from_secs(80),
            ..Rules::default()
        },
        loads: vec![Load::new(500.0, 0..80)],
        ..Setup::default()
    };
    let row = |contender: Contender| {
        let whole = setup.run(world, contender);
        let outage = whole.since(begins);
        let came = Run {
            attempts: outage.calls.iter().map(|call| call.began).collect(),
            ..outage.clone()
        };
        let worst = |run: &Run| run.most_attempts_in(Duration::from_secs(1)) as f64;
        let worst = worst(&outage) / worst(&came);
        let row = peer("A", contender, &whole);
        match contender {
            Contender::HttpRetry => row
                .at_most("attempts per request", outage.attempts_per_call(), 1.02)
                .at_most("worst second, x offered", worst, 1.30),
            _ => row
                .measure("attempts per request", outage.attempts_per_call())
                .measure("worst second, x offered", worst),
        }
    };
    let peers = Contender::peers(world).iter();
    [Contender::HttpRetry]
        .iter()
        .chain(peers)
        .map(|contender| row(*contender))
        .collect()
}

pub(super) const B: Scenario = Scenario {
    id: "B",
    title: "503 for 10 s at 800 of 1,000 requests a second",
    worlds: Worlds::All,
    play: |world| outage("B", 1, 1.0).rows(world, &everybody(world)),
};

pub(super) const B2: Scenario = Scenario {
    id: "B2",
    title: "B with 100 clients, a budget each",
    worlds: Worlds::All,
    play: |world| outage("B2", 100, 2.0).rows(world, &everybody(world)),
};

pub(super) const I: Scenario = Scenario {
    id: "I",
    title: "the server hangs for 10 s at 800 of 1,000 requests a second",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        // Those without a budget would do as before.
        let with_budgets = if world.peers {
            &[Contender::HttpRetry, Contender::TowerRetry][..]
        } else {
            &[Contender::HttpRetry]
        };
        let one = || stall("I", 1, 2.0).rows(world, &everybody(world));
        let hundred = || stall("I, 100 budgets", 100, 10.0).rows(world, with_budgets);
        match (world.short, world.stack) {
            (true, Stack::Tower) => one(),
            (true, Stack::Reqwest) => hundred(),
            (false, _) => [one(), hundred()].concat(),
        }
    },
};

fn outage(id: &'static str, clients: usize, most: f64) -> Trouble {
    Trouble {
        id,
        clients,
        rules: Rules {
            outage: seconds_of_trouble(),
            ..thousand_a_second()
        },
        calls: 0..60,
        most,
    }
}

fn stall(id: &'static str, clients: usize, most: f64) -> Trouble {
    Trouble {
        id,
        clients,
        rules: Rules {
            stall: seconds_of_trouble(),
            ..thousand_a_second()
        },
        calls: 0..100,
        most,
    }
}

/// A time in which nothing is well, and the calls around it.
struct Trouble {
    id: &'static str,
    clients: usize,
    rules: Rules,
    /// The seconds in which calls are made.
    calls: Range<u64>,
    /// The most seconds, beyond those without retries, until every call is served in time again.
    most: f64,
}

impl Trouble {
    /// From when until when nothing is well.
    const SECONDS: Range<u64> = 20..30;

    fn rows(&self, world: World, contenders: &[Contender]) -> Vec<Row> {
        let setup = Setup {
            rules: self.rules.clone(),
            loads: vec![Load::new(800.0, self.calls.clone())],
            patience: Some(PATIENCE),
            clients: self.clients,
            ..Setup::default()
        };
        let without = setup.run(world, Contender::NoRetries);
        let well_again = without.last_unserved(PATIENCE);
        let row = |contender: &Contender| {
            let run = match contender {
                Contender::NoRetries => without.clone(),
                contender => setup.run(world, *contender),
            };
            let later = run.last_unserved(PATIENCE).saturating_sub(well_again);
            let row = peer(self.id, *contender, &run);
            let row = match contender {
                Contender::HttpRetry => row.at_most(LATER, later.as_secs_f64(), self.most),
                _ => row.measure(LATER, later.as_secs_f64()),
            };
            row.measure("goodput in the last 10 s", self.goodput_at_the_end(&run))
                .measure("attempts per request", self.attempts(&run))
        };
        contenders.iter().map(row).collect()
    }

    /// The share of calls that were served in time.
    fn goodput_at_the_end(&self, run: &Run) -> f64 {
        let last = run.since(Duration::from_secs(self.calls.end - 10));
        let served = |call: &&Ended| call.succeeded && call.took <= PATIENCE;
        last.calls.iter().filter(served).count() as f64 / last.calls.len() as f64
    }

    fn attempts(&self, run: &Run) -> f64 {
        let begins = Duration::from_secs(Self::SECONDS.start);
        run.since(begins).attempts_per_call()
    }
}

pub(super) const LATER: &str = "well again later by, s";

fn everybody(world: World) -> Vec<Contender> {
    let peers = Contender::peers(world).iter().copied();
    [Contender::HttpRetry, Contender::NoRetries]
        .into_iter()
        .chain(peers)
        .collect()
}

fn seconds_of_trouble() -> Range<Duration> {
    Duration::from_secs(Trouble::SECONDS.start)..Duration::from_secs(Trouble::SECONDS.end)
}

pub(super) const K: Scenario = Scenario {
    id: "K",
    title: "a blip of 200 ms, one client with 500 requests a second",
    worlds: Worlds::All,
    play: k,
};

fn k(world: World) -> Vec<Row> {
    let blip = seconds(30.0)..seconds(30.2);
    let setup = Setup {
        rules: Rules {
            outage: blip.clone(),
            ..Rules::default()
        },
        loads: vec![Load::new(500.0, 0..45)],
        policy: Setup::retries(4),
        ..Setup::default()
    };
    let fixed = Setup {
        budget: || {
            RetryBudget::builder()
                .capacity(20)
                .build()
                .expect("a small number")
        },
        ..setup.clone()
    };
    let saved = |run: &Run| run.during(&blip).success();
    let ours = setup.run(world, Contender::HttpRetry);
    let ours = peer("K", Contender::HttpRetry, &ours).at_least("saved", saved(&ours), 0.99);
    let fixed = fixed.run(world, Contender::HttpRetry);
    let fixed = Row::new("K", "http-retry, fixed capacity of 20", fixed.series())
        .measure("saved", saved(&fixed));
    let peers = Contender::peers(world).iter().map(|contender| {
        let run = setup.run(world, *contender);
        peer("K", *contender, &run).measure("saved", saved(&run))
    });
    [ours, fixed].into_iter().chain(peers).collect()
}
