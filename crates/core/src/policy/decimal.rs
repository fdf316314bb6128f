//! Decimals of six places, without floats: factors, ratios and token amounts.

use super::moment::nanos;
use crate::error::ConfigError;
use std::fmt;
use std::time::Duration;

/// A decimal of up to six places, kept exactly: `2`, `0.1`, `1.5`.
///
/// Factors, parts of a ceiling and amounts of tokens are decimals, so that a thousand deposits of 0.7 are seven
/// hundred. Setters take a whole number or a float instead.
///
/// A float counts as the shortest decimal that names it: `0.1` is one tenth. The builder that receives it refuses a
/// float with more than six places, and a negative or infinite one, and names the field.
///
/// ```
/// use http_retry::policy::Decimal;
///
/// assert_eq!(Decimal::from(0.1).to_string(), "0.1");
/// assert_eq!(Decimal::from(3), Decimal::from(3.0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decimal(Repr);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repr {
    Micros(u64),
    /// The bits of a float that is not such a decimal.
    Invalid(u64),
}

const ONE: u64 = 1_000_000;
const WIDE_ONE: u128 = 1_000_000;
/// Powers are computed with twelve decimal places.
const POWER_ONE: u128 = 1_000_000_000_000;

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self(Repr::Micros(0));
    /// One.
    pub const ONE: Self = Self(Repr::Micros(ONE));

    /// Creates a decimal from a number of millionths.
    ///
    /// ```
    /// use http_retry::policy::Decimal;
    ///
    /// assert_eq!(Decimal::from_micros(500_000), Decimal::from(0.5));
    /// ```
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(Repr::Micros(micros))
    }

    /// Returns the decimal in millionths; 0 for a value that is not a decimal, such as a `NaN`.
    ///
    /// ```
    /// use http_retry::policy::Decimal;
    ///
    /// assert_eq!(Decimal::from(0.25).micros(), 250_000);
    /// ```
    #[must_use]
    pub fn micros(self) -> u64 {
        match self.0 {
            Repr::Micros(micros) => micros,
            Repr::Invalid(_) => 0,
        }
    }

    /// Returns the decimal if it is one of at most six places between `least` and `most`, both included.
    ///
    /// ```
    /// use http_retry::policy::Decimal;
    ///
    /// let share = Decimal::from(1.5).within("share", Decimal::ZERO, Decimal::ONE);
    /// assert_eq!(share.unwrap_err().to_string(), "share: 1.5 is not allowed: must be 0 to 1");
    /// ```
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] for this field if the value is out of bounds, negative, infinite, or has more than six places.
    pub fn within(self, field: &'static str, least: Self, most: Self) -> Result<Self, ConfigError> {
        match self.0 {
            Repr::Micros(micros) if (least.micros()..=most.micros()).contains(&micros) => Ok(self),
            Repr::Micros(_) => Err(ConfigError::new(
                field,
                self,
                format!("must be {least} to {most}"),
            )),
            Repr::Invalid(bits) => {
                // Too many places are the fault of a finite value from 0 on; any other is out of bounds.
                let inside = (0.0..f64::INFINITY).contains(&f64::from_bits(bits));
                let places = if inside {
                    ", with at most six decimal places"
                } else {
                    ""
                };
                let allowed = format!("must be {least} to {most}{places}");
                Err(ConfigError::new(field, self, allowed))
            }
        }
    }

    /// Returns this share of a duration, rounded down, saturating.
    pub(crate) fn of(self, whole: Duration) -> Duration {
        // The upper end of nearly every jitter, which is spared a division of 128 bits.
        if self == Self::ONE {
            return whole;
        }
        let share = whole.as_nanos().saturating_mul(u128::from(self.micros()));
        nanos(share / WIDE_ONE)
    }

    /// Returns `whole * self^exponent`, rounded, and at most [`Duration::MAX`]; by squaring, so that no exponent costs
    /// more than 32 steps. A result longer than 10 billion years may come out shorter, but not shorter than that.
    #[inline(never)]
    pub(crate) fn power_of(self, exponent: u32, whole: Duration) -> Duration {
        let mut square = u128::from(self.micros()).saturating_mul(POWER_ONE / WIDE_ONE);
        let mut product = whole.as_nanos();
        let mut remaining = exponent;
        while remaining > 0 {
            if remaining & 1 == 1 {
                product = multiply(product, square);
            }
            square = multiply(square, square);
            remaining >>= 1;
        }
        nanos(product)
    }
}

/// Returns `value * factor`, with the factor in units of 1 / [`POWER_ONE`].
#[inline(never)]
fn multiply(value: u128, factor: u128) -> u128 {
    let whole = (factor / POWER_ONE).saturating_mul(value);
    let part = (factor % POWER_ONE).saturating_mul(value);
    whole.saturating_add(part.saturating_add(POWER_ONE / 2) / POWER_ONE)
}

/// The only integer type: with a second one, the type of `capacity(100)` would be ambiguous.
impl From<u32> for Decimal {
    fn from(whole: u32) -> Self {
        Self(Repr::Micros(u64::from(whole).saturating_mul(ONE)))
    }
}

