//! The share of a text that is kept.

/// The share of a text's characters that is kept: a fraction below 1, in whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    kept: u128,
    of: u128,
}

const MILLION: u32 = 1_000_000;

impl Fraction {
    /// Returns the share that fits by the token counts in the error: `limit / actual`, less a tenth, since tokens are
    /// not characters. Counts that contradict the error (nothing is allowed, or the request is below the limit) give
    /// the default.
    pub(crate) fn fitting(limit: u64, actual: u64) -> Self {
        if limit == 0 || limit > actual {
            return Self::default();
        }
        Self {
            kept: u128::from(limit).saturating_mul(9),
            of: u128::from(actual).saturating_mul(10),
        }
    }

    /// Returns a share in millionths; 0, and a million or more, give the default.
    pub(crate) fn millionths(kept: u32) -> Self {
        if kept == 0 || kept >= MILLION {
            return Self::default();
        }
        Self {
            kept: u128::from(kept),
            of: u128::from(MILLION),
        }
    }

    /// Returns the number of characters to keep of `chars`, rounded down, at least one. Returns `None` if `chars` is
    /// less than two.
    pub(super) fn of(self, chars: usize) -> Option<usize> {
        let most = chars.checked_sub(1).filter(|most| *most > 0)?;
        let kept = u128::try_from(chars)
            .ok()?
            .saturating_mul(self.kept)
            .checked_div(self.of)?;
        Some(usize::try_from(kept).unwrap_or(most).clamp(1, most))
    }
}

impl Default for Fraction {
    /// Three quarters: two such cuts bring a text to 56 %, and a guess that is too small loses text for nothing.
    fn default() -> Self {
        Self { kept: 3, of: 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
