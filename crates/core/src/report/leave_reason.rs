//! The reasons why a process leaves its fleet.

use std::fmt;

/// The reason why a process leaves its fleet and decides alone for a while. The guide to fleets describes the
/// behavior meanwhile.
///
/// It is reported once, when the process leaves. The process rejoins with the first reply that is in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaveReason {
    /// The store has not replied within the fleet's `wait`, or is running another user's script that does not end.
    Timeout,
    /// There is no connection to the store: it refuses connections, has closed this one, or is still loading its data.
    Unreachable,
    /// The store rejects the user name or the password, or requires one.
    Auth,
    /// The store's access list forbids a command, a key or a channel. The documentation of the module `fleet` lists the
    /// required rights.
    Denied,
    /// The store accepts no writes: it is a replica, has lost its primary or its replicas, or cannot save.
    ReadOnly,
    /// The store has no memory left within its `maxmemory`.
    NoMemory,
    /// A key of the fleet holds a value of another type, since another program uses the prefix. It is never deleted.
    WrongType,
    /// The store cannot run the script, or its reply is not one of the script's.
    Script,
    /// The store is a cluster, and the key is on another of its nodes, which is not contacted.
    Moved,
    /// The store cannot notify all processes at once, as gates require, since it does not support RESP3. Budgets are
    /// still shared.
    NoPush,
}

impl LeaveReason {
    /// Returns a stable name, for metric labels: `timeout`, `unreachable`, `auth`, `denied`, `read_only`, `no_memory`,
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

    /// Returns the reason as a sentence, for people.
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
