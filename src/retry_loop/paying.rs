//! Whether a retry is sent: who pays for it, a budget of this process at once or a fleet that is asked, and whether its
//! headers fit.

use super::{Progress, Repeat, Saved, Transport};
use crate::budget::{Ask, PaidRetry, RetryBudget};
use crate::policy::{Moment, Outcome, RetryPlan, Stop, StopReason};
use std::time::Duration;

/// With more headers than this a request is sent no second time with others. A header map panics at 24,576 names, and may
/// fail from 6,554 on where many of them have one hash; servers take about 100.
const MOST_HEADERS: usize = 4_096;

impl Progress {
    /// The retry that follows from an outcome, paid for by the budget of whoever plans it.
    ///
    /// # Errors
    ///
    /// The end of the request.
    pub(super) async fn decide(
        &self,
        outcome: &Outcome<'_>,
        at: Moment,
    ) -> Result<PaidRetry, Stop> {
        let plan = self.session.judge(outcome, at)?;
        match self.budget_for(&plan).is_shared() {
            true => Box::pin(self.ask(plan, outcome, at)).await,
            false => self.pay(plan, outcome, at),
        }
    }

    /// The same where nobody can wait; nothing where no retry follows, or a fleet must be asked first.
    pub(super) fn decide_at_once(&self, outcome: &Outcome<'_>, at: Moment) -> Option<PaidRetry> {
        let plan = self.session.judge(outcome, at).ok()?;
        match self.budget_for(&plan).is_shared() {
            true => None,
            false => self.pay(plan, outcome, at).ok(),
        }
    }

    fn pay(&self, plan: RetryPlan, outcome: &Outcome<'_>, at: Moment) -> Result<PaidRetry, Stop> {
        let budget = self.budget_for(&plan);
        let stop = plan.refused(StopReason::BudgetExhausted);
        budget.withdraw(plan, at.now).or_else(|_| {
            let plan = self.session.instead(stop, outcome, at)?;
            let stop = plan.refused(StopReason::BudgetExhausted);
            budget.withdraw(plan, at.now).map_err(|_| stop)
        })
    }

    fn budget_for(&self, plan: &RetryPlan) -> &RetryBudget {
        let named = plan.budget();
        let named = named.and_then(|name| self.route.budgets.get(name));
        named.unwrap_or(&self.budget)
    }

    /// A paid retry, or the policy's way on where the fleet refuses it.
    async fn ask(
        &self,
        plan: RetryPlan,
        outcome: &Outcome<'_>,
        at: Moment,
    ) -> Result<PaidRetry, Stop> {
        let budget = self.budget_for(&plan);
        let stop = plan.refused(StopReason::BudgetExhausted);
        if let Some(paid) = self.granted(budget, plan).await {
            return Ok(paid);
        }
        let plan = self.session.instead(stop, outcome, at)?;
        let stop = plan.refused(StopReason::BudgetExhausted);
        self.granted(budget, plan).await.ok_or(stop)
    }

    /// Waits for the fleet's word, but no longer than the budget says and no longer than the request has.
    async fn granted(&self, budget: &RetryBudget, plan: RetryPlan) -> Option<PaidRetry> {
        let asking = match budget.ask(plan, self.engine.runtime.now()) {
            Ask::Paid(paid) => return Some(paid),
            Ask::Refused => return None,
            Ask::Asking(asking) => asking,
        };
        let left = self.time_left().unwrap_or(Duration::MAX);
        self.engine.answer(asking, left).await
    }
}

/// The retry, unless the request has no room for the headers that it sets: one without them is not the one that was asked
/// for.
///
/// # Errors
///
/// The end of the request in the place of such a retry.
pub(super) fn with_room<T: Transport>(
    paid: PaidRetry,
    saved: Option<&Saved<T>>,
) -> Result<PaidRetry, Stop> {
    let mut fits = true;
    if let (Some(set), Some(saved)) = (paid.plan().set(), saved) {
        if let Some((headers, _)) = T::Request::head(saved) {
            fits = headers.len().saturating_add(set.len()) <= MOST_HEADERS;
        }
    }
    match fits {
        true => Ok(paid),
        false => Err(paid.plan().refused(StopReason::NotRetryable)),
    }
}
