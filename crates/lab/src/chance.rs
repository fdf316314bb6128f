//! Chance without a state: every number comes from the seed and from what it is drawn for.

use std::time::Duration;

/// The purpose of a number, so that two uses of one call never share it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    Arrival,
    Failure,
    Slowness,
    Jitter,
    Way,
    Beginning,
    Task,
}

/// The number for this use, of this thing, for the so-manieth time.
pub(crate) fn draw(seed: u64, what: Use, thing: u64, time: u64) -> u64 {
    [what as u64, thing, time]
        .into_iter()
        .fold(mix(seed), |mixed, word| mix(mixed ^ word))
}

/// The output function of SplitMix64.
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// From 0 to just below 1.
fn share(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns `true` with this probability.
pub(crate) fn happens(probability: f64, draw: u64) -> bool {
    share(draw) < probability
}

/// The time to the next of so many events in a second, none of which knows of the others.
pub(crate) fn gap(per_second: f64, draw: u64) -> Duration {
    Duration::from_secs_f64(-(1.0 - share(draw)).ln() / per_second)
}
