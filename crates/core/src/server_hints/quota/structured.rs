//! Quotas in `ratelimit`: the list of the draft, `"burst";r=0;t=30`, with its limits, windows and units in
//! `ratelimit-policy`, and the older form `limit=100, remaining=0, reset=30`.

use super::{MAX_PARAMETERS, QuotaUnit, StatedQuota, count, is_window};
use crate::server_hints::duration::header_duration;
use crate::server_hints::list::split_once;
use crate::server_hints::{Header, ResponseHead};
use http::HeaderName;
use std::time::Duration;

static RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The most items of a list that are read.
const MAX_ITEMS: usize = 64;

/// One item of a list.
#[derive(Debug, Clone, Copy, Default)]
struct Item<'a> {
    /// The value before the parameters; `None` in the older form.
    name: Option<&'a str>,
    limit: Option<u64>,
    remaining: Option<u64>,
    reset: Option<Duration>,
    window: Option<Duration>,
    unit: Option<&'a str>,
    /// `true` if a parameter that counts could not be read.
    is_broken: bool,
}

/// Adds the quotas that a head states in this form.
pub(super) fn read(head: &mut ResponseHead<'_>, all: &mut Vec<StatedQuota>) {
    let items = items(head, &RATELIMIT, Header::RATELIMIT);
    if items.is_empty() {
        // A policy alone does not state a remainder.
        return;
    }
    let mut policies = Vec::<Item<'_>>::new();
    for policy in self::items(head, &POLICY, Header::RATELIMIT_POLICY) {
        match policies.binary_search_by_key(&policy.key(), Item::key) {
            Ok(at) => {
                if let Some(known) = policies.get_mut(at) {
                    *known = known.merged(policy);
                }
            }
            Err(at) => policies.insert(at, policy),
        }
    }
    let before = all.len();
    for item in items.iter().filter(|item| item.name.is_some()) {
        all.extend(item.stated(&policies));
    }
    for quota in grouped(items) {
        all.extend(quota.stated(&policies));
    }
    // No item states a remainder or a reset.
    if all.len() == before {
        head.unreadable.add(Header::RATELIMIT);
    }
}

/// Returns the items of a list, from all lines of a header.
fn items<'a>(head: &mut ResponseHead<'a>, name: &HeaderName, header: Header) -> Vec<Item<'a>> {
    let (mut items, mut broken) = (Vec::new(), false);
    for line in head.lines(name) {
        broken |= line.is_none();
        let parts = split(line.unwrap_or_default(), b',');
        let parts = parts.filter(|part| !part.trim_ascii().is_empty());
        let left = MAX_ITEMS.saturating_sub(items.len());
        let mut parts = parts.map(Item::read);
        items.extend(parts.by_ref().take(left));
        // An item that is not read may be the spent quota.
        broken |= parts.next().is_some();
    }
    if broken || items.iter().any(|item| item.is_broken) {
        head.unreadable.add(header);
    }
    items
}

