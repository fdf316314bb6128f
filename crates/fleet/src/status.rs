//! The presence of a process in its fleet: each service has a budget there, or gates, or both.

use super::sync::lock;
use http_retry_core::report::LeaveReason;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The status of a fleet as one of its processes knows it, over all services whose budget or gate this process has
/// used.
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
    /// `true` if every service that was used is shared. `false` while none was used, or before the first reply of the
    /// store.
    pub joined: bool,
    /// The number of processes that reported in the last 10 to 20 s, including this one, of the service that has the
    /// most. 0 before the first reply to a budget. While this process is on its own, the last known number.
    pub processes: u64,
    /// The reason for which a service is not shared, if there is one; of several services, that of the one that left
    /// last. `None` before the first reply or failure.
    pub reason: Option<LeaveReason>,
    /// The time when a service last joined or left, on the clock of
    /// [`Runtime::now`](http_retry_core::runtime::Runtime::now); zero before the first change.
    pub since: Duration,
}

/// A change of a budget or gate: it leaves its fleet, or joins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FleetChange {
    /// From now on the process decides alone.
    Left { reason: LeaveReason },
    /// From now on it decides with the fleet.
    Joined {
        /// The time without the fleet; at first, the time until the first reply.
        away: Duration,
    },
}

/// The status of one budget or gate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PeerStatus {
    /// The last change; `since` is its time.
    pub(super) last: Option<FleetChange>,
    pub(super) since: Duration,
    processes: u64,
}

impl PeerStatus {
    pub(super) fn record(
        &mut self,
        change: Option<FleetChange>,
        processes: Option<i64>,
        now: Duration,
    ) {
        if change.is_some() {
            (self.last, self.since) = (change, now);
        }
        // Without a number the last known one stays.
        let processes = processes.and_then(|processes| u64::try_from(processes).ok());
        self.processes = processes.unwrap_or(self.processes);
    }

    pub(super) fn is_joined(&self) -> bool {
        matches!(self.last, Some(FleetChange::Joined { .. }))
    }

    pub(super) fn has_left(&self) -> bool {
        is_away(self.last)
    }

    fn reason(&self) -> Option<LeaveReason> {
        match self.last {
            Some(FleetChange::Left { reason }) => Some(reason),
            _ => None,
        }
    }
}

impl FleetStatus {
    pub(super) fn of(peers: &[PeerStatus]) -> Self {
        let latest = peers.iter().max_by_key(|peer| peer.since);
        let away = peers.iter().filter(|peer| !peer.is_joined());
        let last = away.clone().max_by_key(|peer| peer.since);
        let most = peers.iter().map(|peer| peer.processes).max();
        Self {
            joined: !peers.is_empty() && away.count() == 0,
            processes: most.unwrap_or_default(),
            reason: last.and_then(PeerStatus::reason),
            since: latest.map(|peer| peer.since).unwrap_or_default(),
        }
    }
}

/// The services of a process, by their names.
#[derive(Default)]
pub(super) struct Presence(Mutex<HashMap<Arc<str>, ServiceStatus>>);

#[derive(Default)]
struct ServiceStatus {
    /// The number of its budgets and gates in the fleet; `away` counts those that have left.
    peers: usize,
    away: usize,
    joined: bool,
    since: Duration,
}

impl Presence {
    /// Adds a budget or a gate of the service.
    pub(super) fn enter(&self, service: &str) {
        let mut services = lock(&self.0);
        services.entry(service.into()).or_default().peers += 1;
    }

    /// Removes a budget or a gate; `last` is its last change.
    pub(super) fn leave(&self, service: &str, last: Option<FleetChange>) {
        let mut services = lock(&self.0);
        let Some(known) = services.get_mut(service) else {
            return;
        };
        known.peers = known.peers.saturating_sub(1);
        known.away = known.away.saturating_sub(usize::from(is_away(last)));
        if known.peers == 0 {
            services.remove(service);
        }
    }

