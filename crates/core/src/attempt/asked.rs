//! Questions of layers below to the attempt under way, and what they are told.

use super::{AttemptHandle, mark};
use crate::exchange::engine::Engine;
use crate::gate::GateKey;
use crate::policy::RetryOverride;
use crate::route::Route;
use std::sync::{Arc, OnceLock};

/// Asks the attempt under way for a handle to it, or returns `None` outside of an attempt.
///
/// Call it where [`sent`](crate::attempt::sent) may be called. The innermost attempt replies once the poll, or the
/// call, in which it was asked returns: the retry layer is at work until then. A layer that stands aside inside of
/// another one, or whose request has its retries off, leaves the reply to the one around it.
///
/// ```
/// use http_retry_core::hedging::ask_attempt;
///
/// assert!(ask_attempt().is_none(), "no retry layer is at work here");
/// ```
#[must_use]
pub fn ask_attempt() -> Option<AskedAttempt> {
    mark::ask()
}

/// A question to the attempt under way, as [`ask_attempt`] puts it.
#[derive(Debug, Clone, Default)]
pub struct AskedAttempt(Arc<OnceLock<AttemptHandle>>);

impl AskedAttempt {
    /// Returns the handle to the attempt, or `None` until it has replied.
    #[must_use]
    pub fn handle(&self) -> Option<&AttemptHandle> {
        self.0.get()
    }

    /// Replies. Only the first reply counts.
    pub(crate) fn reply(&self, handle: AttemptHandle) {
        let _ = self.0.set(handle);
    }
}

/// A question that the handle answers at once.
impl From<AttemptHandle> for AskedAttempt {
    fn from(handle: AttemptHandle) -> Self {
        let asked = Self::default();
        asked.reply(handle);
        asked
    }
}

/// The terms of an attempt, for a layer below that sends copies of its request.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a layer that stands alone makes its own"
)]
pub struct AttemptTerms {
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
