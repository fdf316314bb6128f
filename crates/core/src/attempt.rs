//! The attempt under way, for layers below a retry layer that send requests of their own.
//!
//! A retry layer judges an attempt by its outcome, which belongs to one request. A layer below may send several: an
//! audit record after an order, or a second copy of a request that is slow. If the last one is refused, the attempt
//! looks as if nothing had been processed, and all of it is repeated, the order too. So such a layer calls [`sent`]
//! before every request but the first, or stands outside of the retry layer.
//!
//! ```
//! use http_retry_core::attempt;
//! # async fn send(_: &str) -> Result<(), std::io::Error> { Ok(()) }
//!
//! /// Sends an order, and then the record of it.
//! async fn order_and_record() -> Result<(), std::io::Error> {
//!     send("order").await?;
//!     // From here on the order may have been processed, whatever becomes of the record.
//!     attempt::sent();
//!     send("record").await
//! }
//! ```
//!
//! An attempt may have done whatever any of its requests may have done: after `sent`, no outcome of the attempt counts
//! as [`Reach::Unsent`](crate::Reach::Unsent) or [`Reach::Refused`](crate::Reach::Refused), so only a request
//! that is idempotent is repeated. A call too many loses such a retry, and a call too few may send a request twice.
//!
//! The retry layers of this project report themselves: one further in, when it repeats a request that may have been
//! processed, and a download, when it requests its rest.
//!
//! A layer that sends copies of the request itself [asks](crate::hedging::ask_attempt) the attempt for its terms: who
//! pays, which gate they pass, and what may be sent twice.

pub(crate) mod copies;
pub(crate) mod mark;
pub(crate) mod terms;

use crate::exchange::engine::Engine;
use crate::exchange::gates::joined_gate_key;
use crate::exchange::head::Head;
use crate::exchange::settings::RequestSettings;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use terms::AttemptTerms;

/// Records that the attempt under way sends another request than the one before.
///
/// Call it in the task that polls the attempt: in `Service::call` or `Middleware::handle`, in the future that these
/// return, or in a middleware of ureq. In another task use the [`AttemptHandle`] of the request. Outside of an attempt
/// it does nothing.
pub fn sent() {
    mark::sent();
}

/// A handle to the attempt that sends a request, in the extensions of that request, for a layer in another task.
///
/// A repeated request has one. The request of a first attempt has none, unless the retry layer works `across_tasks`. A
/// layer in the same task can [ask](crate::hedging::ask_attempt) for one.
///
/// ```
/// use http_retry_core::attempt::AttemptHandle;
///
/// fn send_another<B>(request: &http::Request<B>) {
///     if let Some(attempt) = request.extensions().get::<AttemptHandle>() {
///         attempt.sent();
///     }
///     // ..
/// }
/// # send_another(&http::Request::new(()));
/// ```
#[derive(Debug, Clone)]
pub struct AttemptHandle(Arc<AttemptTerms>);

impl AttemptHandle {
    pub(crate) fn with_terms(terms: AttemptTerms) -> Self {
        Self(Arc::new(terms))
    }

    /// Returns a handle for a request without a retry layer around it, with the terms of a layer that has these settings
    /// itself: the only attempt of a call that nobody observes.
    #[must_use]
    pub fn alone(engine: Arc<Engine>, settings: &mut RequestSettings, head: &impl Head) -> Self {
        let route = settings.route(&engine, Some(head));
        let authority = head.authority().unwrap_or_default();
        Self::with_terms(AttemptTerms {
            gate_key: joined_gate_key(&engine, &route, &authority, head),
            overrides: settings.get().cloned(),
            ..AttemptTerms::new(engine, route)
        })
    }

    /// Records that the attempt sends another request than the one before, as [`sent`] does.
    pub fn sent(&self) {
        // Relaxed order is enough: whatever brings the outcome to the layer above orders this before it.
        self.0.sent.store(true, Ordering::Relaxed);
    }

    /// Records that the attempt sends a copy of its request besides the first, also as [`sent`](Self::sent) does. Call
    /// it right before each. The attempt's report has their number.
    pub(crate) fn copy_sent(&self) {
        self.sent();
        self.0.copies.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns `true` if [`sent`](Self::sent) was called.
    #[must_use]
    pub(crate) fn has_sent(&self) -> bool {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of copies that were sent besides the first request.
    #[must_use]
    pub(crate) fn copies(&self) -> u32 {
        self.0.copies.load(Ordering::Relaxed)
    }

    /// Returns the terms of the attempt.
    #[must_use]
    pub fn terms(&self) -> &AttemptTerms {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Moment, RetryPolicy};
    use crate::route::Route;
    use crate::runtime::{Runtime, Sleep};
    use std::time::Duration;

    /// A clock that stands still.
    struct Frozen;

    impl Runtime for Frozen {
        fn now(&self) -> Duration {
            Duration::ZERO
        }

        fn moment(&self) -> Moment {
            Moment::default()
        }

        fn sleep(&self, _: Duration) -> Sleep {
            Box::pin(std::future::ready(()))
        }
    }

    pub(super) fn handle() -> AttemptHandle {
        let policy = RetryPolicy::never();
        let engine = Engine::new(policy.clone(), Arc::new(Frozen));
        let route = Arc::new(Route::new(policy));
        AttemptHandle::with_terms(AttemptTerms::new(Arc::new(engine), route))
    }

    #[test]
    fn a_handle_is_of_one_attempt() {
        let (attempt, other) = (handle(), handle());
        attempt.clone().sent();
        assert!(attempt.has_sent() && !other.has_sent());
    }
}
