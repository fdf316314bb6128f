//! Without the feature `redis` no gate is shared, and there is nobody to tell of anything.

use super::{Gate, GateKey};
use crate::runtime::Runtime;
use std::convert::Infallible;
use std::task::Waker;
use std::time::Duration;

pub(super) type JoinedFleet = Infallible;

/// What a process remembers of a gate that it shares.
#[derive(Debug)]
pub(super) enum Member {}

impl Member {
    pub(super) fn is_idle(&self) -> bool {
        match *self {}
    }

    pub(super) fn refused(&mut self, _: Option<u64>, _: bool) {
        match *self {}
    }

    pub(super) fn disagrees(&mut self) {
        match *self {}
    }

    pub(super) fn succeeded(&mut self, _: u64, _: bool) {
        match *self {}
    }

    pub(super) fn calls_driver(&mut self) -> Option<Waker> {
        match *self {}
    }
}

impl Gate {
    pub(crate) fn joins_fleet(
        &self,
        _: GateKey,
        _: &str,
        _: &dyn Runtime,
        _: Duration,
        _: impl FnOnce() -> Option<String>,
    ) {
    }

    pub(super) fn makes_place(&self, _: GateKey, _: Duration) {}

    pub(crate) fn alone(&self, key: GateKey, _: Duration) -> GateKey {
        key
    }
}
