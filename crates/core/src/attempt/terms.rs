//! The facts of an attempt that layers below share with it.

use crate::exchange::engine::Engine;
use crate::gate::GateKey;
use crate::policy::RetryOverride;
use crate::route::Route;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

/// The terms of an attempt, for a layer below that sends copies of its request.
#[derive(Debug)]
pub struct AttemptTerms {
    /// `true` once the attempt has sent another request.
    pub(crate) sent: AtomicBool,
    /// The copies of the request that were sent besides the first.
    pub(crate) copies: AtomicU32,
    /// The settings that the attempt's layer shares: its budgets, gate, clock and observers.
    pub engine: Arc<Engine>,
    /// The route of the request, with its policy.
    pub route: Arc<Route>,
    /// The request's own settings, as far as the route allows them.
    pub overrides: Option<RetryOverride>,
    /// The gate that the attempt has passed; `None` without one.
    pub gate_key: Option<GateKey>,
    /// The number of the call in events, if anybody observes it.
    pub call: Option<u64>,
    /// The number of the attempt in its call; the first is 1.
    pub number: u32,
    /// `true` if no retry layer counts the success of the request in its budget.
    pub is_alone: bool,
}

impl AttemptTerms {
    /// Returns the terms of the only attempt of a call without a retry layer, a gate and settings of its own, which nobody
    /// observes.
    pub(crate) fn new(engine: Arc<Engine>, route: Arc<Route>) -> Self {
        Self {
            sent: AtomicBool::new(false),
            copies: AtomicU32::new(0),
            engine,
            route,
            overrides: None,
            gate_key: None,
            call: None,
            number: 1,
            is_alone: true,
        }
    }
}
