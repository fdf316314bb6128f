//! Arithmetic that a script can do whose only numbers are floats of 64 bits: whole numbers below 2^53, where sums and
//! products saturate.

/// The largest number.
pub(crate) const MOST: u64 = (1 << 53) - 1;

/// A part of `whole` below it, as large as the random number is.
#[inline]
pub(crate) fn part(random: u64, whole: u64) -> u64 {
    let part = u128::from(random).saturating_mul(u128::from(whole)) >> 64;
    u64::try_from(part).unwrap_or_default()
}

pub(crate) fn sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MOST)
}

pub(crate) fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(MOST)
}

pub(crate) fn quotient(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or_default()
}
