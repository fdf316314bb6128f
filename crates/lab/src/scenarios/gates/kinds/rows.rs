//! The rows of each scenario: random refusals, windows, windows whose answers say what is left, buckets and sliding
//! windows, limits of what is in flight, limits that change, and limits that no single number describes.

use super::*;

/// Servers without a limit that refuse at random.
pub(super) const RANDOM: &[Kind] = &[
    free("no refusal", NO_LIMIT, 10_000)
        .at_most(1.05, 0.0)
        .before(0.2, 0.0),
    // A refused call waits for its own backoff, or for the time that was named if that is longer. Where a time is named
    // that is shorter, and true, that costs the last calls of a batch a second or two.
    free("1 in 10, 10 ms", random!(10, ms(10)), 10_000)
        .at_most(12.0, ANY)
        .before(324.0, ANY),
    free("1 in 20, 10 ms", random!(20, ms(10)), 10_000)
        .at_most(5.0, ANY)
        .before(334.0, ANY),
    free("1 in 100, 10 ms", random!(100, ms(10)), 10_000)
        .at_most(2.5, ANY)
        .before(34.0, ANY),
    free("1 in 10, 1 s", random!(10, s(1)), 10_000).before(1_576.0, ANY),
    free("1 in 20, 1 s", random!(20, s(1)), 10_000).before(1_110.0, ANY),
    free("1 in 100, 1 s", random!(100, s(1)), 10_000).before(555.0, ANY),
    free("1 in 20, 1 at once", random!(20, s(1)), 200)
        .width(1)
        .before(13.0, ANY),
    free("1 in 20, 2 at once", random!(20, s(1)), 400)
        .width(2)
        .before(42.0, ANY)
        .in_short(),
    free("1 in 20, 10 at once", random!(20, s(1)), 2_000)
        .width(10)
        .before(187.0, ANY)
        .in_short(),
    free("1 in 20, 2,000 at once", random!(20, s(1)), 10_000)
        .width(2_000)
        .before(694.0, ANY),
    free("1 in 20, 100/s, evenly", random!(20, s(1)), 3_000)
        .arriving(100, Even)
        .before(275.0, ANY),
    free("1 in 20, 100/s", random!(20, s(1)), 3_000)
        .arriving(100, Poisson)
        .before(275.0, ANY),
    free("1 in 20, 30/s, far", random!(20, s(1)).away(ms(100)), 3_000)
        .arriving(30, Poisson)
        .before(140.0, ANY),
    free("1 in 20, 10/s", random!(20, s(1)), 3_000)
        .arriving(10, Poisson)
        .before(338.0, ANY),
    free(
        "1 in 20, 2 to 100 s",
        random!(20, s(1)).away(ms(20)).working(s(2)).heavy_tail(),
        5_000,
    )
    .before(3_573.0, ANY),
    free("1 in 4, 1 s", random!(4, s(1)), 5_000).before(1_773.0, ANY),
    free("1 in 3, 1 s", random!(3, s(1)), 5_000)
        // Some pauses go by before it shows that they are of no use.
        .at_most(4.0, ANY)
        .before(2_638.0, ANY),
    free("1 in 2, 1 s", random!(2, s(1)), 5_000)
        .at_most(3.0, ANY)
        .before(3_598.0, ANY)
        .in_short(),
];

/// Windows.
pub(super) const WINDOWS: &[Kind] = &[
    kind("500 per 10 s", WINDOW, Windows).before(90.0, 0.048),
    kind("- 20 at once", WINDOW, Windows)
        .width(20)
        .at_most(1.10, 0.03)
        .before(91.0, 0.014),
    kind("- 2,000 at once", WINDOW, Windows)
        .width(2_000)
        .at_most(1.10, 0.42)
        .before(94.0, 0.40),
    kind("- 500 ms away", WINDOW.away(ms(500)), Windows)
        .at_most(1.10, 0.22)
        .before(93.0, 0.36),
    kind(
        "- 5 s of work",
        WINDOW.away(ms(20)).working(s(5)),
        Seconds(125.5),
    )
    .at_most(1.10, 0.22)
    .before(125.5, 0.0),
    kind("- says 1 s", WINDOW.asking(SECOND), Windows)
        .at_most(1.30, 0.09)
        .before(94.0, 0.056),
    kind("- says nothing", WINDOW.asking(Asks::Nothing), Windows)
        // The place of a batch in its first window decides the length of the last pause: 1.2 to 1.6.
        .at_most(1.60, 0.09)
        .before(142.0, 0.36),
    kind("- others take half", WINDOW.shared(25), After(s(100)))
        .at_most(1.40, 0.06)
        .before(119.0, 0.046),
    kind("- 5 processes", WINDOW, Windows)
        .processes(5)
        .at_most(1.15, 0.08)
        .before(110.0, 0.045),
    kind("- 20 processes", WINDOW, Windows)
        .processes(20)
        // Each of twenty gates hears by itself that a window is used up, from four or five calls in flight.
        .at_most(1.15, 0.18)
        .before(106.0, 0.058),
    kind("- 100 processes", WINDOW, Windows)
        .processes(100)
        // Gates that know nothing of each other: some find each window used up, and their two callers come last.
        .at_most(1.35, 0.27)
        .before(89.0, 0.15),
    kind(
        "- calls overtake",
        WINDOW.away(ms(100)).overtaking(),
        Windows,
    )
    .at_most(1.10, 0.10)
    .before(90.0, 0.11),
    kind(
        "50 per 5 s, overtake",
        window!(50, 5, false).away(ms(100)).overtaking(),
        Windows,
    )
    .calls(1_000)
    .at_most(1.10, 0.25)
    .before(99.0, 0.23),
    kind("10 per 1 s", window!(10, 1, false), Windows)
        .calls(600)
        // The first burst, of 200 at once, is a third of a refusal for each of 600 calls. Without a gate there are 16.
        .at_most(1.6, 0.5)
        .before(71.0, 0.35)
        .in_short(),
    kind("200 per 2 s", window!(200, 2, false), Windows)
        .calls(3_000)
        .width(100)
        .at_most(1.35, 0.06)
        .before(29.0, 0.05)
        .in_short(),
    kind("500 per 60 s", window!(500, 60, false), Windows)
        .calls(3_000)
        .at_most(1.05, 0.08)
        .before(315.0, 0.068),
    kind("5,000 per 60 s", window!(5_000, 60, false), Windows)
        .calls(30_000)
        .at_most(1.05, 0.015)
        .before(315.0, 0.014),
];

