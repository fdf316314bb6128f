//! A budget in use.

use super::{Terms, a_plan};
use http_retry::RetryBudget;
use http_retry::budget::PaidRetry;
use proptest::prelude::*;
use std::time::Duration;

/// What is done with one of the handles.
#[derive(Debug, Clone, Copy)]
pub(super) enum Op {
    Succeed,
    Withdraw { timeout: bool },
    Commit(prop::sample::Index),
    Drop(prop::sample::Index),
    CopyHandle,
    DropHandle,
    Forward(Duration),
    Back(Duration),
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let step = || (0_u64..20_000_000_000).prop_map(Duration::from_nanos);
    prop_oneof![
        4 => Just(Op::Succeed),
        6 => any::<bool>().prop_map(|timeout| Op::Withdraw { timeout }),
        2 => any::<prop::sample::Index>().prop_map(Op::Commit),
        2 => any::<prop::sample::Index>().prop_map(Op::Drop),
        1 => Just(Op::CopyHandle),
        1 => Just(Op::DropHandle),
        2 => step().prop_map(Op::Forward),
        1 => step().prop_map(Op::Back),
    ]
}

/// A budget in use: its handles, its retries that are neither sent nor given up, and the time.
pub(super) struct Use {
    pub(super) handles: Vec<RetryBudget>,
    unsent: Vec<(PaidRetry, u64)>,
    pub(super) now: Duration,
}

impl Use {
    pub(super) fn of(budget: RetryBudget) -> Self {
        Self {
            handles: vec![budget],
            unsent: Vec::new(),
            now: Duration::from_secs(1_000),
        }
    }

    pub(super) fn handle(&self) -> &RetryBudget {
        self.handles.last().unwrap()
    }

    pub(super) fn take(&mut self, index: prop::sample::Index) -> Option<(PaidRetry, u64)> {
        match self.unsent.len() {
            0 => None,
            unsent => Some(self.unsent.swap_remove(index.index(unsent))),
        }
    }

    pub(super) fn withdraw(&mut self, terms: &Terms, timeout: bool) -> bool {
        let paid = self.handle().withdraw(a_plan(timeout), self.now);
        let granted = paid.is_ok();
        self.unsent
            .extend(paid.ok().map(|paid| (paid, terms.price(timeout))));
        granted
    }

    pub(super) fn turn_handles(&mut self, op: Op) {
        match op {
            Op::CopyHandle => self.handles.push(self.handle().clone()),
            Op::DropHandle if self.handles.len() > 1 => drop(self.handles.remove(0)),
            Op::Forward(by) => self.now += by,
            Op::Back(by) => self.now = self.now.saturating_sub(by),
            _ => {}
        }
        self.handles.rotate_left(1);
    }
}
