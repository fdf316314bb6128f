//! Limits that change.

use super::*;

pub(super) const KINDS: &[Kind] = &[
    kind("window halves", WINDOW.changing(1), After(s(150))).before(151.0, ANY),
    // The last window begins after less than a minute, so that the seconds of its release weigh more.
    kind("window doubles", WINDOW.changing(4), After(s(60)))
        .at_most(1.15, 0.06)
        .before(60.0, ANY)
        .in_short(),
    kind(
        "bucket halves",
        bucket!(50, 10, SECOND).changing(1),
        Seconds(160.0),
    )
    .at_most(1.55, ANY)
    .before(243.0, ANY),
    kind(
        "bucket doubles",
        bucket!(50, 10, SECOND).changing(4),
        Seconds(69.7),
    )
    .at_most(1.55, ANY)
    .before(100.0, ANY),
];
