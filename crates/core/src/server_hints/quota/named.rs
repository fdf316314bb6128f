//! Quotas with a header for each number: `x-ratelimit-reset`, `x-ratelimit-remaining-tokens`,
//! `anthropic-ratelimit-requests-limit` and the like.

use super::{QuotaUnit, RequestedDelay, StatedQuota, count, window};
use crate::server_hints::ResponseHead;
use crate::server_hints::date::RetryTime;
use crate::server_hints::duration::SECOND;
use crate::server_hints::list::{MAX_ELEMENTS, holds, split, split_once};
use crate::server_hints::names::{
    Header, HeaderSet, QUOTA_PATTERNS, after_prefix, time_words, unit_of,
};
use std::time::Duration;

/// The part of a header's name that all headers of its quota share: everything but the word for its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a> {
    prefix: usize,
    before: &'a str,
    after: &'a str,
}

/// The value that a header holds.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// The time at which the quota is back, as a number in this unit or in another form.
    Reset(u128),
    /// The time at which the next call is allowed, as a date.
    Next,
    /// The time at which a refused call may come again.
    Retry(u128),
    Remaining,
    Limit,
    Status,
}

/// The values in the headers of one quota.
#[derive(Debug, Default)]
struct Numbers {
    reset: Field<Option<Duration>>,
    retry: Field<Option<Duration>>,
    remaining: Field<u64>,
    limit: Field<u64>,
    window: Option<Duration>,
    is_rejected: Option<bool>,
    /// The number of values for the reset and for the remainder.
    resets: usize,
    remainders: usize,
}

/// The lines of one header, combined.
#[derive(Debug)]
struct Field<T> {
    header: Option<Header>,
    value: Option<T>,
}

/// Adds the quotas that a head states in this form.
pub(super) fn read(head: &mut ResponseHead<'_>, all: &mut Vec<StatedQuota>) {
    let lines: Vec<_> = head.quota_lines().collect();
    let mut quotas = Vec::<(Name<'_>, Numbers)>::new();
    for (name, text) in &lines {
        if let (Some((quota, role)), Some(header)) = (Name::parse(name), Header::named(name)) {
            let at = quotas.binary_search_by_key(&quota, |(name, _)| *name);
            let at = at.unwrap_or_else(|at| {
                quotas.insert(at, (quota, Numbers::default()));
                at
            });
            if let Some((_, numbers)) = quotas.get_mut(at) {
                numbers.add(role, header, *text, head);
            }
        }
    }
    for (name, mut numbers) in quotas {
        numbers.note_unreadable(&mut head.unreadable);
        if numbers.remainders > 1 && numbers.remainders == numbers.resets {
            numbers.reset.value = reset_of_least(&lines, head, name).or(numbers.reset.value);
        }
        all.extend(numbers.stated(name.unit()));
    }
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Option<(Self, Role)> {
        let (prefix, stem) = after_prefix(name)?;
        let (before, after, role) = Role::in_stem(stem)?;
        let name = Self {
            prefix,
            before,
            after,
        };
        Some((name, role))
    }

    fn unit(&self) -> QuotaUnit {
        let contains = |word| holds(self.before, word) || holds(self.after, word);
        let prefix = QUOTA_PATTERNS.get(self.prefix).copied().unwrap_or_default();
        if contains("token") || holds(prefix, "bysize") {
            return QuotaUnit::Amount;
        }
        let plain = self.before.is_empty() && self.after.is_empty();
        if plain || contains("request") {
            QuotaUnit::Requests
        } else {
            QuotaUnit::Other
        }
    }
}

impl Role {
    /// Returns the role that the words of a name state, with the words before and after them that name the quota.
    fn in_stem(stem: &str) -> Option<(&str, &str, Self)> {
        if let Some(unit) = stem.strip_prefix("retry").and_then(unit_of) {
            return Some(("", "", Self::Retry(unit)));
        }
        if stem == "next" || stem.starts_with("next-") {
            return Some(("", "", Self::Next));
        }
        // `reset-after` and `reset-ms` may be sent with `reset`: all are of one quota.
        let reset = around(stem, "reset").and_then(|(before, after)| {
            let (unit, after) = time_words(after)?;
            let before = before.strip_suffix("time-").unwrap_or(before);
            Some((before, after, Self::Reset(unit)))
        });
        let number = |(word, role)| {
            let (before, after) = around(stem, word)?;
            let ends = after.is_empty() || after.starts_with('-');
            ends.then_some((before, after, role))
        };
        let numbers = [
            ("remaining", Self::Remaining),
            ("limit", Self::Limit),
            ("status", Self::Status),
        ];
        reset.or_else(|| numbers.into_iter().find_map(number))
    }

    /// Reads a time in the form of this role. The number of [`Next`](Self::Next) has no unit that is known.
    fn time(self, text: &str) -> Option<RetryTime> {
        match self {
            Self::Reset(unit) | Self::Retry(unit) => RetryTime::read(text, unit),
            Self::Next => match RetryTime::read(text, SECOND)? {
                RetryTime::In(_) => None,
                date => Some(date),
            },
            Self::Remaining | Self::Limit | Self::Status => None,
        }
    }
}

/// Splits a name around the first of its words that begins with this one.
fn around<'a>(stem: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut at = 0;
    loop {
        let (before, rest) = stem.split_at_checked(at)?;
        if let Some(after) = rest.strip_prefix(word) {
            return Some((before, after));
        }
        let hyphen = rest.bytes().position(|byte| byte == b'-')?;
        at = at.saturating_add(hyphen).saturating_add(1);
    }
}