impl From<f64> for Decimal {
    fn from(float: f64) -> Self {
        // `Display` writes the shortest digits that read back as the float, so 0.1 is exactly one tenth.
        Self(parse(&float.to_string()).map_or(Repr::Invalid(float.to_bits()), Repr::Micros))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Invalid(bits) => write!(f, "{}", f64::from_bits(bits)),
            Repr::Micros(micros) => show(parts(micros), f),
        }
    }
}

/// Shows the number, as `Display` does, but of a float that is no decimal only six places, followed by `..`. So what
/// holds a decimal, such as a report, can be shown without the code that writes floats.
impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Invalid(bits) => show_about(f64::from_bits(bits), f),
            Repr::Micros(micros) => show(parts(micros), f),
        }
    }
}

fn show_about(float: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if float.is_nan() {
        return f.write_str("NaN");
    }
    if float.is_sign_negative() {
        f.write_str("-")?;
    }
    if float.is_infinite() {
        return f.write_str("inf");
    }
    // Its bounds, and how it rounds, are good enough to be shown.
    match Duration::try_from_secs_f64(float.abs()) {
        Ok(near) => show((near.as_secs(), near.subsec_micros()), f)?,
        Err(_) => write!(f, "{}", u64::MAX)?,
    }
    f.write_str("..")
}

fn show((whole, micros): (u64, u32), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if micros == 0 {
        return write!(f, "{whole}");
    }
    let places = format!("{micros:06}");
    write!(f, "{whole}.{}", places.trim_end_matches('0'))
}

fn parts(micros: u64) -> (u64, u32) {
    let places = u32::try_from(micros % ONE).unwrap_or_default();
    (micros / ONE, places)
}

fn parse(text: &str) -> Option<u64> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    if places.len() > 6 {
        return None;
    }
    let places = format!("{places:0<6}").parse::<u64>().ok()?;
    let whole = whole.parse::<u64>().ok()?;
    whole.checked_mul(ONE)?.checked_add(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_float_counts_as_the_decimal_that_names_it() {
        assert_eq!(Decimal::from(0.1).micros(), 100_000);
        assert_eq!(Decimal::from(0.7).micros(), 700_000);
        assert_eq!(Decimal::from(1000.0).micros(), 1_000_000_000);
        assert_eq!(Decimal::from(0.000_001).micros(), 1);
    }

    #[test]
    fn debug_shows_the_number() {
        let decimals = [20.0, 0.1, 1.5, f64::NAN].map(Decimal::from);
        assert_eq!(format!("{decimals:?}"), "[20, 0.1, 1.5, NaN]");
        let others = [-0.25, 1.234_567_8, f64::INFINITY, f64::MAX].map(Decimal::from);
        assert_eq!(
            format!("{others:?}"),
            "[-0.25.., 1.234567.., inf, 18446744073709551615..]"
        );
    }

    #[test]
    fn a_float_that_is_no_decimal_is_refused_with_its_field() {
        for float in [
            f64::NAN,
            f64::INFINITY,
            -0.1,
            0.123_456_7,
            1e300,
            f64::MIN_POSITIVE,
        ] {
            let error = Decimal::from(float)
                .within("ratio", Decimal::ZERO, Decimal::ONE)
                .unwrap_err();
            assert_eq!(error.field, "ratio");
            assert_eq!(error.given, float.to_string());
        }
    }

    #[test]
    fn powers_are_exact_if_they_fit_twelve_places() {
        let power = |factor: f64, n| Decimal::from(factor).power_of(n, SECOND);
        assert_eq!(power(2.0, 10), Duration::from_secs(1024));
        assert_eq!(power(3.0, 4), Duration::from_secs(81));
        assert_eq!(power(1.5, 2), Duration::from_millis(2250));
        assert_eq!(power(1.1, 1), Duration::from_millis(1100));
        assert_eq!(power(1.1, 3), Duration::from_millis(1331));
        assert_eq!(power(1.0, u32::MAX), SECOND);
        assert_eq!(power(0.0, 0), SECOND);
        assert_eq!(power(0.0, 7), Duration::ZERO);
        assert_eq!(power(1.000_001, 1_000_000).as_millis(), 2718);
        assert_eq!(power(2.0, u32::MAX), Duration::MAX);
        assert_eq!(
            Decimal::from(0.5).power_of(u32::MAX, SECOND),
            Duration::ZERO
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn powers_of_whole_factors_are_those_of_integers(
            factor in 1_u32..1_000,
            n in 0_u32..8,
            millis in 0_u64..1_000_000,
        ) {
            let wanted = u128::from(millis) * 1_000_000 * u128::from(factor).pow(n);
            let got = Decimal::from(factor).power_of(n, Duration::from_millis(millis)).as_nanos();
            prop_assert!(got.abs_diff(wanted.min(Duration::MAX.as_nanos())) <= wanted >> 58);
        }

        #[test]
        fn no_value_of_a_decimal_panics(micros: u64, n: u32, seconds: u64) {
            let decimal = Decimal::from_micros(micros);
            decimal.power_of(n, Duration::from_secs(seconds));
            decimal.of(Duration::from_secs(seconds));
        }

        #[test]
        fn text_and_value_agree(micros in 0_u64..10_000_000_000) {
            let decimal = Decimal::from_micros(micros);
            prop_assert_eq!(parse(&decimal.to_string()), Some(micros));
        }
    }
}
