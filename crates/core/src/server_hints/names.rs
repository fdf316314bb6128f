//! The names of headers that carry a retry hint, and what a name says about its value.
//!
//! No standard defines most of them. A name counts if its words say what it holds: `retry` or `reset`, and then words
//! for a time and for the unit of its number, as in `x-ratelimit-reset-after-ms`. A header with the name of a service
//! in it is that service's own, and a dialect's matter.

use super::duration::{MILLISECOND, MINUTE, SECOND};
use std::fmt;

/// The most bytes of a header's name; a header with a longer one is ignored.
pub(super) const MAX_NAME_BYTES: usize = 128;

/// Writes the lists of names.
macro_rules! names {
    (
        delays: $($delay:literal)*,
        quotas: $(($before:literal, $after:literal))*,
        patterns: $($pattern:literal)*,
    ) => {
        /// The headers that name a delay. The first readable one counts. The last ones match other names with that
        /// prefix.
        pub(super) const DELAYS: [&str; 9] = [$($delay,)*];

        /// The headers that hold one number of a quota, by their prefixes.
        pub(super) const QUOTA_PATTERNS: [&str; 7] = [$($pattern,)*];

        /// All headers, in order of precedence: those of [`DELAYS`], the quota headers that are known by their whole
        /// names, and those of [`QUOTA_PATTERNS`].
        static NAMES: [&str; 51] = [
            $($delay,)*
            "ratelimit",
            "ratelimit-policy",
            $(
                concat!($before, "limit", $after),
                concat!($before, "remaining", $after),
                concat!($before, "reset", $after),
            )*
            $($pattern,)*
        ];
    };
}

names! {
    delays:
        "retry-after-ms"
        "x-ms-retry-after-ms"
        "x-amz-retry-after"
        "retry-after"
        "x-retry-after"
        "x-retry-in"
        "retry-*"
        "x-retry-*"
        "x-throttle-wait-*",
    quotas:
        ("ratelimit-", "")
        ("x-ratelimit-", "")
        ("x-rate-limit-", "")
        ("x-ratelimit-", "-requests")
        ("x-rate-limit-", "-requests")
        ("x-ratelimit-", "-tokens")
        ("x-rate-limit-", "-tokens")
        ("anthropic-ratelimit-requests-", "")
        ("anthropic-ratelimit-tokens-", "")
        ("anthropic-ratelimit-input-tokens-", "")
        ("anthropic-ratelimit-output-tokens-", ""),
    patterns:
        "ratelimit-*"
        "x-ratelimit-*"
        "x-rate-limit-*"
        "rate-limit-*"
        "anthropic-ratelimit-*"
        "ratelimitbysize-*"
        "x-ratelimitbysize-*",
}

/// The index of the first quota header among all headers.
#[expect(clippy::cast_possible_truncation, reason = "a handful")]
const FIRST_QUOTA: u8 = DELAYS.len() as u8;

/// The form of the value of a header that names a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DelayForm {
    /// `Retry-After`: a number of seconds or a date.
    RetryAfter,
    /// A number of milliseconds.
    Milliseconds,
    /// A number in this unit, a duration with units, or a date.
    Any(u128),
}

/// Returns the header with this name if it names a delay, and the form of its value.
#[inline]
pub(super) fn delay(name: &str) -> Option<(Header, DelayForm)> {
    // Nearly every response has names that begin with `x-` and are none of these.
    let rest = name.strip_prefix("x-").unwrap_or(name);
    match rest.as_bytes().first()? {
        b'r' if name == "retry-after" => Some((Header::RETRY_AFTER, DelayForm::RetryAfter)),
        b'r' | b'm' | b'a' | b't' => rare_delay(name, rest),
        _ => None,
    }
}

#[inline(never)]
fn rare_delay(name: &str, rest: &str) -> Option<(Header, DelayForm)> {
    let form = match name {
        "retry-after-ms" | "x-ms-retry-after-ms" | "x-amz-retry-after" => DelayForm::Milliseconds,
        _ => {
            let words = match rest.strip_prefix("retry-") {
                Some(words) => words,
                None => name.strip_prefix("x-throttle-wait-")?,
            };
            DelayForm::Any(unit_of(words)?)
        }
    };
    Some((Header::named(name)?, form))
}

/// Returns the unit of the number in a header from the words of its name, if all of them are words for a time.
pub(super) fn unit_of(words: &str) -> Option<u128> {
    let (unit, rest) = time_words(words)?;
    rest.is_empty().then_some(unit)
}

/// Strips the words for a time from the start and the end of a part of a name, and returns the unit that they state and
/// the words that are left: `-org` of `-seconds-org`. The first word may stand without a hyphen, as in `resettime`.
/// Returns `None` if that one is no word for a time.
pub(super) fn time_words(words: &str) -> Option<(u128, &str)> {
    let (mut unit, mut rest) = (SECOND, words);
    if !rest.is_empty() && !rest.starts_with('-') {
        let (word, after) = first_word(rest);
        unit = unit_of_word(word)?.unwrap_or(unit);
        rest = after;
    }
    while let Some(text) = rest.strip_prefix('-') {
        let (word, after) = first_word(text);
        let Some(stated) = unit_of_word(word) else {
            break;
        };
        (unit, rest) = (stated.unwrap_or(unit), after);
    }
    while let Some((before, word)) = rest.rsplit_once('-') {
        let Some(stated) = unit_of_word(word) else {
            break;
        };
        (unit, rest) = (stated.unwrap_or(unit), before);
    }
    Some((unit, rest))
}

