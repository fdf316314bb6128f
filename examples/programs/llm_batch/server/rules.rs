//! How the server behaves, and what happens to which call.

use super::{Quota, mixed};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// How the server behaves; by default it answers every call at once.
pub(crate) struct Rules {
    /// How many calls of one key are accepted, and in what time.
    pub(crate) quota: Option<Quota>,
    /// How a 429 says when to come back.
    pub(crate) hint: Hint,
    /// Whether answers that count against the quota carry `x-ratelimit-{limit,remaining,reset}-requests`.
    pub(crate) quota_headers: bool,
    /// How many tokens the messages and the answer may have together; a token is four bytes here.
    pub(crate) context: Option<u64>,
    /// The way there and back, half of it before the decision and half of it after.
    pub(crate) round_trip: Duration,
    /// How long an accepted call takes beside it.
    pub(crate) thinking: RangeInclusive<Duration>,
    /// The pause before each frame of a stream but the first.
    pub(crate) between_frames: Duration,
    /// What happens to a call, by its number: 1, 2, ... in the order of arrival.
    pub(crate) trouble: Plan,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            quota: None,
            hint: Hint::Seconds,
            quota_headers: false,
            context: None,
            round_trip: Duration::ZERO,
            thinking: Duration::ZERO..=Duration::ZERO,
            between_frames: Duration::ZERO,
            trouble: chosen([]),
        }
    }
}

/// How a 429 says when to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// It does not say.
    Silent,
    /// `Retry-After`, in whole seconds and never too early.
    Seconds,
    /// `retry-after-ms`.
    Millis,
    /// In the words of its message alone.
    Prose,
}

/// What happens to a call instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// 429, with this delay by the rules' hint.
    RateLimited(Duration),
    /// 429, and no money on the account.
    InsufficientQuota,
    /// 503 without a word on when to come back.
    Unavailable,
    /// 529.
    Overloaded,
    /// 200, and a stream whose first event is an overloaded error; 529 where no stream was asked for.
    StreamOverloaded,
    /// This status, and a JSON error body that never ends.
    Endless(u16),
    /// This status, and a JSON error body that stops in its middle and stays open.
    Stalled(u16),
}

/// What happens to which call.
pub(crate) type Plan = Arc<dyn Fn(u64) -> Option<Trouble> + Send + Sync>;

/// Trouble for the calls of these numbers.
pub(crate) fn chosen(troubles: impl IntoIterator<Item = (u64, Trouble)>) -> Plan {
    let troubles: BTreeMap<u64, Trouble> = troubles.into_iter().collect();
    Arc::new(move |number| troubles.get(&number).copied())
}

/// Trouble for so many calls in a thousand, the same ones under the same seed.
pub(crate) fn sometimes(in_thousand: u64, seed: u64, trouble: Trouble) -> Plan {
    Arc::new(move |number| (mixed(seed ^ mixed(number)) % 1_000 < in_thousand).then_some(trouble))
}