impl Numbers {
    fn add(&mut self, role: Role, header: Header, text: Option<&str>, head: &ResponseHead<'_>) {
        let parts = elements(text.unwrap_or_default());
        match role {
            // Two proxies may each add a line or a value: the stricter one counts.
            Role::Reset(_) | Role::Next => {
                self.resets = self.resets.saturating_add(parts.len());
                self.reset.add(header, latest(&parts, role, head), Ord::max);
            }
            Role::Retry(_) => self.retry.add(header, latest(&parts, role, head), Ord::max),
            Role::Remaining => {
                self.remainders = self.remainders.saturating_add(parts.len());
                let least = parts.iter().filter_map(|part| value(part)).min();
                self.remaining.add(header, least, Ord::min);
            }
            Role::Limit => {
                // One of the drafts lists windows after the limit: `100, 100;w=60`.
                let limit = parts.first().and_then(|part| value(part));
                self.limit.add(header, limit, Ord::min);
            }
            Role::Status => {
                self.is_rejected = self.is_rejected.or_else(|| text.and_then(parse_status));
            }
        }
        for part in parts {
            // Only the window of the limit itself counts, and not that of another limit in the list.
            if !matches!(role, Role::Limit) || value(part) == self.limit.value {
                self.window = self.window.max(window(part));
            }
        }
    }

    fn note_unreadable(&self, unreadable: &mut HeaderSet) {
        let fields = [
            self.reset.unreadable(),
            self.retry.unreadable(),
            self.remaining.unreadable(),
            self.limit.unreadable(),
        ];
        let headers = fields.into_iter().flatten();
        headers.for_each(|header| unreadable.add(header));
    }

    fn stated(self, unit: QuotaUnit) -> Option<StatedQuota> {
        let remaining = self.remaining.value;
        // A reset in the past means that there is nothing to wait for; if there is none, the window counts. A limit
        // with a window but without a remainder does not say that anything is spent.
        let window = self.window.filter(|_| remaining.is_some());
        let reset = self.reset.value.unwrap_or(window);
        Some(StatedQuota {
            unit,
            is_spent: remaining.map(|left| left == 0).or(self.is_rejected),
            limit: self.limit.value,
            remaining,
            reset,
            asked: self.retry.requested(),
            window: self.window,
            header: self
                .reset
                .header
                .or(self.remaining.header)
                .or(self.retry.header)?,
        })
    }
}

impl<T> Field<T> {
    #[inline(never)]
    fn add(&mut self, header: Header, value: Option<T>, either: fn(T, T) -> T) {
        self.header = self.header.or(Some(header));
        self.value = match (self.value.take(), value) {
            (Some(one), Some(other)) => Some(either(one, other)),
            (one, other) => one.or(other),
        };
    }

    /// Returns the header, if none of its lines could be read.
    fn unreadable(&self) -> Option<Header> {
        self.header.filter(|_| self.value.is_none())
    }
}

impl Field<Option<Duration>> {
    /// Returns the delay that the field asks for. One of zero asks for none.
    fn requested(&self) -> Option<RequestedDelay> {
        let (header, delay) = (self.header?, self.value.flatten()?);
        (!delay.is_zero()).then_some(RequestedDelay { delay, header })
    }
}

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self {
            header: None,
            value: None,
        }
    }
}

/// Returns the reset of the least remainder, or the latest of several, where both headers list a value for each of the
/// quota's windows: `remaining: 0, 1832` and `reset: 1, 1419704`.
fn reset_of_least(
    lines: &[(&str, Option<&str>)],
    head: &ResponseHead<'_>,
    quota: Name<'_>,
) -> Option<Option<Duration>> {
    let (mut remainders, mut resets) = (Vec::new(), Vec::new());
    for (name, text) in lines {
        let Some((_, role)) = Name::parse(name).filter(|(own, _)| *own == quota) else {
            continue;
        };
        for part in elements(text.unwrap_or_default()) {
            match role {
                Role::Remaining => remainders.push(value(part)),
                Role::Reset(_) | Role::Next => resets.push(until(part, role, head)),
                Role::Retry(_) | Role::Limit | Role::Status => {}
            }
        }
    }
    let least = remainders.iter().flatten().min()?;
    let both = remainders.iter().zip(&resets);
    let of_least = both.filter(|(remaining, _)| **remaining == Some(*least));
    of_least.filter_map(|(_, reset)| *reset).max()
}

/// Returns the latest of the times that a header lists.
#[inline(never)]
fn latest(parts: &[&str], role: Role, head: &ResponseHead<'_>) -> Option<Option<Duration>> {
    parts
        .iter()
        .filter_map(|part| until(part, role, head))
        .max()
}

/// Returns the time that is left. The inner `None` means that it is past.
#[inline(never)]
fn until(text: &str, role: Role, head: &ResponseHead<'_>) -> Option<Option<Duration>> {
    let time = role.time(before_parameters(text))?;
    Some(time.until(|| head.now()))
}

#[inline(never)]
fn elements(line: &str) -> Vec<&str> {
    split(line).take(MAX_ELEMENTS).collect()
}

#[inline(never)]
fn value(part: &str) -> Option<u64> {
    count(before_parameters(part))
}

#[inline(never)]
fn before_parameters(part: &str) -> &str {
    split_once(part, b';')
        .map_or(part, |(value, _)| value)
        .trim_ascii()
}

/// Parses the status of a quota that has no number.
fn parse_status(status: &str) -> Option<bool> {
    let status = status.to_ascii_lowercase();
    if status.starts_with("allowed") {
        Some(false)
    } else {
        (status == "rejected").then_some(true)
    }
}
