//! The right to send one call, and what the gate hears of it.

use super::map::Place;
use super::quota::Quota;
use super::room::{End, Heard};
use super::{Gate, micros};
use crate::runtime::Runtime;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The right to send one call; dropped, it tells the gate that the call is over.
pub(crate) struct Admission {
    gate: Gate,
    runtime: Arc<dyn Runtime>,
    /// Nothing for a call that the gate has no place for, and once the gate has heard of the call.
    place: Option<Place>,
    at_once: bool,
}

impl Admission {
    /// For a call that may go, or has gone.
    pub(crate) fn new(
        gate: &Gate,
        runtime: &Arc<dyn Runtime>,
        place: Option<Place>,
        quotas_at_once: bool,
    ) -> Self {
        Self {
            gate: gate.clone(),
            runtime: Arc::clone(runtime),
            place,
            at_once: quotas_at_once,
        }
    }

    /// The call was refused and asked to wait so long, if it was told.
    pub(crate) fn refused(mut self, asked: Option<Duration>, quota: Option<Quota>) {
        self.tell(End::Refused(asked.map(micros)), quota);
    }

    /// The call has succeeded.
    pub(crate) fn succeeded(mut self, quota: Option<Quota>) {
        self.tell(End::Succeeded, quota);
    }

    /// The call was answered in another way.
    pub(crate) fn answered(mut self, quota: Option<Quota>) {
        self.tell(End::Other, quota);
    }

    fn tell(&mut self, end: End, quota: Option<Quota>) {
        if let Some(place) = self.place.take() {
            let heard = Heard::new(end, quota, self.at_once);
            self.gate.hear(place, heard, || self.runtime.moment());
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.gate.dropped(place, || self.runtime.moment());
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}
