//! Days since 1970, and the numbers that dates are made of.

pub(super) const SECONDS_OF_DAY: u64 = 86_400;

/// Returns the days since 1970 of a date, or `None` for one that does not exist or is earlier.
pub(super) fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    const LENGTH: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month.checked_sub(1)?).ok()?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = LENGTH
        .get(index)?
        .checked_add(u64::from(leap && month == 2))?;
    if day == 0 || day > length {
        return None;
    }
    let leaps = leap_years(year.checked_sub(1)?)?.checked_sub(leap_years(1969)?)?;
    let in_year = BEFORE
        .get(index)?
        .checked_add(u64::from(leap && month > 2))?;
    // Fails for earlier years, since a `Duration` is not negative.
    let years = year.checked_sub(1970)?.checked_mul(365)?;
    years
        .checked_add(leaps)?
        .checked_add(in_year)?
        .checked_add(day.checked_sub(1)?)
}

/// Returns the number of leap years up to and including this one.
fn leap_years(year: u64) -> Option<u64> {
    (year / 4).checked_sub(year / 100)?.checked_add(year / 400)
}

/// Returns the seconds from midnight to a time of day. RFC 3339, section 5.7, and RFC 9110 allow second 60 for a leap
/// second; it counts as the second after it.
pub(super) fn second_of_day(hour: u64, minute: u64, second: u64) -> Option<u64> {
    let valid = hour < 24 && minute < 60 && second <= 60;
    let minutes = hour.checked_mul(60)?.checked_add(minute)?;
    let seconds = minutes.checked_mul(60)?.checked_add(second)?;
    valid.then_some(seconds)
}

/// Returns the seconds since 1970 of a local time, a day and the second in it, with this offset from UTC.
pub(super) fn utc(day: u64, second: u64, offset: i64) -> Option<u64> {
    let local = day.checked_mul(SECONDS_OF_DAY)?.checked_add(second)?;
    local.checked_add_signed(offset.checked_neg()?)
}

/// Parses a time zone, and returns its offset from UTC in seconds: `Z`, `GMT`, `UTC`, `+0200`, `+02:00`, `+02`.
pub(super) fn offset(zone: &str) -> Option<i64> {
    if ["z", "utc", "gmt", "ut"]
        .iter()
        .any(|name| zone.eq_ignore_ascii_case(name))
    {
        return Some(0);
    }
    let (sign, digits) = match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
        (Some(digits), _) => (1_i64, digits),
        (_, Some(digits)) => (-1, digits),
        _ => return None,
    };
    // RFC 3339 requires the colon, ISO 8601 and RFC 5322 do not; ISO 8601 allows the minutes to be omitted.
    let (hour, rest) = leading(digits, 2)?;
    let minute = match rest {
        "" => 0,
        rest => number(rest.strip_prefix(':').unwrap_or(rest), 2)?,
    };
    let seconds = i64::try_from(second_of_day(hour, minute, 0)?).ok()?;
    Some(seconds.saturating_mul(sign))
}

/// Splits off a number of this many digits.
pub(super) fn leading(text: &str, width: usize) -> Option<(u64, &str)> {
    let (digits, rest) = text.split_at_checked(width)?;
    Some((number(digits, width)?, rest))
}

/// Parses a number of this many digits.
#[inline(never)]
pub(super) fn number(text: &str, width: usize) -> Option<u64> {
    // `parse` alone accepts a sign, as in `+026`.
    let fits = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}