/// Less than five windows: whoever is never polled again makes some calls before.
const PART: u64 = 900;

/// Of seven seconds: the last window may begin a second late, since resets are told in whole seconds.
const SHORT: f64 = 1.15;

/// Windows whose answers say what is left.
pub(super) const TOLD_WINDOWS: &[Kind] = &[
    kind("headers, 500 per 10 s", TOLD, Windows)
        .at_most(1.05, 0.01)
        .before(90.0, 0.0),
    kind("- 500 ms away", TOLD.away(ms(500)), Windows)
        .at_most(1.05, 0.01)
        .before(92.0, 0.0),
    kind(
        "- 5 s of work",
        TOLD.away(ms(20)).working(s(5)),
        Seconds(125.5),
    )
    .at_most(1.15, 0.01)
    .before(144.0, 0.0),
    kind("- others take half", TOLD.shared(25), After(s(100)))
        .at_most(1.15, 0.01)
        .before(119.0, 0.001),
    kind("- 20 processes", TOLD, Windows)
        .processes(20)
        // Resets in whole seconds: whose gate opens last finds each window used up, and its callers come last.
        .at_most(1.50, 0.15)
        .before(103.0, 0.06),
    kind("headers, 10 per 1 s", window!(10, 1, true), Windows)
        .calls(600)
        .at_most(1.15, 0.35)
        .before(83.0, 0.32),
    kind("headers, 200 per 2 s", window!(200, 2, true), Windows)
        .calls(PART)
        .width(100)
        .at_most(SHORT, 0.01)
        .before(8.4, 0.0)
        .in_short(),
    kind("- 1 is never polled", window!(200, 2, true), Windows)
        .calls(PART)
        .width(100)
        .parked(1)
        .at_most(SHORT, 0.01)
        .before(8.5, 0.0),
    kind("- 5 are never polled", window!(200, 2, true), Windows)
        .calls(PART)
        .width(100)
        .parked(5)
        .at_most(SHORT, 0.01)
        .before(9.2, 0.0)
        .in_short(),
];

/// Buckets and sliding windows.
pub(super) const BUCKETS: &[Kind] = &[
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

/// Limits of what is in flight.
pub(super) const IN_FLIGHT: &[Kind] = &[
    kind(
        "10 of 50 ms, 1 s",
        in_flight!(10, SECOND).working(ms(50)),
        Seconds(29.0),
    )
    .at_most(2.5, 0.25)
    .before(3_545.0, ANY),
    kind(
        "- says nothing",
        in_flight!(10, Asks::Nothing).working(ms(50)),
        Seconds(29.0),
    )
    .at_most(2.5, 0.25)
    .before(78.0, 0.47),
    kind(
        "20, heavy tail",
        in_flight!(20, SECOND).working(ms(200)).heavy_tail(),
        Seconds(137.0),
    )
    .at_most(1.7, 0.3)
    .before(3_547.0, ANY),
    kind(
        "5 of 5 s",
        in_flight!(5, SECOND).working(s(5)),
        Seconds(300.0),
    )
    .calls(300)
    .width(50)
    // A run of refusals ends late where most calls are refused, and a call takes longer than a pause.
    .at_most(1.7, 1.0)
    .before(3_371.0, ANY)
    .in_short(),
    kind("overload of 10 workers", OVERLOAD, Seconds(50.0))
        .at_most(1.7, 0.2)
        .before(3_546.0, ANY),
    kind("one route of two", ROUTE, After(s(90)))
        // Every other answer is a success. The clock ticks in milliseconds; calls of one tick are answered in
        // their order, so that as many contradict a pause as confirm it.
        .at_most(1.10, 0.13)
        .before(90.0, 0.024),
];

/// Limits that change.
pub(super) const CHANGES: &[Kind] = &[
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

/// Limits that no single number describes.
pub(super) const OTHERS: &[Kind] = &[
    // Each minute the short window is found anew, as slowly as after the long pause.
    kind("20 per 1 s, 300 per 60 s", TWO_WINDOWS, Seconds(194.5))
        .calls(1_200)
        .at_most(1.4, 0.3)
        .in_short(),
    // A refusal by the proxy asks for a second, and the bucket is full after a fifth of one.
    kind("a bucket, and 1 in 20", BUCKET_AND_RANDOM, Seconds(99.8)).at_most(2.7, 0.35),
];
