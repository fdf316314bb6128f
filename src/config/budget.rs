//! BUDGET: a bucket of tokens.

use super::block::Node;
use super::fields::{Fields, Type, object, table};
use super::types::{above_zero, above_zero_to, duration, number, truth};
use crate::budget::{RetryBudget, RetryBudgetBuilder};
use crate::policy::Decimal;
use serde_json::json;
use std::time::Duration;

const MOST_TOKENS: u32 = 1_000_000_000;

table! {
    /// A bucket of tokens that pays for retries, shared by every service that names it. Its tokens survive a change of the
    /// document that leaves its numbers alone.
    #[derive(PartialEq)]
    Budget("budget", "A budget") {
        /// Tokens that time alone brings in a second, 0 to 1000000. Default 0: with many clients, a refill by time goes on
        /// feeding a server that is down.
        per_second: Decimal = number::<0, 1_000_000>(), default(&0);
        /// Tokens at the start, 0 to the capacity. Default the capacity.
        initial: Decimal = number::<0, MOST_TOKENS>();
        /// Tokens that a success brings, 0 to 1 (or to retry_cost, where that is more), at most 1000. Default 0.1: one
        /// retry for ten successes. No percentage.
        per_success: Decimal = number::<0, 1_000>(), default(&0.1);
        /// Tokens that it holds at most: above 0 (at least retry_cost), up to 1000000000. It adds at most this many
        /// retries to an outage. Default 20, growing with traffic; a capacity that is given does not grow.
        capacity: Decimal = above_zero::<MOST_TOKENS>(), default(&20);
        /// What a retry costs: above 0, at most the capacity. Default 1.
        retry_cost: Decimal = cost(), default(&1);
        /// What a retry after a timeout costs: above 0, at most the capacity. Default twice retry_cost, since a server that
        /// no longer answers in time needs rest the most.
        timeout_cost: Decimal = cost();
        /// What a retry after a 429 costs if its call waits at the gate: 0 to the capacity. Default 0, since the gate
        /// sends no more than the server has room for.
        gated_cost: Decimal = number::<0, MOST_TOKENS>(), default(&0);
        /// Lets the capacity grow to the budget's own successes in this time, averaged over 10 s: a busy client survives an
        /// outage of that length. Default 250 ms, or no growth where the capacity is given.
        growth: Duration = duration(), default(&"250ms");
        /// Whether the other processes of the fleet spend the same tokens, where the document names a fleet. Default true.
        shared: bool = truth(), default(&true);
    }
}

fn cost() -> Type<Decimal> {
    Type {
        read: |node| above_zero_to(node, MOST_TOKENS, "the capacity"),
        schema: |_| json!({"type": "number", "exclusiveMinimum": 0, "maximum": MOST_TOKENS}),
    }
}

/// A budget's numbers; equal numbers keep the tokens when a document changes.
pub(super) fn budget() -> Type<Budget> {
    Type {
        read,
        schema: object::<Budget>,
    }
}

fn read(node: &Node<'_>) -> Option<Budget> {
    let Some(mut block) = node.block() else {
        return Some(Budget::default());
    };
    let read = Budget::take(&mut block);
    block.end();
    // What was not read would look like what is not given.
    if node.problems.are_within(node.path.as_str()) {
        return Some(read);
    }
    if let Err(error) = read.builder().build() {
        let field = error.field().trim_start_matches("budget.");
        let of = match field {
            "initial" | "retry_cost" | "timeout_cost" | "gated_cost" => ", which is the capacity",
            _ => "",
        };
        let cause = format!("{} is not allowed: {}{of}", error.given(), error.allowed());
        node.problems
            .add(&node.path.key(field), &error.given(), cause);
    }
    Some(read)
}

impl Budget {
    /// A bucket with these numbers, which are checked when they are read.
    pub(super) fn builder(&self) -> RetryBudgetBuilder {
        let of = [
            (self.per_second, RetryBudgetBuilder::per_second as Set),
            (self.initial, RetryBudgetBuilder::initial),
            (self.per_success, RetryBudgetBuilder::per_success),
            (self.capacity, RetryBudgetBuilder::capacity),
            (self.retry_cost, RetryBudgetBuilder::retry_cost),
            (self.timeout_cost, RetryBudgetBuilder::timeout_cost),
            (self.gated_cost, RetryBudgetBuilder::gated_cost),
        ];
        let growth = self.growth.into_iter();
        let builder = growth.fold(RetryBudget::builder(), RetryBudgetBuilder::growth);
        of.into_iter()
            .filter_map(|(number, set)| Some((number?, set)))
            .fold(builder, |builder, (number, set)| set(builder, number))
    }
}

type Set = fn(RetryBudgetBuilder, Decimal) -> RetryBudgetBuilder;
