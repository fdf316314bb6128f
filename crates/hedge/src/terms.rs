//! The terms of one request's hedges: who pays, which gates they pass, what may be sent twice, and who is told.

use crate::latencies::Window;
use crate::layer::HedgeLayer;
use http::request::Parts;
use http_retry_core::RetryBudget;
use http_retry_core::adapter::{
    BudgetExt, CopyJudge, CopyRefusal, HedgeRecorder, HeldGates, PolicyExt, RequestSettings,
    TakenTokens,
};
use http_retry_core::attempt::AttemptHandle;
use http_retry_core::policy::{Hedge, HedgeAfter};
use http_retry_core::runtime::{Runtime, Sleep};
use std::sync::Arc;
use std::time::Duration;

/// The terms of one request's hedges.
pub(crate) struct Terms {
    pub(crate) judge: CopyJudge,
    runtime: Arc<dyn Runtime>,
    attempt: AttemptHandle,
    /// `true` if no retry layer counts a success.
    is_alone: bool,
    recorder: HedgeRecorder,
    budget: RetryBudget,
    hedge: Hedge,
    may_hedge: bool,
    /// `None` for a fixed delay, which needs none.
    latencies: Option<Arc<Window>>,
    /// The time at which the first copy was sent.
    pub(crate) started: Duration,
}

impl Terms {
    /// Returns the terms of a request with this head, or `None` if its attempt has none. `may_follow` is `true` if the
    /// client follows redirects itself.
    pub(crate) fn new(
        attempt: &AttemptHandle,
        (settings, head): (&RequestSettings, &Parts),
        layer: &HedgeLayer,
        may_follow: bool,
    ) -> Option<Self> {
        let terms = attempt.terms()?;
        let (engine, route) = (&terms.engine, &terms.route);
        let hedge = route.policy().hedging().unwrap_or(layer.hedge);
        let needs_latencies = matches!(hedge.delay(), HedgeAfter::Percentile(_));
        let judge = CopyJudge::new(terms, &head);
        let subject = settings.subject(route, Some(&head));
        let observers = Arc::clone(&engine.observers);
        Some(Self {
            may_hedge: judge.may_copy(may_follow),
            budget: engine.budget_of(route, || Arc::clone(&subject.service)),
            latencies: needs_latencies
                .then(|| layer.latencies.of(&subject.service))
                .flatten(),
            recorder: HedgeRecorder::new(subject, observers, (terms.call, terms.number)),
            attempt: attempt.clone(),
            is_alone: terms.is_alone,
            runtime: Arc::clone(&engine.runtime),
            started: engine.runtime.now(),
            hedge,
            judge,
        })
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
        let wait = match (self.hedge.delay(), &self.latencies) {
            (HedgeAfter::Delay(delay), _) => Some(delay),
            (HedgeAfter::Percentile(percent), Some(latencies)) => {
                latencies.percentile(percent, self.hedge.least_samples())
            }
            _ => None,
        };
        let wait = wait.filter(|_| self.may_hedge)?;
        Some((self.hedge.max_copies(), wait))
    }

    /// Returns the time since then.
    pub(crate) fn since(&self, then: Duration) -> Duration {
        self.now().saturating_sub(then)
    }

    /// Counts the latency of a copy; `None` for a slow one without a response.
    pub(crate) fn record(&self, latency: Option<Duration>) {
        if let Some(latencies) = &self.latencies {
            latencies.record(latency, self.now(), self.hedge.least_samples());
        }
    }

    /// Passes the gates for the copy with this number, and pays for it. Returns `None` if a gate is not open, or if the
    /// budget has too few tokens.
    pub(crate) fn pay(self: &Arc<Self>, copy: u32) -> Option<Ticket> {
        let gates = self.judge.enter_gates()?;
        Some(Ticket {
            tokens: Some(self.budget.take(self.hedge.tokens(), self.now())?),
            terms: Arc::clone(self),
            copy,
            gates,
            sent: None,
        })
    }

    /// Counts a success that no retry layer counts.
    pub(crate) fn deposit(&self) {
        if self.is_alone {
            self.budget.deposit(self.now());
        }
    }
}

/// A hedge that is paid for, with its places at the gates. If dropped unsent, its tokens go back to the budget.
pub(crate) struct Ticket {
    terms: Arc<Terms>,
    copy: u32,
    /// `None` once they are spent.
    tokens: Option<TakenTokens>,
    gates: HeldGates,
    /// The time at which it was sent.
    pub(crate) sent: Option<Duration>,
}

impl Ticket {
    /// Spends the tokens, and tells the attempt and the observers. Returns the time. Call it right before the hedge is
    /// sent.
    pub(crate) fn send(&mut self) -> Duration {
        if let Some(tokens) = self.tokens.take() {
            tokens.spend();
        }
        let (now, after) = (self.terms.now(), self.terms.since(self.terms.started));
        self.sent = Some(now);
        self.terms.attempt.copy_sent();
        // Also for an outer attempt, which may have no handle here.
        http_retry_core::attempt::sent();
        self.terms.recorder.sent(self.copy, after, now);
        now
    }

    /// Tells the observers that the response to this hedge goes to the caller, or that it does not.
    pub(crate) fn tell(&self, has_won: bool) {
        let (now, after) = (self.terms.now(), self.terms.since(self.terms.started));
        if has_won {
            self.terms.recorder.won(self.copy, after, now);
        } else {
            self.terms.recorder.lost(self.copy, after, now);
        }
    }

    /// Reports a refusal to the gates in the place of this hedge's end.
    pub(crate) fn refused(self, refusal: CopyRefusal) {
        self.gates.refused(refusal);
    }
}
