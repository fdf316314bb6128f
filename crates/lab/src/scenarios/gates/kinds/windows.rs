//! Windows.

use super::*;

pub(super) const KINDS: &[Kind] = &[
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
