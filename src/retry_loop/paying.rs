//! Who pays for a retry: a budget of this process at once, or a fleet that is asked. Until its answer the attempt before
//! the retry stays as it is, so that a refusal hands over an untouched response.

use super::late::TimeIsUp;
use super::planned::{Planned, Step};
use super::reading::Found;
use super::unpaid::{Question, Unpaid, UnpaidLate};
use super::{Progress, Transport};
use crate::budget::{Ask, PaidRetry, RetryBudget};
use crate::policy::{Moment, Outcome, RetryPlan, Stop, StopReason};
use std::sync::Arc;
use std::time::Duration;

impl Progress {
    /// What follows from an outcome, paid for by the budget of whoever plans it.
    ///
    /// # Errors
    ///
    /// The plan, where its budget is a fleet's.
    pub(super) fn decide(
        &self,
        outcome: &Outcome<'_>,
        at: Moment,
    ) -> Result<Result<Planned, Stop>, Box<Question>> {
        let plan = match self.session.judge(outcome, at) {
            Ok(plan) if self.asks(&plan) => {
                let judged = outcome.without_head();
                return Err(Box::new(Question { plan, judged, at }));
            }
            Ok(plan) => plan,
            Err(stop) => return Ok(Err(stop)),
        };
        Ok(self.pay(plan, outcome, at))
    }

    fn pay(&self, plan: RetryPlan, outcome: &Outcome<'_>, at: Moment) -> Result<Planned, Stop> {
        let budget = self.budget_for(plan.budget());
        let refused = |plan: &RetryPlan| plan.refused(StopReason::BudgetExhausted);
        let stop = refused(&plan);
        let paid = budget.withdraw(plan, at.now).or_else(|_| {
            let plan = self.session.instead(stop, outcome, at)?;
            let stop = refused(&plan);
            budget.withdraw(plan, at.now).map_err(|_| stop)
        })?;
        Ok(Planned::new(paid, outcome, at))
    }

    fn budget_for(&self, named: Option<&Arc<str>>) -> &RetryBudget {
        let named = named.and_then(|name| self.route.budgets.get(name));
        named.unwrap_or(&self.budget)
    }

    /// Whether a fleet is to be asked for this retry.
    fn asks(&self, plan: &RetryPlan) -> bool {
        self.budget_for(plan.budget()).is_shared()
    }

    /// What follows from an attempt, once the fleet has said whether its retry may go.
    pub(super) async fn ask_for<T: Transport>(&mut self, unpaid: Box<Unpaid<T>>) -> Step<T> {
        let Unpaid {
            question,
            hints,
            found,
            result,
            saved,
        } = *unpaid;
        let request = self.session.request();
        let head = result.as_ref().ok().and_then(T::head);
        let Question { plan, judged, at } = *question;
        let outcome = judged.with_head(head).about(request.as_deref());
        let outcome = match &found {
            Found::ErrorBody(body) => outcome.with_error_body(body),
            Found::Nothing | Found::Verdict(_) => outcome,
        };
        let outcome = outcome.with_hints(&hints);
        let decided = self.ask(plan, &outcome, at).await;
        let decided = self.ended::<T>(decided, outcome, at, saved.as_deref());
        self.follows(decided, result, saved)
    }

    /// The same for an attempt whose time is up.
    pub(super) async fn ask_for_late<T: Transport>(
        &mut self,
        unpaid: Box<UnpaidLate<T>>,
    ) -> TimeIsUp<T> {
        let UnpaidLate {
            question,
            words,
            late,
            saved,
        } = *unpaid;
        let request = self.session.request();
        let Question { plan, judged, at } = *question;
        let timeout = judged.with_error_body(&words);
        let timeout = timeout.about(request.as_deref());
        let decided = self.ask(plan, &timeout, at).await;
        self.after_its_time(decided, &timeout, late, saved)
    }

    /// A paid retry, or the policy's way on where the fleet refuses it. The retry is due when it was planned to be.
    async fn ask(
        &self,
        plan: RetryPlan,
        outcome: &Outcome<'_>,
        at: Moment,
    ) -> Result<Planned, Stop> {
        let budget = self.budget_for(plan.budget());
        let stop = plan.refused(StopReason::BudgetExhausted);
        let paid = match self.granted(budget, plan).await {
            Some(paid) => paid,
            None => {
                let plan = self.session.instead(stop, outcome, at)?;
                let stop = plan.refused(StopReason::BudgetExhausted);
                self.granted(budget, plan).await.ok_or(stop)?
            }
        };
        Ok(Planned::new(paid, outcome, at))
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
