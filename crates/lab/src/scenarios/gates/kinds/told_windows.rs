//! Windows whose answers say what is left.

use super::*;

/// Less than five windows: whoever is never polled again makes some calls before.
const PART: u64 = 900;

/// Of seven seconds: the last window may begin a second late, since resets are told in whole seconds.
const SHORT: f64 = 1.15;

pub(super) const KINDS: &[Kind] = &[
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
