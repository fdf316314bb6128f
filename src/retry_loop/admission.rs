//! The right to send one attempt, in the hands of whoever sends it.

use crate::engine::Engine;
use crate::gate::{End, Place, Quota};
use std::ops::Deref;
use std::sync::Arc;

/// The right to send one attempt; dropped, it tells the gate that the attempt is over.
pub(crate) struct Admission<E: Deref<Target = Engine> = Arc<Engine>> {
    pub(crate) engine: E,
    /// Nothing where there is no gate, or none that has a place, and once the gate has heard of the attempt.
    place: Option<Place>,
}

impl<E: Deref<Target = Engine>> Admission<E> {
    #[inline]
    pub(crate) fn new(engine: E, place: Option<Place>) -> Self {
        Self { engine, place }
    }

    /// Whether the gate listens to what a success says of a quota.
    #[cfg(any(feature = "tower", feature = "reqwest"))]
    #[inline]
    pub(crate) fn hears_quotas(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.hears_quotas)
    }

    /// The attempt has succeeded, and its answer says nothing of a quota.
    #[cfg(any(feature = "tower", feature = "reqwest"))]
    #[inline(always)]
    pub(crate) fn succeeds(&mut self) {
        if let Some(place) = &self.place {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.succeeds(place, &**runtime);
            self.place = None;
        }
    }

    /// The attempt has come to its end.
    #[inline(always)]
    pub(crate) fn ends(&mut self, end: End, quota: Option<Quota>) {
        if let Some(place) = &self.place {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.end(place, end, quota, &**runtime);
            self.place = None;
        }
    }

    /// The same right in the hands of the loop; nothing where no gate is to hear of the attempt.
    #[cfg(any(feature = "tower", feature = "reqwest"))]
    pub(crate) fn held_by(&mut self, engine: Arc<Engine>) -> Option<Admission> {
        let place = self.place.take()?;
        Some(Admission::new(engine, Some(place)))
    }
}

impl<E: Deref<Target = Engine>> Drop for Admission<E> {
    fn drop(&mut self) {
        self.ends(End::Other, None);
    }
}
