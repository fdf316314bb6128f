//! The terms of one request's hedges: who pays, which gates they pass, what may be sent twice, and who is told.

use crate::latencies::Window;
use crate::layer::HedgeLayer;
use http::request::Parts;
use http_retry_core::adapter::RequestSettings;
use http_retry_core::attempt::AttemptHandle;
use http_retry_core::hedging::{AttemptTerms, CopyJudge, PaidCopy};
use http_retry_core::policy::{Hedge, HedgeAfter};
use http_retry_core::runtime::{Runtime, Sleep};
use http_retry_core::settings::PolicyExt;
use std::sync::Arc;
use std::time::Duration;

/// The terms of one request's hedges.
pub(crate) struct Terms {
    pub(crate) judge: Arc<CopyJudge>,
    runtime: Arc<dyn Runtime>,
    hedge: Hedge,
    may_hedge: bool,
    /// `None` for a fixed delay, which needs none.
    latencies: Option<Arc<Window>>,
}

impl Terms {
    /// Returns the terms of a request with this head. `may_follow` is `true` if the client follows redirects itself.
    pub(crate) fn new(
        attempt: &AttemptHandle,
        (settings, head): (&RequestSettings, &Parts),
        layer: &HedgeLayer,
        may_follow: bool,
    ) -> Self {
        let judge = CopyJudge::new(attempt, settings, &head);
        let AttemptTerms { engine, route, .. } = attempt.terms();
        let hedge = route.policy().hedging().unwrap_or(layer.hedge);
        let needs_latencies = matches!(hedge.after, HedgeAfter::Percentile(_));
        Self {
            may_hedge: judge.may_copy(may_follow),
            latencies: needs_latencies
                .then(|| layer.latencies.of(judge.service()))
                .flatten(),
            judge: Arc::new(judge),
            runtime: Arc::clone(&engine.runtime),
            hedge,
        }
    }

    /// Returns a sleep until this time.
    pub(crate) fn sleep_until(&self, due: Duration) -> Sleep {
        self.runtime.sleep(due.saturating_sub(self.now()))
    }

    pub(crate) fn now(&self) -> Duration {
        self.runtime.now()
    }

    /// Returns the number of hedges and the wait before each, if the request may be hedged.
    pub(crate) fn hedges(&self) -> Option<(u32, Duration)> {
        let wait = match (self.hedge.after, &self.latencies) {
            (HedgeAfter::Delay(delay), _) => Some(delay),
            (HedgeAfter::Percentile(percent), Some(latencies)) => {
                latencies.percentile(percent, self.hedge.min_samples)
            }
            _ => None,
        };
        let wait = wait.filter(|_| self.may_hedge)?;
        Some((self.hedge.max, wait))
    }

    /// Returns the time since then.
    pub(crate) fn since(&self, then: Duration) -> Duration {
        self.now().saturating_sub(then)
    }

    /// Counts the latency of a copy; `None` for a slow one without a response.
    pub(crate) fn record(&self, latency: Option<Duration>) {
        if let Some(latencies) = &self.latencies {
            latencies.record(latency, self.now(), self.hedge.min_samples);
        }
    }

    /// Pays for the copy with this number. Returns `None` if a gate is not open, or if the budget has too few tokens.
    pub(crate) fn pay(&self, copy: u32) -> Option<PaidCopy> {
        self.judge.pay(copy, self.hedge.cost)
    }
}
