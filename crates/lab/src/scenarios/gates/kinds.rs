//! The kinds of server, with what is the least, and what must hold.

use super::super::super::Arrivals::{self, Even, Poisson};
use super::super::super::batch::{Batch, Pressure};
use super::super::super::limiter::{Asks, Limit, Limited};
use super::{
    Ideal::{self, After, Seconds, Windows},
    Kind,
};
use std::time::Duration;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// 5,000 calls, 200 at once.
const BATCH: Batch = Batch::at_once(5_000, 200);
/// Another server on the same continent.
const NEAR: Duration = ms(4);

const fn kind(name: &'static str, limited: Limited, ideal: Ideal) -> Kind {
    Kind {
        name,
        limited,
        batch: BATCH,
        ideal,
        most_time: 1.10,
        most_refused: 0.06,
        before: None,
        in_short: false,
    }
}

/// Nothing is limited, so it should take no longer than without a gate.
const fn free(name: &'static str, limited: Limited, calls: u64) -> Kind {
    kind(name, limited, Ideal::WithoutGate)
        .calls(calls)
        .at_most(1.5, ANY)
}

impl Kind {
    const fn at_most(self, most_time: f64, most_refused: f64) -> Self {
        Self {
            most_time,
            most_refused,
            ..self
        }
    }

    /// It is played in the tests too.
    const fn in_short(self) -> Self {
        Self {
            in_short: true,
            ..self
        }
    }

    const fn before(self, time: f64, refused: f64) -> Self {
        Self {
            before: Some((time, refused)),
            ..self
        }
    }

    const fn calls(self, calls: u64) -> Self {
        Self {
            batch: Batch {
                calls,
                ..self.batch
            },
            ..self
        }
    }

    const fn width(self, width: u64) -> Self {
        Self {
            batch: Batch {
                pressure: Pressure::AtOnce(width),
                ..self.batch
            },
            ..self
        }
    }

    const fn arriving(self, per_second: u64, arrivals: Arrivals) -> Self {
        Self {
            batch: Batch {
                pressure: Pressure::EachSecond(per_second, arrivals),
                ..self.batch
            },
            ..self
        }
    }

    const fn processes(self, processes: usize) -> Self {
        Self {
            batch: Batch {
                processes,
                ..self.batch
            },
            ..self
        }
    }

    const fn parked(self, parked: u64) -> Self {
        Self {
            batch: Batch {
                parked,
                ..self.batch
            },
            ..self
        }
    }
}

impl Limited {
    const fn asking(self, asks: Asks) -> Self {
        Self { asks, ..self }
    }

    const fn away(self, round_trip: Duration) -> Self {
        Self { round_trip, ..self }
    }

    const fn working(self, work: Duration) -> Self {
        Self { work, ..self }
    }

    const fn heavy_tail(self) -> Self {
        Self {
            heavy_tail: true,
            ..self
        }
    }

    const fn overtaking(self) -> Self {
        Self {
            differ: 100,
            ..self
        }
    }

    const fn shared(self, others_per_second: u64) -> Self {
        Self {
            others_per_second,
            ..self
        }
    }

    /// After 40 s, so many halves of what it was.
    const fn changing(self, halves: u64) -> Self {
        Self {
            change: Some((s(40), halves)),
            ..self
        }
    }
}

macro_rules! random {
    ($one_in:literal, $asks:expr) => {
        Limited::by(&[Limit::Random { one_in: $one_in }])
            .asking(Asks::Of($asks))
            .away(NEAR)
    };
}

macro_rules! window {
    ($calls:literal, $seconds:literal, $headers:literal) => {
        Limited::by(&[Limit::Window {
            calls: $calls,
            length: s($seconds),
            headers: $headers,
        }])
    };
}

macro_rules! bucket {
    ($per_second:literal, $burst:literal, $asks:expr) => {
        Limited::by(&[Limit::Bucket {
            per_second: $per_second,
            burst: $burst,
        }])
        .asking($asks)
    };
}

macro_rules! in_flight {
    ($most:literal, $asks:expr) => {
        Limited::by(&[Limit::InFlight { most: $most }]).asking($asks)
    };
}

mod rows;

const NO_LIMIT: Limited = Limited::by(&[]).away(NEAR);
const WINDOW: Limited = window!(500, 10, false);
const TOLD: Limited = window!(500, 10, true);
const SLIDING: Limited = Limited::by(&[Limit::Sliding {
    calls: 500,
    length: s(10),
}]);
const ROUTE: Limited = Limited::by(&[Limit::Route {
    calls: 250,
    length: s(10),
}]);
const OVERLOAD: Limited = Limited::by(&[Limit::Overload {
    workers: 10,
    queue: 20,
}])
.asking(SECOND)
.working(ms(100));
/// The limits of many APIs: one against bursts, and one that counts.
const TWO_WINDOWS: Limited = Limited::by(&[
    Limit::Window {
        calls: 20,
        length: s(1),
        headers: false,
    },
    Limit::Window {
        calls: 300,
        length: s(60),
        headers: false,
    },
]);
/// A limit, and a proxy in front of it that refuses some calls for reasons of its own.
const BUCKET_AND_RANDOM: Limited = Limited::by(&[
    Limit::Bucket {
        per_second: 50,
        burst: 10,
    },
    Limit::Random { one_in: 20 },
])
.asking(Asks::Exact);
const SECOND: Asks = Asks::Of(s(1));
/// No bound.
const ANY: f64 = f64::INFINITY;

/// The rows of each scenario.
pub(super) const KINDS: [(&str, &[Kind]); 7] = [
    ("O", rows::RANDOM),
    ("P", rows::WINDOWS),
    ("Q", rows::TOLD_WINDOWS),
    ("R", rows::BUCKETS),
    ("S", rows::IN_FLIGHT),
    ("T", rows::CHANGES),
    ("U", rows::OTHERS),
];
