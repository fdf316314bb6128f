//! Whether a process shares its budget and its gate with the others of its fleet, and why not.

use std::fmt;
use std::time::Duration;

/// Why a process goes on without its fleet's store, by a share of its own, until the store answers again.
///
/// No request fails by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaveReason {
    /// The store did not answer within `wait`, or not at all.
    Timeout,
    /// No connection to the store could be made, or the store ended it.
    Unreachable,
    /// The store refused the user name or the password.
    Auth,
    /// The store's access list forbids a command, a key or a channel.
    Denied,
    /// The store is a replica, or a primary that takes no writes.
    ReadOnly,
    /// The store has no memory left.
    NoMemory,
    /// A key of the fleet holds a value of another type.
    WrongType,
    /// The store's answer to a script was an error, or was not the answer that the script gives.
    Script,
    /// The key is on another node of a cluster, which the fleet does not follow.
    Moved,
}

impl LeaveReason {
    /// A stable name, for metric labels, such as `read_only`.
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
            Self::Script => "The store cannot run the fleet's scripts.",
            Self::Moved => "The store is a cluster, and the key is on another of its nodes.",
        }
    }
}

impl fmt::Display for LeaveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A process has left its fleet for one service, or is in it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "the members of a fleet come next")]
pub(crate) enum FleetChange {
    Left(LeaveReason),
    /// It was without the fleet so long, or has waited so long for the first answer.
    Joined {
        away: Duration,
    },
}
