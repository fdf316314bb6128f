//! The parts of a budget for stores that processes share, and for adapters.

use super::payment::{PaymentResult, PendingRetry};
use super::{Account, BudgetTerms, NEVER_REFILLS, PaidRetry, RetryBudget};
use crate::policy::{Decimal, RetryPlan};
use crate::report::warn_of_misuse;
use crate::sealed::Sealed;
use crate::sharing::{AccountReply, SharedAccount};
use std::time::Duration;

/// The parts of a [`RetryBudget`] for stores that processes share, and for adapters.
pub trait BudgetExt: Sealed {
    /// Creates a budget that prices retries by `terms` and keeps its tokens in a custom account, such as one that
    /// several processes share. [`SharedAccount`] describes its duties.
    #[must_use]
    fn with_account(terms: BudgetTerms, account: impl SharedAccount) -> Self;

    /// Asks for a planned retry. Without a [`SharedAccount`] it decides at once, as [`RetryBudget::withdraw`] does.
    fn ask(&self, plan: RetryPlan, now: Duration) -> PaymentResult;

    /// Returns the tokens and the capacity as of the last use, without a later refill by time: looking is not a use.
    #[must_use]
    fn as_used_last(&self) -> Option<(Decimal, Decimal)>;

    /// Logs a warning under this name if neither time nor successes add tokens. Needs the feature `tracing`.
    fn warn_if_never_refilled(&self, name: &str);
}

impl Sealed for RetryBudget {}

impl BudgetExt for RetryBudget {
    fn with_account(terms: BudgetTerms, account: impl SharedAccount) -> Self {
        Self::new(terms, Account::Shared(Box::new(account)))
    }

    fn ask(&self, plan: RetryPlan, now: Duration) -> PaymentResult {
        let price = self.price(&plan, now);
        // A free retry needs no round trip to the store.
        let Some(account) = self.shared_account().filter(|_| price > 0) else {
            let paid = self.pay(price, plan, now);
            return paid.map_or(PaymentResult::Refused, PaymentResult::Paid);
        };
        match account.ask(price, now) {
            AccountReply::Paid => PaymentResult::Paid(PaidRetry::new(self.clone(), price, plan)),
            AccountReply::Refused => PaymentResult::Refused,
            AccountReply::Pending(payment) => {
                PaymentResult::Pending(PendingRetry::new(self.clone(), price, payment, plan))
            }
        }
    }

    fn as_used_last(&self) -> Option<(Decimal, Decimal)> {
        let (tokens, capacity) = self.0.as_ref()?.balance(None);
        Some((Decimal::from_micros(tokens), Decimal::from_micros(capacity)))
    }

    fn warn_if_never_refilled(&self, name: &str) {
        if self.never_refills() {
            warn_of_misuse(name, NEVER_REFILLS);
        }
    }
}
