//! The headers that are read, and which of them could not be.

use std::fmt;
use std::time::Duration;

/// One of the headers that say something about coming back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Header(u8);

/// A delay, and the header that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) delay: Duration,
    pub(super) header: Header,
}

macro_rules! names {
    ($($before:literal $after:literal,)*) => {
        [
            "retry-after-ms",
            "x-ms-retry-after-ms",
            "x-amz-retry-after",
            "retry-after",
            "ratelimit",
            "ratelimit-policy",
            $(
                concat!($before, "limit", $after),
                concat!($before, "remaining", $after),
                concat!($before, "reset", $after),
            )*
            "ratelimit-*",
            "x-ratelimit-*",
            "x-rate-limit-*",
            "anthropic-ratelimit-*",
            "ratelimitbysize-*",
            "x-ratelimitbysize-*",
        ]
    };
}

/// All of them. The last ones stand for every other name that begins so.
const NAMES: [&str; 45] = names![
    "ratelimit-" "",
    "x-ratelimit-" "",
    "x-rate-limit-" "",
    "x-ratelimit-" "-requests",
    "x-rate-limit-" "-requests",
    "x-ratelimit-" "-tokens",
    "x-rate-limit-" "-tokens",
    "anthropic-ratelimit-requests-" "",
    "anthropic-ratelimit-tokens-" "",
    "anthropic-ratelimit-input-tokens-" "",
    "anthropic-ratelimit-output-tokens-" "",
];

/// Whether a name may be one of them: one look at its first letter is enough for most.
pub(super) fn may_be_a_hint(name: &str) -> bool {
    name.starts_with(['r', 'x', 'a'])
}

impl Header {
    pub(super) const RETRY_AFTER_MS: Self = Self(0);
    pub(super) const X_MS_RETRY_AFTER_MS: Self = Self(1);
    pub(super) const X_AMZ_RETRY_AFTER: Self = Self(2);
    pub(super) const RETRY_AFTER: Self = Self(3);
    pub(super) const RATELIMIT: Self = Self(4);
    pub(super) const RATELIMIT_POLICY: Self = Self(5);

    /// The header of this name, or the one that stands for all that begin as it does.
    pub(super) fn of(name: &str) -> Option<Self> {
        let places = || (0..).zip(NAMES);
        let known = places().find(|(_, known)| *known == name);
        let alike = || {
            places().find(|(_, known)| {
                let start = known.strip_suffix('*');
                start.is_some_and(|start| name.starts_with(start))
            })
        };
        let (place, _) = known.or_else(alike)?;
        Some(Self(place))
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).copied().unwrap_or_default()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the headers that say something about coming back.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeaderSet(u64);

impl HeaderSet {
    /// Their names, in the order in which they would have counted.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let Self(mut left) = self;
        std::iter::from_fn(move || {
            let place = usize::try_from(left.trailing_zeros()).ok()?;
            left &= left.wrapping_sub(1);
            NAMES.get(place).copied()
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
