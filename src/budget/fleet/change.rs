//! When a process leaves its fleet and joins it again.

use std::fmt;
use std::time::Duration;

/// Why a process decides alone for a while instead of with its fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaveReason {
    /// The store has not answered in time.
    Timeout,
    /// There is no connection to the store.
    Unreachable,
    /// The store refuses the credentials.
    Auth,
    /// The store forbids a command, a key or a channel.
    Denied,
    /// The store is a replica that takes no writes.
    ReadOnly,
    /// The store has no memory left.
    NoMemory,
    /// A key of the fleet holds something else.
    WrongType,
    /// The store does not run the script, or its answer makes no sense.
    Script,
    /// The key is at another node of a cluster.
    Moved,
    /// The store cannot tell all processes at once, as gates need it: it does not speak RESP3. Budgets are shared all the
    /// same.
    NoPush,
}

impl LeaveReason {
    /// A stable name, for metric labels: `timeout`, `unreachable`, `auth`, `denied`, `read_only`, `no_memory`,
    /// `wrong_type`, `script`, `moved`, `no_push`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Auth => "auth",
            Self::Denied => "denied",
            Self::ReadOnly => "read_only",
            Self::NoMemory => "no_memory",
            Self::WrongType => "wrong_type",
            Self::Script => "script",
            Self::Moved => "moved",
            Self::NoPush => "no_push",
        }
    }

    /// The same as a sentence.
    #[must_use]
    pub fn explain(self) -> &'static str {
        match self {
            Self::Timeout => "The store did not answer in time.",
            Self::Unreachable => "The store cannot be reached.",
            Self::Auth => "The store refuses the user name or the password.",
            Self::Denied => "The store's access list forbids a command, a key or a channel.",
            Self::ReadOnly => "The store takes no writes.",
            Self::NoMemory => "The store has no memory left.",
            Self::WrongType => "A key of the fleet holds a value of another type.",
            Self::Script => "The store cannot run the fleet's script.",
            Self::Moved => "The store is a cluster, and the key is at another of its nodes.",
            Self::NoPush => "The store does not speak RESP3, by which gates are told.",
        }
    }
}

impl fmt::Display for LeaveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A process leaves its fleet or joins it; one value for each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FleetChange {
    /// From now on the process decides alone.
    Left {
        /// Why.
        reason: LeaveReason,
    },
    /// From now on it decides with the fleet.
    Joined {
        /// How long it was away; the first time, how long the first answer took.
        away: Duration,
    },
}
