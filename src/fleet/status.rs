//! Whether a process is in its fleet.

use crate::budget::fleet::{FleetChange, LeaveReason};
use std::time::Duration;

/// How a fleet stands, as one of its processes sees it: over all services whose budget or gate this process has used.
///
/// ```
/// use http_retry::fleet::Fleet;
///
/// let status = Fleet::redis("redis://cache:6379")?.status();
/// match status.reason {
///     None if status.joined => println!("shared by {} processes", status.processes),
///     None => println!("not heard of the store yet"),
///     Some(reason) => println!("on its own: {}", reason.explain()),
/// }
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// Every service that was used is shared. False as long as none was, or the store has not answered yet.
    pub joined: bool,
    /// How many processes the store has heard of in the last 10 to 20 s, of the service that has the most; this one counts.
    /// 0 before the first answer of a budget. While this process is on its own, the number that it heard last.
    pub processes: u64,
    /// Why a service is not shared, if one is not; of several, the one that has left last. `None` before the first answer or failure.
    pub reason: Option<LeaveReason>,
    /// When a service was joined or left last, on the clock of [`Runtime::now`](crate::runtime::Runtime::now); zero before
    /// the first change.
    pub since: Duration,
}

/// How one service stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standing {
    last: Option<FleetChange>,
    since: Duration,
    processes: u64,
}

impl Standing {
    pub(super) fn hear(
        &mut self,
        change: Option<FleetChange>,
        processes: Option<i64>,
        now: Duration,
    ) {
        if change.is_some() {
            (self.last, self.since) = (change, now);
        }
        let processes = processes.and_then(|processes| u64::try_from(processes).ok());
        self.processes = processes.unwrap_or(self.processes);
    }

    /// What has happened to it last, and when.
    pub(super) fn last(&self) -> (Option<FleetChange>, Duration) {
        (self.last, self.since)
    }

    fn is_joined(&self) -> bool {
        matches!(self.last, Some(FleetChange::Joined { .. }))
    }

    fn reason(&self) -> Option<LeaveReason> {
        match self.last {
            Some(FleetChange::Left { reason }) => Some(reason),
            _ => None,
        }
    }
}

impl FleetStatus {
    pub(super) fn of(standings: &[Standing]) -> Self {
        let latest = standings.iter().max_by_key(|standing| standing.since);
        let away = standings.iter().filter(|standing| !standing.is_joined());
        let last = away.clone().max_by_key(|standing| standing.since);
        let most = standings.iter().map(|standing| standing.processes).max();
        Self {
            joined: !standings.is_empty() && away.count() == 0,
            processes: most.unwrap_or_default(),
            reason: last.and_then(Standing::reason),
            since: latest.map(|standing| standing.since).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn standing(change: FleetChange, processes: i64, now: Duration) -> Standing {
        let mut standing = Standing::default();
        standing.hear(Some(change), Some(processes), now);
        standing
    }

    #[test]
    fn a_fleet_is_joined_where_every_service_is() {
        let joined = FleetChange::Joined { away: SECOND };
        let left = FleetChange::Left {
            reason: LeaveReason::Timeout,
        };
        assert_eq!(FleetStatus::of(&[]), FleetStatus::default());
        let both = [standing(joined, 3, SECOND), standing(joined, 7, 2 * SECOND)];
        let expected = FleetStatus {
            joined: true,
            processes: 7,
            reason: None,
            since: 2 * SECOND,
        };
        assert_eq!(FleetStatus::of(&both), expected);
        let one = [both[0], standing(left, 7, 3 * SECOND)];
        let expected = FleetStatus {
            joined: false,
            reason: Some(LeaveReason::Timeout),
            since: 3 * SECOND,
            ..expected
        };
        assert_eq!(FleetStatus::of(&one), expected);
        let unheard = [both[0], Standing::default()];
        assert!(!FleetStatus::of(&unheard).joined);
    }
}
