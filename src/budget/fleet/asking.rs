//! A retry that waits for its fleet's word.

use super::member::{Asked, Member};
use crate::budget::{Ask, PaidRetry, RetryBudget};
use crate::policy::RetryPlan;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A planned retry for which a shared budget has asked its fleet: paid, or nothing if it is refused.
///
/// # Cancel safety
///
/// Dropped, it asks no longer; what was already granted serves the process's next retry.
#[derive(Debug)]
#[must_use]
pub(crate) struct Asking {
    budget: RetryBudget,
    price: u64,
    number: u64,
    /// Nothing once it is answered.
    plan: Option<RetryPlan>,
}

impl RetryBudget {
    /// Whether retries are asked for at a fleet.
    pub(crate) fn is_shared(&self) -> bool {
        self.fleet_wait().is_some()
    }

    /// Asks for a planned retry. A local budget answers at once, as [`RetryBudget::withdraw`] does.
    pub(crate) fn ask(&self, plan: RetryPlan, now: Duration) -> Ask {
        let price = self.price(&plan);
        let asked = self.of_member(
            |member| {
                let asked = match price {
                    0 => Asked::Paid,
                    _ => member.ask(price, now),
                };
                (asked, member.driver(now))
            },
            now,
        );
        let Some((asked, driver)) = asked else {
            return self.withdraw(plan, now).map_or(Ask::Refused, Ask::Paid);
        };
        if let Some(driver) = driver {
            driver.wake();
        }
        match asked {
            Asked::Paid => Ask::Paid(PaidRetry::new(self.clone(), price, plan)),
            Asked::Refused => Ask::Refused,
            Asked::Waits(number) => Ask::Asking(Asking {
                budget: self.clone(),
                price,
                number,
                plan: Some(plan),
            }),
        }
    }

    fn fleet_wait(&self) -> Option<Duration> {
        self.0.as_ref()?.wait
    }

    fn of_member<R>(&self, look: impl FnOnce(&mut Member) -> R, now: Duration) -> Option<R> {
        self.0.as_ref()?.settle(now).member().map(look)
    }
}

impl Asking {
    /// How long to wait for an answer at most.
    pub(crate) fn wait(&self) -> Duration {
        self.budget.fleet_wait().unwrap_or_default()
    }

    /// Waits no longer: the process pays alone, if it can.
    pub(crate) fn alone(mut self, now: Duration) -> Option<PaidRetry> {
        let (price, number) = (self.price, self.number);
        let pay = |member: &mut Member| member.leave(number).unwrap_or_else(|| member.pay(price));
        let paid = self.budget.of_member(pay, now);
        let plan = self.plan.take()?;
        paid?.then(|| PaidRetry::new(self.budget.clone(), price, plan))
    }

    fn look<R>(&self, look: impl FnOnce(&mut Member) -> R) -> Option<R> {
        self.budget.0.as_ref()?.lock().member().map(look)
    }
}

impl Future for Asking {
    type Output = Option<PaidRetry>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let number = self.number;
        let answer = self.look(|member| member.poll(number, cx.waker()));
        let paid = match answer {
            Some(Poll::Pending) => return Poll::Pending,
            Some(Poll::Ready(paid)) => paid,
            None => false,
        };
        let (budget, price) = (self.budget.clone(), self.price);
        let plan = self.plan.take().filter(|_| paid);
        Poll::Ready(plan.map(|plan| PaidRetry::new(budget, price, plan)))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.plan.is_some() {
            let (number, price) = (self.number, self.price);
            self.look(|member| {
                if member.leave(number) == Some(true) {
                    member.refund(price);
                }
            });
        }
    }
}
