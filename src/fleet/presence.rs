//! Which services of this process are in the fleet: each has a budget there, or gates, or both.

use crate::budget::fleet::FleetChange;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The services, by their names.
#[derive(Default)]
pub(super) struct Presence(Mutex<HashMap<Arc<str>, Service>>);

#[derive(Default)]
struct Service {
    /// How many budgets and gates it has in the fleet, and how many of them have left.
    halves: usize,
    away: usize,
    joined: bool,
    since: Duration,
}

impl Presence {
    /// A budget or a gate of the service is here.
    pub(super) fn enter(&self, service: &str) {
        let mut services = self.lock();
        services.entry(service.into()).or_default().halves += 1;
    }

    /// A budget or a gate is here no longer; `last` is what was said of it last.
    pub(super) fn leave(&self, service: &str, last: Option<FleetChange>) {
        let mut services = self.lock();
        let Some(known) = services.get_mut(service) else {
            return;
        };
        known.halves = known.halves.saturating_sub(1);
        known.away = known.away.saturating_sub(usize::from(is_away(last)));
        if known.halves == 0 {
            services.remove(service);
        }
    }

    /// What is to be told of the service where one of its halves changes: it leaves with the first, and is back with the
    /// last.
    pub(super) fn change(
        &self,
        service: &str,
        (last, change): (Option<FleetChange>, FleetChange),
        now: Duration,
    ) -> Option<FleetChange> {
        let mut services = self.lock();
        let known = services.get_mut(service)?;
        let (was_away, is_away) = (is_away(last), is_away(Some(change)));
        if is_away && !was_away {
            known.away = known.away.saturating_add(1);
        } else if was_away && !is_away {
            known.away = known.away.saturating_sub(1);
        }
        match change {
            FleetChange::Left { .. } => {
                let is_first = known.away == 1 && !was_away;
                if is_first {
                    (known.joined, known.since) = (false, now);
                }
                is_first.then_some(change)
            }
            FleetChange::Joined { away } => {
                let is_last = known.away == 0 && !known.joined;
                known.joined |= is_last;
                let away = match was_away {
                    true => now.saturating_sub(known.since),
                    false => away,
                };
                is_last.then_some(FleetChange::Joined { away })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Service>> {
        // Whoever panicked while it held the lock left numbers that are whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_away(change: Option<FleetChange>) -> bool {
    matches!(change, Some(FleetChange::Left { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::fleet::LeaveReason;

    const LEFT: FleetChange = FleetChange::Left {
        reason: LeaveReason::Timeout,
    };

    fn joined(away: u64) -> FleetChange {
        FleetChange::Joined {
            away: Duration::from_secs(away),
        }
    }

    #[test]
    fn a_service_leaves_with_one_half_and_is_back_with_both() {
        let presence = Presence::default();
        presence.enter("a");
        presence.enter("a");
        let change =
            |last, change, at| presence.change("a", (last, change), Duration::from_secs(at));
        assert_eq!(change(None, joined(1), 1), Some(joined(1)));
        assert_eq!(change(None, joined(2), 2), None);
        assert_eq!(change(Some(joined(1)), LEFT, 3), Some(LEFT));
        assert_eq!(change(Some(joined(2)), LEFT, 4), None);
        assert_eq!(change(Some(LEFT), joined(2), 5), None);
        assert_eq!(change(Some(LEFT), joined(3), 7), Some(joined(4)));
    }

    #[test]
    fn a_half_that_is_dropped_is_away_no_longer() {
        let presence = Presence::default();
        presence.enter("a");
        presence.enter("a");
        let change =
            |last, change, at| presence.change("a", (last, change), Duration::from_secs(at));
        assert_eq!(change(None, LEFT, 1), Some(LEFT));
        assert_eq!(change(None, LEFT, 1), None);
        presence.leave("a", Some(LEFT));
        assert_eq!(change(Some(LEFT), joined(1), 2), Some(joined(1)));
        presence.leave("a", Some(joined(1)));
        assert!(presence.lock().is_empty());
    }
}
