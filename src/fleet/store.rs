//! What a fleet needs of a store.

use super::names::{BudgetKeys, GateKeys};
use crate::budget::fleet::{BudgetAnswer, BudgetWords, LeaveReason};
use crate::gate::{GateAnswer, GatePush, GateWords};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// An answer to come, at most about a second later; dropped, the command may run all the same.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, LeaveReason>> + Send + 'a>>;

/// Keeps what a fleet knows, and takes every step as one.
pub(crate) trait Store: Send + Sync + 'static {
    /// One step of a budget.
    fn settle<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        words: &'a BudgetWords,
    ) -> Answer<'a, BudgetAnswer>;

    /// One step of a gate.
    fn step<'a>(&'a self, keys: &'a GateKeys, words: &'a GateWords) -> Answer<'a, GateAnswer>;

    /// Lets somebody hear a gate's channel, until it says that it is lost.
    fn listen<'a>(&'a self, keys: &'a GateKeys, listener: &'a Arc<dyn Hear>) -> Answer<'a, ()>;
}

/// Somebody who listens to a channel.
pub(crate) trait Hear: Send + Sync + 'static {
    fn told(&self, push: GatePush);

    /// Nothing is heard any more: whatever was told since is missed.
    fn lost(&self);
}

/// Whether only a new connection can show that such a failure is over: after a failover the same address may lead to the new
/// primary, and after a change of the password the same words may be right.
pub(super) fn ends_connection(reason: LeaveReason) -> bool {
    matches!(
        reason,
        LeaveReason::Timeout | LeaveReason::Unreachable | LeaveReason::Auth | LeaveReason::ReadOnly
    )
}
