//! The quota of each key, and the count of what became of its calls.

use hyper::header::{HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// No more keys have an account.
const MOST_KEYS: usize = 1_024;
/// What comes after so many seconds counts for the last of them.
const MOST_SECONDS: usize = 3_600;

/// So many calls in each window; the first window begins with a key's first call, and each where the last one ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    pub(crate) requests: u32,
    pub(crate) window: Duration,
}

/// What became of the calls that arrived in one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Second {
    /// Answered with a completion.
    pub(crate) accepted: u32,
    /// Above the quota.
    pub(crate) rejected: u32,
    /// In any other trouble.
    pub(crate) failed: u32,
}

/// Where a key stands after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    limit: u32,
    remaining: u32,
    pub(super) reset: Duration,
}

impl Standing {
    pub(super) fn headers(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let told = [
            ("x-ratelimit-limit-requests", self.limit.to_string()),
            ("x-ratelimit-remaining-requests", self.remaining.to_string()),
            ("x-ratelimit-reset-requests", go_duration(self.reset)),
        ];
        told.into_iter().filter_map(|(name, value)| {
            let value = HeaderValue::try_from(value).ok()?;
            Some((HeaderName::from_static(name), value))
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Granted {
    /// Without a quota there is nothing to tell.
    Yes(Option<Standing>),
    No(Standing),
}

#[derive(Default)]
pub(super) struct Accounts(Mutex<BTreeMap<String, Account>>);

impl Accounts {
    /// The key's account, unless too many keys have one.
    pub(super) fn of(&self, key: &str, now: Instant) -> Option<Open<'_>> {
        let mut accounts = self.lock();
        if !accounts.contains_key(key) && accounts.len() >= MOST_KEYS {
            return None;
        }
        let account = accounts
            .entry(key.to_owned())
            .or_insert_with(|| Account::new(now));
        let at = now.saturating_duration_since(account.opened);
        Some(Open {
            key: key.to_owned(),
            at,
            accounts,
        })
    }

    pub(super) fn served(&self, key: &str) -> Vec<Second> {
        let accounts = self.lock();
        accounts
            .get(key)
            .map_or_else(Vec::new, |account| account.seconds.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Account>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One account, for as long as a call is decided.
pub(super) struct Open<'a> {
    key: String,
    at: Duration,
    accounts: MutexGuard<'a, BTreeMap<String, Account>>,
}

impl Open<'_> {
    pub(super) fn take(&mut self, quota: Option<Quota>) -> Granted {
        let at = self.at;
        match self.accounts.get_mut(&self.key) {
            Some(account) => account.take(quota, at),
            None => Granted::Yes(None),
        }
    }

    pub(super) fn failed(&mut self) {
        let at = self.at;
        if let Some(account) = self.accounts.get_mut(&self.key) {
            account.count(at, |second| &mut second.failed);
        }
    }
}

struct Account {
    opened: Instant,
    window: u128,
    used: u32,
    seconds: Vec<Second>,
}

impl Account {
    fn new(opened: Instant) -> Self {
        Self {
            opened,
            window: 0,
            used: 0,
            seconds: Vec::new(),
        }
    }

    fn take(&mut self, quota: Option<Quota>, at: Duration) -> Granted {
        let Some(quota) = quota.filter(|quota| !quota.window.is_zero()) else {
            self.count(at, |second| &mut second.accepted);
            return Granted::Yes(None);
        };
        let window = at.as_nanos() / quota.window.as_nanos();
        if window > self.window {
            (self.window, self.used) = (window, 0);
        }
        let passed = at.as_nanos() % quota.window.as_nanos();
        let passed = Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX));
        let granted = self.used < quota.requests;
        self.used = self.used.saturating_add(u32::from(granted));
        let standing = Standing {
            limit: quota.requests,
            remaining: quota.requests.saturating_sub(self.used),
            reset: quota.window.saturating_sub(passed),
        };
        if granted {
            self.count(at, |second| &mut second.accepted);
            Granted::Yes(Some(standing))
        } else {
            self.count(at, |second| &mut second.rejected);
            Granted::No(standing)
        }
    }

    fn count(&mut self, at: Duration, which: impl FnOnce(&mut Second) -> &mut u32) {
        let last = MOST_SECONDS.saturating_sub(1);
        let place = usize::try_from(at.as_secs()).unwrap_or(last).min(last);
        if self.seconds.len() <= place {
            self.seconds
                .resize(place.saturating_add(1), Second::default());
        }
        if let Some(second) = self.seconds.get_mut(place) {
            let count = which(second);
            *count = count.saturating_add(1);
        }
    }
}

/// In whole milliseconds, never too early.
pub(super) fn millis(duration: Duration) -> u128 {
    duration.as_nanos().div_ceil(1_000_000)
}

/// As Go writes durations, and with it many an API: `17ms`, `1.983s`, `6m0s`.
pub(super) fn go_duration(duration: Duration) -> String {
    let millis = millis(duration);
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let seconds = match (rest / 1_000, rest % 1_000) {
        (whole, 0) => format!("{whole}s"),
        (whole, part) => format!("{whole}.{part:03}s"),
    };
    match minutes {
        0 if millis < 1_000 => format!("{millis}ms"),
        0 => seconds,
        _ => format!("{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: Quota = Quota {
        requests: 2,
        window: Duration::from_millis(1_500),
    };

    fn account() -> Account {
        Account::new(super::super::now())
    }

    #[tokio::test]
    async fn a_window_begins_where_the_last_one_ends() {
        let mut account = account();
        let mut at = |millis| match account.take(Some(QUOTA), Duration::from_millis(millis)) {
            Granted::Yes(standing) => (true, standing.unwrap().remaining, standing.unwrap().reset),
            Granted::No(standing) => (false, standing.remaining, standing.reset),
        };
        let millis = Duration::from_millis;
        assert_eq!(at(0), (true, 1, millis(1_500)));
        assert_eq!(at(600), (true, 0, millis(900)));
        assert_eq!(at(1_499), (false, 0, millis(1)));
        assert_eq!(at(1_500), (true, 1, millis(1_500)));
        assert_eq!(at(4_400), (true, 1, millis(100)));
        assert_eq!(at(4_600), (true, 1, millis(1_400)));
    }

    #[tokio::test]
    async fn every_call_counts_in_its_second_and_a_late_one_in_the_last() {
        let mut account = account();
        for millis in [0, 10, 20, 1_700, u64::MAX] {
            account.take(Some(QUOTA), Duration::from_millis(millis));
        }
        let counted: Vec<_> = account
            .seconds
            .iter()
            .map(|s| (s.accepted, s.rejected))
            .collect();
        assert_eq!(counted[..2], [(2, 1), (1, 0)]);
        assert_eq!(counted.len(), MOST_SECONDS);
        assert_eq!(counted.last(), Some(&(1, 0)));
    }

    #[tokio::test]
    async fn a_thousand_keys_have_an_account_and_no_more() {
        let (accounts, now) = (Accounts::default(), super::super::now());
        let open = |key: usize| accounts.of(&key.to_string(), now).is_some();
        assert!((0..MOST_KEYS).all(open));
        assert!(!open(MOST_KEYS));
        assert!(open(0));
    }

    #[test]
    fn durations_read_as_go_writes_them() {
        let written = |nanos| go_duration(Duration::from_nanos(nanos));
        assert_eq!(written(16_000_001), "17ms");
        assert_eq!(written(1_983_000_000), "1.983s");
        assert_eq!(written(2_000_000_000), "2s");
        assert_eq!(written(360_000_000_000), "6m0s");
    }
}
