//! Limits of what is in flight.

use super::*;

pub(super) const KINDS: &[Kind] = &[
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
