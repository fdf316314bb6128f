//! Shares of a text, by default and by the counts of an error.

use super::super::*;

#[test]
fn three_quarters_are_kept_unless_told_otherwise() {
    for (chars, kept) in [(100, 75), (10, 7), (5, 3), (3, 2), (2, 1)] {
        assert_eq!(Fraction::default().of(chars), Some(kept));
    }
    assert_eq!(Fraction::millionths(500_000).of(9), Some(4));
    assert_eq!(Fraction::millionths(0), Fraction::default());
    assert_eq!(Fraction::millionths(MILLION), Fraction::default());
}

#[test]
fn stated_counts_keep_what_fits_less_a_tenth() {
    assert_eq!(Fraction::fitting(8_192, 9_000).of(1_000), Some(819));
    assert_eq!(
        Fraction::fitting(200_000, 209_573).of(1_000_000),
        Some(858_889)
    );
    assert_eq!(Fraction::fitting(100, 100).of(100), Some(90));
    assert_eq!(Fraction::fitting(u64::MAX, u64::MAX).of(100), Some(90));
    assert_eq!(Fraction::fitting(1, u64::MAX).of(usize::MAX), Some(1));
}

#[test]
fn counts_that_contradict_the_error_are_not_used() {
    for (limit, actual) in [(0, 0), (0, 9), (9, 0), (101, 100), (u64::MAX, 1)] {
        assert_eq!(Fraction::fitting(limit, actual), Fraction::default());
    }
}

#[test]
fn one_character_stays_and_one_goes() {
    assert_eq!(Fraction::default().of(0), None);
    assert_eq!(Fraction::default().of(1), None);
    assert_eq!(Fraction::millionths(1).of(2), Some(1));
    assert_eq!(Fraction::millionths(999_999).of(2), Some(1));
    assert_eq!(
        Fraction::default()
            .of(usize::MAX)
            .map(|kept| kept < usize::MAX),
        Some(true)
    );
}