/// Splits a part of a name behind its first word.
fn first_word(words: &str) -> (&str, &str) {
    let end = words.bytes().position(|byte| byte == b'-');
    let split = end.and_then(|end| words.split_at_checked(end));
    split.unwrap_or((words, ""))
}

/// Returns the unit that a word states, if it is a word for a time.
fn unit_of_word(word: &str) -> Option<Option<u128>> {
    // `second`, `minute` and `day` are no units here: they name the window of a quota.
    Some(match word {
        "after" | "at" | "date" | "epoch" | "in" | "time" | "timestamp" | "unix" | "utc" => None,
        "s" | "sec" | "secs" | "seconds" => Some(SECOND),
        "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Some(MILLISECOND),
        "minutes" => Some(MINUTE),
        _ => return None,
    })
}

/// Returns `false` for most other names by their first letter.
pub(super) fn may_be_a_hint(name: &str) -> bool {
    name.starts_with(['r', 'x', 'a'])
}

/// Returns the index of the name's pattern in [`QUOTA_PATTERNS`], and the part of the name after its prefix.
pub(super) fn after_prefix(name: &str) -> Option<(usize, &str)> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let patterns = QUOTA_PATTERNS.iter().enumerate();
    let mut found =
        patterns.filter_map(|(index, pattern)| Some((index, after_pattern(name, pattern)?)));
    found.next()
}

/// Returns the rest of a name that matches a pattern: `reset` of `ratelimit-reset` for `ratelimit-*`.
fn after_pattern<'a>(name: &'a str, pattern: &str) -> Option<&'a str> {
    name.strip_prefix(pattern.strip_suffix('*')?)
}

pub(super) fn names_a_quota(name: &str) -> bool {
    name == "ratelimit" || after_prefix(name).is_some()
}

/// The index of a header that carries a retry hint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Header(u8);

impl Header {
    pub(super) const RETRY_AFTER: Self = Self(3);
    pub(super) const RATELIMIT: Self = Self(FIRST_QUOTA);
    pub(super) const RATELIMIT_POLICY: Self = Self(FIRST_QUOTA.saturating_add(1));

    /// Returns the header with this name, or the one for its prefix.
    pub(super) fn named(name: &str) -> Option<Self> {
        // The exact name first, since `x-ratelimit-*` matches `x-ratelimit-reset` too.
        let known = NAMES.iter().position(|known| *known == name);
        let by_prefix = || {
            let mut names = NAMES.iter();
            names.position(|known| after_pattern(name, known).is_some())
        };
        let index = known.or_else(by_prefix)?;
        u8::try_from(index).ok().map(Self)
    }

    pub(super) fn index(self) -> usize {
        self.0.into()
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.get(self.index()).copied().unwrap_or_default()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of headers that carry retry hints: one bit for each of the 51.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeaderSet(u64);

impl HeaderSet {
    /// Returns their names, in order of precedence.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let Self(mut bits) = self;
        std::iter::from_fn(move || {
            let index = usize::try_from(bits.trailing_zeros()).ok()?;
            // Clears the lowest bit. Without one the index is 64, which no header has, so the iterator ends.
            bits &= bits.wrapping_sub(1);
            NAMES.get(index).copied()
        })
    }

    pub(super) fn add(&mut self, header: Header) {
        self.0 |= 1_u64.checked_shl(header.0.into()).unwrap_or_default();
    }

    pub(super) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl fmt::Debug for HeaderSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_unit_of_its_number() {
        for (words, wanted) in [
            ("", Some((SECOND, ""))),
            ("-after", Some((SECOND, ""))),
            ("-ms", Some((MILLISECOND, ""))),
            ("-after-ms", Some((MILLISECOND, ""))),
            ("-in-seconds", Some((SECOND, ""))),
            ("-after-minutes", Some((MINUTE, ""))),
            ("time", Some((SECOND, ""))),
            ("after-milliseconds", Some((MILLISECOND, ""))),
            ("-tokens", Some((SECOND, "-tokens"))),
            ("-seconds-org", Some((SECOND, "-org"))),
            ("-requests-day", Some((SECOND, "-requests-day"))),
            ("-minute", Some((SECOND, "-minute"))),
            ("table", None),
            ("-tokens-ms", Some((MILLISECOND, "-tokens"))),
            ("-in-tokens-after-ms", Some((MILLISECOND, "-tokens"))),
        ] {
            assert_eq!(time_words(words), wanted, "{words}");
        }
    }

    #[test]
    fn every_header_has_a_bit_of_its_own() {
        assert!(NAMES.len() < 64);
        for name in &NAMES {
            let found = Header::named(name.trim_end_matches('*')).map(Header::name);
            assert!(
                found.is_some_and(|found| found == *name),
                "{name}: {found:?}"
            );
        }
        assert_eq!(Header::RETRY_AFTER.name(), "retry-after");
        assert_eq!(Header::RATELIMIT.name(), "ratelimit");
        let distinct: std::collections::BTreeSet<_> = NAMES.iter().collect();
        assert_eq!(distinct.len(), NAMES.len());
    }
}
