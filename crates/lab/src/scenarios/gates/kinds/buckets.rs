//! Buckets and sliding windows.

use super::*;

pub(super) const KINDS: &[Kind] = &[
    kind("500 in any 10 s", SLIDING, Seconds(90.4))
        .at_most(1.15, 0.06)
        .before(95.0, 0.047),
    kind(
        "50/s of 10, right in ms",
        bucket!(50, 10, Asks::Exact),
        Seconds(99.8),
    )
    .at_most(1.12, 0.25)
    .before(123.0, 0.06),
    kind(
        "- says 10 ms",
        bucket!(50, 10, Asks::Of(ms(10))),
        Seconds(99.8),
    )
    .at_most(1.12, 0.25)
    .before(123.0, 0.06),
    kind(
        "- says nothing",
        bucket!(50, 10, Asks::Nothing),
        Seconds(99.8),
    )
    .at_most(1.12, 0.25)
    .before(151.0, 1.4),
    kind("- says 1 s", bucket!(50, 10, SECOND), Seconds(99.8))
        .at_most(1.60, 0.06)
        .before(151.0, 0.05),
    kind(
        "- 1 s, 500 ms away",
        bucket!(50, 10, SECOND).away(ms(500)),
        Seconds(99.8),
    )
    .at_most(1.60, 0.45)
    .before(148.0, 0.12),
    kind(
        "- 1 s, slow answers",
        bucket!(50, 10, SECOND)
            .away(ms(20))
            .working(ms(200))
            .heavy_tail(),
        Seconds(99.8),
    )
    .at_most(1.60, 0.3)
    .before(3_547.0, ANY),
    kind("50/s of 500", bucket!(50, 500, SECOND), Seconds(90.0))
        .at_most(1.05, 0.06)
        .before(90.0, 0.05),
    kind("1/s of 5", bucket!(1, 5, Asks::Right), Seconds(195.0))
        .calls(200)
        .width(50)
        // 50 at once of 200 calls: the first burst alone is a quarter of a refusal per call, and each search for a
        // pace of one a second a few more. Without a gate there are 42.
        .at_most(1.05, 1.3)
        .before(195.0, 2.8)
        .in_short(),
];
