//! Times in which everything fails or hangs, for more and more processes of the same load in all.

use super::super::super::World;
use super::super::super::load::Load;
use super::super::super::run::Run;
use super::super::super::server::Rules;
use super::super::super::verdict::Row;
use super::super::outages::{LATER, PATIENCE, thousand_a_second};
use super::super::stage::{Contender, Setup, seconds};
use super::super::{Scenario, Worlds};
use super::{FLEET, at_least, at_most, contenders, row};
use std::ops::Range;
use std::time::Duration;

const ATTEMPTS: &str = "attempts per request in it";
const SUCCESS: &str = "saved";

type Case = (&'static str, usize);

pub(in super::super) const OUTAGE: Scenario = Scenario {
    id: "outage-fleet",
    title: "503 for 10 s at 800 of 1,000 requests a second, by so many processes",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        let cases: [Case; 4] = [
            ("outage, 1 process", 1),
            ("outage, 20 processes", 20),
            ("outage, 100 processes", 100),
            ("outage, 1,000 processes", 1_000),
        ];
        let cases = some(world, &cases, 2..3);
        let setup = Setup {
            rules: Rules {
                outage: trouble(),
                ..server(world)
            },
            patience: Some(PATIENCE),
            ..Setup::default()
        };
        trouble_of(world, cases, &setup, 60, |row, contender, (run, later)| {
            let attempts = run.during(&trouble()).attempts_per_call();
            let row = at_most(row, contender, (ATTEMPTS, attempts), 1.03);
            at_most(row, contender, (LATER, later), 0.5)
        })
    },
};

pub(in super::super) const STALL: Scenario = Scenario {
    id: "stall-fleet",
    title: "the server hangs for 10 s at 800 of 1,000 requests a second, by so many processes",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        let cases: [Case; 4] = [
            ("stall, 1 process", 1),
            ("stall, 20 processes", 20),
            ("stall, 100 processes", 100),
            ("stall, 1,000 processes", 1_000),
        ];
        let cases = some(world, &cases, 1..2);
        let setup = Setup {
            rules: Rules {
                stall: trouble(),
                ..server(world)
            },
            patience: Some(PATIENCE),
            ..Setup::default()
        };
        trouble_of(world, cases, &setup, 100, |row, contender, (_, later)| {
            at_most(row, contender, (LATER, later), 1.0)
        })
    },
};

pub(in super::super) const BLIP: Scenario = Scenario {
    id: "blip-fleet",
    title: "503 for 200 ms at 800 of 1,000 requests a second, by so many processes",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        let blip = seconds(20.0)..seconds(20.2);
        let cases: [Case; 2] = [("blip, 20 processes", 20), ("blip, 1,000 processes", 1_000)];
        let setup = Setup {
            rules: Rules {
                outage: blip.clone(),
                ..server(world)
            },
            loads: vec![Load::new(rate(world), 0..30)],
            policy: Setup::retries(4),
            ..Setup::default()
        };
        let rows = some(world, &cases, 0..1)
            .iter()
            .flat_map(|(case, processes)| {
                let (blip, setup) = (blip.clone(), of(*processes, &setup));
                let contenders = contenders(world, FLEET).into_iter();
                contenders.map(move |contender| {
                    let run = setup.run(world, contender);
                    let saved = run.during(&blip).success();
                    at_least(
                        row(case, contender, &run),
                        contender,
                        (SUCCESS, saved),
                        0.99,
                    )
                })
            });
        rows.collect()
    },
};

pub(in super::super) const SMALL: Scenario = Scenario {
    id: "small-fleet",
    title: "3,000 processes of one request in 10 s: an outage of 300 s, then 5 % failures and 20 %",
    worlds: Worlds::OneOfEachSeed,
    play: small,
};

fn small(world: World) -> Vec<Row> {
    let (clients, per_client, part) = if world.short {
        (100, 0.75, 30)
    } else {
        (3_000, 0.1, 300)
    };
    let [outage, some, many] = [0..part, part..2 * part, 2 * part..3 * part];
    let time =
        |range: &Range<u64>| Duration::from_secs(range.start)..Duration::from_secs(range.end);
    let setup = Setup {
        rules: Rules {
            service_time: Duration::ZERO,
            outage: time(&outage),
            failures: vec![(time(&some).start, 0.05), (time(&many).start, 0.20)],
            ..Rules::default()
        },
        loads: vec![Load::new(per_client * clients as f64, 0..many.end)],
        clients,
        policy: Setup::retries(3),
        ..Setup::default()
    };
    let rows = contenders(world, FLEET).into_iter().map(|contender| {
        let run = setup.run(world, contender);
        let attempts = run.during(&time(&outage)).attempts_per_call();
        let success = |range| run.during(&time(range)).success();
        let row = row("3,000 processes", contender, &run);
        let row = at_most(row, contender, (ATTEMPTS, attempts), 1.01);
        let row = at_least(row, contender, ("success at 5 %", success(&some)), 0.99);
        at_least(row, contender, ("success at 20 %", success(&many)), 0.86)
    });
    rows.collect()
}

/// Plays some seconds of calls around the trouble without retries, by processes each for itself, and by fleets; `judge`
/// is told how much later than without retries all is well again.
fn trouble_of(
    world: World,
    cases: &[Case],
    setup: &Setup,
    until: u64,
    judge: impl Fn(Row, Contender, (&Run, f64)) -> Row,
) -> Vec<Row> {
    let setup = Setup {
        loads: vec![Load::new(
            rate(world),
            0..if world.short { 45 } else { until },
        )],
        ..setup.clone()
    };
    let without = setup.run(world, Contender::NoRetries);
    let well_again = without.last_unserved(PATIENCE);
    let mut rows = Vec::new();
    for (case, processes) in cases {
        rows.push(row(case, Contender::NoRetries, &without));
        for contender in contenders(world, FLEET) {
            let run = of(*processes, &setup).run(world, contender);
            let later = run.last_unserved(PATIENCE).saturating_sub(well_again);
            let row = row(case, contender, &run);
            rows.push(judge(row, contender, (&run, later.as_secs_f64())));
        }
    }
    rows
}

fn of(processes: usize, setup: &Setup) -> Setup {
    Setup {
        clients: processes,
        ..setup.clone()
    }
}

fn some(world: World, cases: &[Case], short: Range<usize>) -> &[Case] {
    if world.short { &cases[short] } else { cases }
}

/// Requests in a second; the server serves a quarter more.
fn rate(world: World) -> f64 {
    if world.short { 160.0 } else { 800.0 }
}

fn server(world: World) -> Rules {
    let rules = thousand_a_second();
    let parts = if world.short { 5 } else { 1 };
    Rules {
        workers: rules.workers.map(|workers| workers / parts),
        ..rules
    }
}

/// Returns the time of the trouble.
fn trouble() -> Range<Duration> {
    seconds(20.0)..seconds(30.0)
}