/// Groups the items of the older form, which have no name, into quotas. An item that repeats a field begins the next
/// quota.
fn grouped(items: Vec<Item<'_>>) -> Vec<Item<'_>> {
    let mut quotas = Vec::new();
    let mut open = Item::default();
    for item in items.into_iter().filter(|item| item.name.is_none()) {
        if open.has_any_of(&item) {
            quotas.push(std::mem::take(&mut open));
        }
        open = open.merged(item);
    }
    quotas.push(open);
    quotas
}

impl<'a> Item<'a> {
    fn read(text: &'a str) -> Self {
        let mut item = Self::default();
        for (index, part) in split(text, b';').take(MAX_PARAMETERS).enumerate() {
            let part = part.trim_ascii();
            // A quoted name may contain `=`.
            let pair = split_once(part, b'=').filter(|_| !part.starts_with('"'));
            match pair {
                Some((key, value)) => item.set(key.trim_ascii(), value.trim_ascii()),
                None if index == 0 => item.name = Some(part.trim_matches('"')),
                None => {}
            }
        }
        item
    }

    fn set(&mut self, key: &str, value: &'a str) {
        // The short keys are those of the current draft, the long ones those of earlier drafts.
        let is = |names: [&str; 2]| names.iter().any(|name| key.eq_ignore_ascii_case(name));
        if is(["r", "remaining"]) {
            self.remaining = self.checked(count(value)).or(self.remaining);
        } else if is(["t", "reset"]) {
            self.reset = self.checked(header_duration(value)).max(self.reset);
        } else if is(["q", "limit"]) {
            self.limit = self.checked(count(value)).or(self.limit);
        } else if is_window(key) {
            self.window = self.checked(header_duration(value)).max(self.window);
        } else if key.eq_ignore_ascii_case("qu") {
            self.unit = Some(value.trim_matches('"'));
        }
    }

    /// Records that a value could not be read, and returns it.
    fn checked<T>(&mut self, value: Option<T>) -> Option<T> {
        self.is_broken |= value.is_none();
        value
    }

    fn has_any_of(&self, other: &Self) -> bool {
        let both = |one: bool, other: bool| one && other;
        both(self.limit.is_some(), other.limit.is_some())
            || both(self.remaining.is_some(), other.remaining.is_some())
            || both(self.reset.is_some(), other.reset.is_some())
    }

    fn merged(self, other: Self) -> Self {
        Self {
            name: self.name.or(other.name),
            limit: self.limit.or(other.limit),
            remaining: self.remaining.or(other.remaining),
            reset: self.reset.max(other.reset),
            window: self.window.max(other.window),
            unit: self.unit.or(other.unit),
            // Matters only while a list is read.
            is_broken: false,
        }
    }

    fn stated(&self, policies: &[Item<'_>]) -> Option<StatedQuota> {
        let has_any = self.remaining.is_some() || self.reset.is_some();
        let own = has_any.then_some(*self)?;
        let policy = own.policy(policies).copied().unwrap_or_default();
        let unit = match own.unit.or(policy.unit) {
            None | Some("requests") => QuotaUnit::Requests,
            // A quota of calls in flight is free again when they end, and not after a window.
            Some("concurrent-requests") => QuotaUnit::Other,
            Some(_) => QuotaUnit::Amount,
        };
        let window = own
            .window
            .or(policy.window)
            .filter(|_| unit != QuotaUnit::Other);
        Some(StatedQuota {
            unit,
            is_spent: own.remaining.map(|left| left == 0),
            limit: own.limit.or(policy.limit),
            remaining: own.remaining,
            // Without a reset, the quota is back after its window at the latest.
            reset: own.reset.or(window.filter(|_| own.remaining.is_some())),
            asked: None,
            window,
            header: Header::RATELIMIT,
        })
    }

    /// Returns the policy with the item's name; in the older form, the policy whose number equals the limit.
    fn policy<'p>(&self, policies: &'p [Item<'p>]) -> Option<&'p Item<'p>> {
        let is_its = |policy: &&Item<'_>| match self.name {
            Some(name) => policy.key() == name,
            None => self.limit.is_some() && count(policy.key()) == self.limit,
        };
        policies.iter().find(is_its)
    }

    /// Returns the name by which a policy is found.
    fn key(&self) -> &'a str {
        self.name.unwrap_or_default()
    }
}

/// Splits a text at separators outside of quotes. A backslash escapes a quote.
fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || next_part(&mut rest, separator))
}

/// Takes the next part off a text.
#[inline(never)]
fn next_part<'a>(rest: &mut Option<&'a str>, separator: u8) -> Option<&'a str> {
    let text = rest.take()?;
    let (mut quoted, mut escaped) = (false, false);
    let end = text.bytes().position(|byte| {
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && quoted && !escaped;
        byte == separator && !quoted
    });
    let Some((part, after)) = end.and_then(|end| text.split_at_checked(end)) else {
        return Some(text);
    };
    *rest = after.get(1..);
    Some(part)
}
