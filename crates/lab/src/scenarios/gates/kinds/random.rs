//! Servers without a limit that refuse at random.

use super::*;

pub(super) const KINDS: &[Kind] = &[
    free("no refusal", NO_LIMIT, 10_000)
        .at_most(1.05, 0.0)
        .before(0.2, 0.0),
    free("1 in 10, 10 ms", random!(10, ms(10)), 10_000).before(324.0, ANY),
    free("1 in 20, 10 ms", random!(20, ms(10)), 10_000).before(334.0, ANY),
    free("1 in 100, 10 ms", random!(100, ms(10)), 10_000).before(34.0, ANY),
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
