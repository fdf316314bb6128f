//! The scenarios: what the world does, and what must hold.

mod fleets;
mod gates;
mod jobs;
mod outages;
mod overload;
mod quotas;
mod random;
mod shapes;
mod stage;

use super::verdict::Row;
use super::{Arrivals, Stack, World};

/// A scenario of the lab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) worlds: Worlds,
    pub(crate) play: fn(World) -> Vec<Row>,
}

/// In which worlds a scenario is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worlds {
    All,
    /// Calls come all at once, or each after another's end, so that their arrivals are the same everywhere.
    EachStack,
    /// It takes long: each seed has another stack or other arrivals than the one before.
    OneOfEachSeed,
}

impl Worlds {
    pub(crate) fn contain(self, world: World) -> bool {
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

/// All of them.
pub(crate) const ALL: [Scenario; 23] = [
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
    jobs::V,
];

/// Those of fleets.
pub(crate) const FLEETS: [Scenario; 7] = fleets::ALL;
