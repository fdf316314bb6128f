//! Tells what happens between this process and its fleet's store.

use super::{Observer, RetryEvent, RetryEventKind};
use crate::budget::fleet::{FleetChange, LeaveReason};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The observers of a fleet: those of every adapter in it, as long as it is there.
#[derive(Default)]
pub(crate) struct FleetRecorder {
    observers: Mutex<Vec<Adapter>>,
}

/// The observers of an adapter, as long as it is there.
type Adapter = Weak<[Arc<dyn Observer>]>;

/// What a command to the store is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Budget,
    Gate,
    /// A subscription to a gate's channel.
    Listen,
}

/// What came of a command.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "metrics"),
    expect(dead_code, reason = "metrics alone read it")
)]
pub(crate) struct Ended {
    pub(crate) step: Step,
    pub(crate) took: Duration,
    /// Nothing where it was answered.
    pub(crate) failed: Option<LeaveReason>,
    /// Nobody waited for the answer any more.
    pub(crate) late: bool,
}

impl FleetRecorder {
    /// From now on these hear too.
    pub(crate) fn listen(&self, observers: &Arc<[Arc<dyn Observer>]>) {
        let mut all = self
            .observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        let new = Arc::downgrade(observers);
        if !all.iter().any(|known| known.ptr_eq(&new)) {
            all.push(new);
        }
    }

    /// A service's budget or gate has left the fleet or is in it again.
    pub(crate) fn changed(&self, service: &str, at: Duration, change: FleetChange) {
        log(service, change);
        measure(service, change);
        let kind = match change {
            FleetChange::Left { reason } => RetryEventKind::FleetLeft { reason },
            FleetChange::Joined { away } => RetryEventKind::FleetJoined { away },
        };
        let event = RetryEvent {
            service,
            method: None,
            at,
            kind,
        };
        for observer in self.listening() {
            observer.on_event(&event);
        }
    }

    /// Each once, however many adapters share it.
    fn listening(&self) -> Vec<Arc<dyn Observer>> {
        let all = self
            .observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut listening: Vec<Arc<dyn Observer>> = Vec::new();
        for observer in all
            .iter()
            .filter_map(Weak::upgrade)
            .flat_map(|all| all.to_vec())
        {
            if !listening.iter().any(|known| Arc::ptr_eq(known, &observer)) {
                listening.push(observer);
            }
        }
        listening
    }
}

impl Step {
    #[cfg_attr(
        not(feature = "metrics"),
        expect(dead_code, reason = "metrics alone name it")
    )]
    fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Gate => "gate",
            Self::Listen => "listen",
        }
    }
}

impl Ended {
    /// Counts the command and measures its time.
    #[cfg(feature = "metrics")]
    pub(crate) fn measure(self) {
        let step = self.step.as_str();
        let result = match self.failed {
            Some(reason) => reason.as_str(),
            None if self.late => "late",
            None => "ok",
        };
        metrics::counter!("http_retry_fleet_commands_total", "step" => step, "result" => result)
            .increment(1);
        metrics::histogram!("http_retry_fleet_seconds", "step" => step).record(self.took);
    }

    #[cfg(not(feature = "metrics"))]
    pub(crate) fn measure(self) {}
}

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
