//! Replaces `redis` where a program cannot open connections, as in a browser: the store is never reached, and the process
//! continues with a share of its own.

use super::budget::{BudgetReply, BudgetReport};
use super::gate::{GateReply, GateReport};
use super::names::{BudgetKeys, GateKeys};
use super::store::{Reply, Store, Subscriber};
use http_retry_core::ConfigError;
use http_retry_core::report::LeaveReason;
use std::future::ready;
use std::sync::Arc;

/// A server that is never reached.
pub(super) struct RedisStore;

impl RedisStore {
    pub(super) fn open(_: &str) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    /// No address is read from the URL.
    pub(super) fn address(&self) -> String {
        String::new()
    }
}

impl Store for RedisStore {
    fn settle_budget<'a>(
        &'a self,
        _: &'a BudgetKeys,
        _: &'a BudgetReport,
    ) -> Reply<'a, BudgetReply> {
        Box::pin(ready(Err(LeaveReason::Unreachable)))
    }

    fn step_gate<'a>(&'a self, _: &'a GateKeys, _: &'a GateReport) -> Reply<'a, GateReply> {
        Box::pin(ready(Err(LeaveReason::Unreachable)))
    }

    fn subscribe<'a>(&'a self, _: &'a GateKeys, _: &'a Arc<dyn Subscriber>) -> Reply<'a, ()> {
        Box::pin(ready(Err(LeaveReason::Unreachable)))
    }
}