    /// Returns the change of the service when one of its budgets or gates changes: the service leaves with the first of
    /// them, and returns with the last. `last` is the previous change.
    pub(super) fn change(
        &self,
        service: &str,
        last: Option<FleetChange>,
        change: FleetChange,
        now: Duration,
    ) -> Option<FleetChange> {
        let mut services = lock(&self.0);
        let known = services.get_mut(service)?;
        let (was_away, is_away) = (is_away(last), is_away(Some(change)));
        if is_away && !was_away {
            known.away = known.away.saturating_add(1);
        } else if was_away && !is_away {
            known.away = known.away.saturating_sub(1);
        }
        match change {
            FleetChange::Left { .. } => {
                // The service has left with its first peer; more of them change nothing.
                let is_first = known.away == 1 && !was_away;
                if is_first {
                    (known.joined, known.since) = (false, now);
                }
                is_first.then_some(change)
            }
            FleetChange::Joined { away } => {
                let is_last = known.away == 0 && !known.joined;
                known.joined |= is_last;
                // A service that returns was away since its first peer left, which need not be this one.
                let away = if was_away {
                    now.saturating_sub(known.since)
                } else {
                    away
                };
                is_last.then_some(FleetChange::Joined { away })
            }
        }
    }
}

fn is_away(change: Option<FleetChange>) -> bool {
    matches!(change, Some(FleetChange::Left { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn peer(change: FleetChange, processes: i64, now: Duration) -> PeerStatus {
        let mut peer = PeerStatus::default();
        peer.record(Some(change), Some(processes), now);
        peer
    }

    #[test]
    fn a_fleet_is_joined_if_every_service_is() {
        let joined = FleetChange::Joined { away: SECOND };
        let left = FleetChange::Left {
            reason: LeaveReason::Timeout,
        };
        assert_eq!(FleetStatus::of(&[]), FleetStatus::default());
        let both = [peer(joined, 3, SECOND), peer(joined, 7, 2 * SECOND)];
        let expected = FleetStatus {
            joined: true,
            processes: 7,
            reason: None,
            since: 2 * SECOND,
        };
        assert_eq!(FleetStatus::of(&both), expected);
        let one = [both[0], peer(left, 7, 3 * SECOND)];
        let expected = FleetStatus {
            joined: false,
            reason: Some(LeaveReason::Timeout),
            since: 3 * SECOND,
            ..expected
        };
        assert_eq!(FleetStatus::of(&one), expected);
        let without_reply = [both[0], PeerStatus::default()];
        assert!(!FleetStatus::of(&without_reply).joined);
    }

    const LEFT: FleetChange = FleetChange::Left {
        reason: LeaveReason::Timeout,
    };

    fn joined(away: u64) -> FleetChange {
        FleetChange::Joined {
            away: Duration::from_secs(away),
        }
    }

    #[test]
    fn a_service_leaves_with_one_peer_and_returns_with_all() {
        let presence = Presence::default();
        presence.enter("a");
        presence.enter("a");
        let change = |last, change, at| presence.change("a", last, change, Duration::from_secs(at));
        assert_eq!(change(None, joined(1), 1), Some(joined(1)));
        assert_eq!(change(None, joined(2), 2), None);
        assert_eq!(change(Some(joined(1)), LEFT, 3), Some(LEFT));
        assert_eq!(change(Some(joined(2)), LEFT, 4), None);
        assert_eq!(change(Some(LEFT), joined(2), 5), None);
        assert_eq!(change(Some(LEFT), joined(3), 7), Some(joined(4)));
    }

    #[test]
    fn a_dropped_peer_no_longer_counts_as_away() {
        let presence = Presence::default();
        presence.enter("a");
        presence.enter("a");
        let change = |last, change, at| presence.change("a", last, change, Duration::from_secs(at));
        assert_eq!(change(None, LEFT, 1), Some(LEFT));
        assert_eq!(change(None, LEFT, 1), None);
        presence.leave("a", Some(LEFT));
        assert_eq!(change(Some(LEFT), joined(1), 2), Some(joined(1)));
        presence.leave("a", Some(joined(1)));
        assert!(lock(&presence.0).is_empty());
    }
}
