//! The observers, logs and metrics of a fleet.

use super::status::FleetChange;
use http_retry_core::report::{LeaveReason, Observer, RetryEvent};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The observers of a fleet: those of every adapter in it, for as long as the adapter exists.
#[derive(Default)]
pub(super) struct FleetObservers(Mutex<Vec<AdapterObservers>>);

type AdapterObservers = Weak<[Arc<dyn Observer>]>;

impl FleetObservers {
    pub(super) fn add(&self, observers: &Arc<[Arc<dyn Observer>]>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        let new = Arc::downgrade(observers);
        if !all.iter().any(|known| known.ptr_eq(&new)) {
            all.push(new);
        }
    }

    /// Reports that a service's budget or gate has left the fleet, or has joined it.
    pub(super) fn changed(&self, service: &str, at: Duration, change: FleetChange) {
        log(service, change);
        measure(service, change);
        let event = match change {
            FleetChange::Left { reason } => RetryEvent::fleet_left(service, at, reason),
            FleetChange::Joined { away } => RetryEvent::fleet_joined(service, at, away),
        };
        // The list is a copy, so that observers are called without the lock.
        for observer in self.distinct() {
            observer.on_event(&event);
        }
    }

    /// Returns each observer once, however many adapters share it.
    fn distinct(&self) -> Vec<Arc<dyn Observer>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        // Released first: the last handle of an observer may be dropped here.
        drop(all);
        let mut distinct: Vec<Arc<dyn Observer>> = Vec::new();
        for observer in held.iter().flat_map(|all| all.to_vec()) {
            if !distinct.iter().any(|known| Arc::ptr_eq(known, &observer)) {
                distinct.push(observer);
            }
        }
        distinct
    }
}

/// Counts a command that has ended, under the label of its step, and measures its time. `failed` is `None` if the store
/// replied; `late` if that was after the time limit.
#[cfg(feature = "metrics")]
pub(super) fn measure_command(
    step: &'static str,
    took: Duration,
    failed: Option<LeaveReason>,
    late: bool,
) {
    let result = match failed {
        Some(reason) => reason.as_str(),
        None if late => "late",
        None => "ok",
    };
    metrics::counter!("http_retry_fleet_commands_total", "step" => step, "result" => result)
        .increment(1);
    metrics::histogram!("http_retry_fleet_seconds", "step" => step).record(took);
}

#[cfg(not(feature = "metrics"))]
pub(super) fn measure_command(_: &'static str, _: Duration, _: Option<LeaveReason>, _: bool) {}

#[cfg(feature = "metrics")]
fn measure(service: &str, change: FleetChange) {
    let joined = match change {
        FleetChange::Joined { .. } => 1.0,
        FleetChange::Left { .. } => 0.0,
    };
    metrics::gauge!("http_retry_fleet_joined", "service" => service.to_owned()).set(joined);
}

#[cfg(not(feature = "metrics"))]
fn measure(_: &str, _: FleetChange) {}

#[cfg(feature = "tracing")]
fn log(service: &str, change: FleetChange) {
    match change {
        FleetChange::Left { reason } => tracing::event!(
            target: "http_retry",
            tracing::Level::WARN,
            service,
            reason = reason.as_str(),
            "goes on without its fleet"
        ),
        FleetChange::Joined { away } => tracing::event!(
            target: "http_retry",
            tracing::Level::INFO,
            service,
            away_ms = u64::try_from(away.as_millis()).unwrap_or(u64::MAX),
            "is in its fleet"
        ),
    }
}

#[cfg(not(feature = "tracing"))]
fn log(_: &str, _: FleetChange) {}
