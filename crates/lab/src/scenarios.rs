//! The scenarios: outages, overloads and quotas, and the bounds that must hold in them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a scenario that is set up wrongly ends at once"
)]

mod dull;
mod fleets;
mod gates;
mod outages;
mod overload;
mod quotas;
mod random;
mod shapes;
mod stage;

use super::runtime::run_paused;
use super::verdict::Row;
use super::{Arrivals, Stack, World};
use std::future::Future;

impl World {
    /// Plays something in this world, on a clock of its own.
    fn play<T>(self, story: impl Future<Output = T>) -> T {
        run_paused(story).expect("a runtime without a driver for sockets")
    }
}

/// A scenario of the lab.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The letter or the name.
    pub id: &'static str,
    /// The situation.
    pub title: &'static str,
    /// The worlds in which it is played.
    pub worlds: Worlds,
    /// Plays it in one world.
    pub play: fn(World) -> Vec<Row>,
}

/// The worlds in which a scenario is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worlds {
    /// Every one.
    All,
    /// Calls come all at once, or each after another's end, so that their arrivals are the same everywhere.
    EachStack,
    /// It takes long: each seed has another stack or other arrivals than the one before.
    OneOfEachSeed,
}

impl Worlds {
    /// Returns `true` if the scenario is played in this world.
    #[must_use]
    pub fn contain(self, world: World) -> bool {
        match self {
            Self::All => true,
            Self::EachStack => world.arrivals == Arrivals::Even,
            Self::OneOfEachSeed => {
                let even = matches!(world.seed % 4, 0 | 1);
                let tower = world.seed % 2 == 1;
                even == (world.arrivals == Arrivals::Even) && tower == (world.stack == Stack::Tower)
            }
        }
    }
}

/// The scenarios of one process, or of many that share nothing.
pub const ALL: [Scenario; 23] = [
    outages::A,
    outages::B,
    outages::B2,
    quotas::C,
    random::D,
    random::E,
    quotas::F,
    shapes::G,
    overload::H,
    outages::I,
    overload::J,
    outages::K,
    random::L,
    quotas::M,
    shapes::N,
    gates::O,
    gates::P,
    gates::Q,
    gates::R,
    gates::S,
    gates::T,
    gates::U,
    quotas::V,
];

/// The scenes that most programs live in.
pub const DULL: [Scenario; 8] = dull::ALL;

/// The scenarios of fleets.
pub const FLEETS: [Scenario; 7] = fleets::ALL;
