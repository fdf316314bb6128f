//! Quotas with a header for each number: `x-ratelimit-reset`, `x-ratelimit-remaining-tokens`,
//! `anthropic-ratelimit-requests-limit` and the like.

use super::{Level, QuotaUnit, StatedQuota, count, window};
use crate::server_hints::date::{Clock, RetryTime};
use crate::server_hints::{Header, HeaderSet};
use crate::server_hints::{QUOTA_PREFIXES, ResponseHead, after_prefix};
use std::collections::BTreeMap;
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
    Reset,
    Remaining,
    Limit,
    Status,
}

/// The values in the headers of one quota.
#[derive(Debug, Default)]
struct Numbers {
    reset: Field<Option<Duration>>,
    remaining: Field<u64>,
    limit: Field<u64>,
    window: Option<Duration>,
    status: Option<Level>,
}

/// The lines of one header, combined.
#[derive(Debug)]
struct Field<T> {
    header: Option<Header>,
    value: Option<T>,
}

/// Adds the quotas that a head states in this form.
pub(super) fn read(head: &mut ResponseHead<'_>, all: &mut Vec<StatedQuota>) {
    let mut quotas = BTreeMap::<Name<'_>, Numbers>::new();
    for (name, text) in head.quota_lines() {
        if let (Some((quota, role)), Some(header)) = (Name::parse(name), Header::named(name)) {
            let numbers = quotas.entry(quota).or_default();
            numbers.add(role, header, text, &head.clock);
        }
    }
    for (name, numbers) in quotas {
        numbers.note_unreadable(&mut head.unreadable);
        all.extend(numbers.stated(name.unit()));
    }
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Option<(Self, Role)> {
        const ROLES: [(&str, Role); 4] = [
            ("reset", Role::Reset),
            ("remaining", Role::Remaining),
            ("limit", Role::Limit),
            ("status", Role::Status),
        ];
        let (prefix, stem) = after_prefix(name)?;
        let mut matches = ROLES.iter().filter_map(|(word, role)| {
            let (before, after) = stem.split_once(word)?;
            let starts = before.is_empty() || before.ends_with('-');
            let ends = after.is_empty() || after.starts_with('-');
            (starts && ends).then_some((before, after, *role))
        });
        let (before, after, role) = matches.next()?;
        let after = match (role, after) {
            // `reset-after` holds the time until the reset, and may be sent with `reset`: both are of one quota.
            (Role::Reset, "-after") => "",
            (_, after) => after,
        };
        let name = Self {
            prefix,
            before,
            after,
        };
        Some((name, role))
    }

    fn unit(&self) -> QuotaUnit {
        let contains = |word| self.before.contains(word) || self.after.contains(word);
        let prefix = QUOTA_PREFIXES.get(self.prefix).copied().unwrap_or_default();
        if contains("token") || prefix.contains("bysize") {
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

impl Numbers {
    fn add(&mut self, role: Role, header: Header, text: Option<&str>, clock: &Clock<'_>) {
        match role {
            // Two proxies may each add a line or a value: the stricter one counts.
            Role::Reset => {
                let reset = text.and_then(|text| latest(text, clock));
                self.reset.add(header, reset, Ord::max);
            }
            Role::Remaining => {
                let remaining = text.and_then(|text| text.split(',').filter_map(value).min());
                self.remaining.add(header, remaining, Ord::min);
            }
            Role::Limit => {
                // One of the drafts lists windows after the limit: `100, 100;w=60`.
                let limit = text.and_then(|text| value(text.split(',').next()?));
                self.limit.add(header, limit, Ord::min);
            }
            Role::Status => self.status = self.status.or_else(|| text.and_then(parse_status)),
        }
        // Only the window of the limit itself counts, and not that of another limit in the list.
        let of_limit =
            |part: &&str| !matches!(role, Role::Limit) || value(part) == self.limit.value;
        let parts = text.into_iter().flat_map(|text| text.split(','));
        let own = parts.filter(of_limit).filter_map(window).max();
        self.window = self.window.max(own);
    }

    fn note_unreadable(&self, unreadable: &mut HeaderSet) {
        let fields = [
            self.reset.unreadable(),
            self.remaining.unreadable(),
            self.limit.unreadable(),
        ];
        let headers = fields.into_iter().flatten();
        headers.for_each(|header| unreadable.add(header));
    }

    fn stated(self, unit: QuotaUnit) -> Option<StatedQuota> {
        let remaining = self.remaining.value;
        let by_number = Level::from_remaining(remaining);
        // A reset in the past means that there is nothing to wait for; if there is none, the window counts. A limit
        // with a window but without a remainder does not say that anything is spent.
        let window = self.window.filter(|_| remaining.is_some());
        let reset = self.reset.value.unwrap_or(window);
        Some(StatedQuota {
            unit,
            level: match self.status {
                Some(status) if by_number == Level::Unknown => status,
                _ => by_number,
            },
            limit: self.limit.value,
            remaining,
            reset,
            window: self.window,
            header: self.reset.header.or(self.remaining.header)?,
        })
    }
}

impl<T> Field<T> {
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

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self {
            header: None,
            value: None,
        }
    }
}

/// Returns the time until a reset, the latest of several. The inner `None` means that it is past.
fn latest(text: &str, clock: &Clock<'_>) -> Option<Option<Duration>> {
    // An HTTP-date contains a comma itself, so the whole text is tried first.
    let whole = RetryTime::reset(text).map(|time| time.until(|| clock.now()));
    whole.or_else(|| {
        let parts = text.split(',').map(before_parameters);
        parts
            .filter_map(RetryTime::reset)
            .map(|time| time.until(|| clock.now()))
            .max()
    })
}

fn value(part: &str) -> Option<u64> {
    count(before_parameters(part))
}

fn before_parameters(part: &str) -> &str {
    part.split(';').next().unwrap_or_default().trim_ascii()
}

/// Parses the status of a quota that has no number.
fn parse_status(status: &str) -> Option<Level> {
    let status = status.to_ascii_lowercase();
    if status.starts_with("allowed") {
        Some(Level::Left)
    } else {
        (status == "rejected").then_some(Level::Spent)
    }
}
