//! One process's half of one shared gate, as the fleet's driver sees it.

use super::{GateAnswer, GateWords};
use crate::gate::{GateKey, Shared};
use crate::policy::Moment;
use std::sync::Weak;
use std::task::Waker;
use std::time::Duration;

/// Where the halves of a gate's keys are driven.
pub(crate) trait GateFleet: Send + Sync {
    /// How long a call waits for the store at most.
    fn wait(&self) -> Duration;

    /// A key is used for the first time: the gate of `name`, a host and port, of which `apart` tells it from the others.
    fn joins(&self, name: &str, apart: Option<&str>, link: GateLink);
}

/// One process's half of a shared gate. It does not keep the gate alive.
#[derive(Clone)]
pub(crate) struct GateLink {
    gate: Weak<Shared>,
    key: GateKey,
}

/// What the driver does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextWords {
    /// Sends these words, and gives the answer to [`GateLink::answered`].
    Command(GateWords),
    /// Asks again at this time, if there is one, or when it is woken.
    Wait(Option<Duration>),
    /// There is no such gate any more.
    Gone,
}

/// What the store tells all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GatePush {
    pub(crate) opening: u64,
    /// How long the gate is closed from now on; zero where it is open again.
    pub(crate) closed: Duration,
}

impl GateLink {
    /// What is to be said now. At most one command is in flight; `waker` is woken when there is something to say.
    pub(crate) fn next(&self, _at: Moment, _waker: &Waker) -> NextWords {
        let _key = self.key;
        match self.gate.upgrade() {
            Some(_) => NextWords::Wait(None),
            None => NextWords::Gone,
        }
    }

    /// Wakes this one from here on when there is something to say.
    pub(crate) fn watch(&self, _waker: &Waker) {}

    /// The store has answered the last words, maybe later than it should have; nothing where it failed. Gives whether the
    /// fleet's gate decides from here on.
    pub(crate) fn answered(&self, _at: Moment, _answer: Option<GateAnswer>) -> bool {
        false
    }

    /// The store has not answered within the time that anybody waits for it: the process's own gate decides.
    pub(crate) fn timed_out(&self, _at: Moment) {}

    /// The store tells everybody of a pause, or that one is over.
    pub(crate) fn told(&self, _at: Moment, _push: GatePush) {}

    /// Whether the store tells this process of pauses; while it does not, the process's own gate decides.
    pub(crate) fn subscribed(&self, _at: Moment, _subscribed: bool) {}
}
