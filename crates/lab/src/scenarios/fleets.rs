//! Fleets: many processes at one service, each for itself, and together with a store in memory.

mod batches;
mod floods;
mod outages;
mod runs;

use super::super::World;
use super::super::run::Run;
use super::super::verdict::Row;
use super::Scenario;
use super::stage::{Contender, peer_named};
use std::time::Duration;

pub(super) const ALL: [Scenario; 7] = [
    outages::OUTAGE,
    outages::STALL,
    outages::BLIP,
    outages::SMALL,
    runs::RUNS,
    floods::FLOOD,
    batches::QUOTA,
];

/// The latency of a store.
const NEAR: Duration = Duration::from_millis(2);

const FLEET: Contender = Contender::Fleet(NEAR);

/// Processes that share nothing, and a fleet to compare with them; in a short world the fleet alone, which is judged.
fn contenders(world: World, fleet: Contender) -> Vec<Contender> {
    if world.short {
        vec![fleet]
    } else {
        vec![Contender::HttpRetry, fleet]
    }
}

/// A row of processes that share nothing, or are a fleet.
fn row(case: &'static str, contender: Contender, run: &Run) -> Row {
    let name = match contender {
        Contender::HttpRetry => "each for itself",
        other => other.name(),
    };
    peer_named(case, name, run)
}

/// Measures a number, and judges that of a fleet.
fn at_most(row: Row, contender: Contender, (name, value): (&'static str, f64), most: f64) -> Row {
    match contender {
        Contender::Fleet(_) => row.at_most(name, value, most),
        _ => row.measure(name, value),
    }
}

fn at_least(row: Row, contender: Contender, (name, value): (&'static str, f64), least: f64) -> Row {
    match contender {
        Contender::Fleet(_) => row.at_least(name, value, least),
        _ => row.measure(name, value),
    }
}
