//! A budget never grants more than it holds, and loses nothing, in whatever order its handles are used.

mod handles;
mod model;

use super::a_thousand_cases;
use super::inputs::duration;
use handles::{Op, Use, op};
use http::{HeaderMap, Method, StatusCode};
use http_retry::budget::PaidRetry;
use http_retry::policy::{Decimal, Moment, RetryPlan};
use http_retry::{ErrorKind, Outcome, RequestFacts, RetryBudget, RetryPolicy};
use model::Model;
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Duration;

const MILLIONTHS: u64 = 1_000_000;

/// A budget's numbers, in thousandths of a token.
#[derive(Debug, Clone, Copy)]
struct Terms {
    capacity: u32,
    initial: u32,
    per_second: u32,
    per_success: u32,
    retry_cost: u32,
    timeout_cost: u32,
}

fn terms() -> impl Strategy<Value = Terms> {
    (1_u32..30_000).prop_flat_map(|capacity| {
        let costs = (1..=capacity, 1..=capacity);
        (
            Just(capacity),
            0..=capacity,
            0_u32..50_000,
            0_u32..3_000,
            costs,
        )
            .prop_map(
                |(capacity, initial, per_second, per_success, (retry_cost, timeout_cost))| Terms {
                    capacity,
                    initial,
                    per_second,
                    // A success pays for at most one retry.
                    per_success: per_success.min(retry_cost.max(1_000)),
                    retry_cost,
                    timeout_cost,
                },
            )
    })
}

impl Terms {
    fn build(&self) -> RetryBudget {
        let thousandths = |number: u32| Decimal::from(f64::from(number) / 1e3);
        RetryBudget::builder()
            .capacity(thousandths(self.capacity))
            .initial(thousandths(self.initial))
            .per_second(thousandths(self.per_second))
            .per_success(thousandths(self.per_success))
            .min_per_second(0)
            .retry_cost(thousandths(self.retry_cost))
            .timeout_cost(thousandths(self.timeout_cost))
            .build()
            .unwrap()
    }

    fn price(&self, timeout: bool) -> u64 {
        let cost = if timeout {
            self.timeout_cost
        } else {
            self.retry_cost
        };
        u64::from(cost) * 1_000
    }
}

fn a_plan(timeout: bool) -> RetryPlan {
    let headers = HeaderMap::new();
    let facts = RequestFacts::of(&Method::GET, &headers);
    let outcome = if timeout {
        Outcome::error(ErrorKind::Timeout)
    } else {
        Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers)
    };
    // A request that was under way when trouble began would not pay.
    let session = RetryPolicy::default().session(facts, Duration::MAX);
    session.plan(&outcome, Moment::default()).unwrap()
}

proptest! {
    #![proptest_config(a_thousand_cases())]

    #[test]
    fn a_budget_holds_what_it_should_after_every_step(
        terms in terms(),
        ops in vec(op(), 1..60),
    ) {
        let mut used = Use::of(terms.build());
        let mut model = Model::new(terms);
        for op in ops {
            used.turn_handles(op);
            model.settle(used.now);
            let _ = used.handle().tokens_at(used.now);
            match op {
                Op::Succeed => {
                    used.handle().deposit(used.now);
                    model.add(u64::from(terms.per_success) * 1_000);
                }
                Op::Withdraw { timeout } => {
                    let granted = used.withdraw(&terms, timeout);
                    prop_assert_eq!(granted, model.withdraw(terms.price(timeout)));
                }
                Op::Commit(index) => used.take(index).into_iter().for_each(|(paid, _)| paid.commit()),
                Op::Drop(index) => {
                    let price = used.take(index).map_or(0, |(_, price)| price);
                    model.add(price);
                }
                _ => {}
            }
            let wanted = model.tokens / terms.price(false);
            prop_assert_eq!(used.handle().available(used.now), wanted);
            let tokens = used.handle().tokens_at(used.now).unwrap();
            prop_assert_eq!(tokens.to_string(), in_tokens(model.tokens));
        }
    }

    #[test]
    fn no_more_is_granted_than_was_there_and_came_in(
        terms in terms(),
        ops in vec(op(), 1..150),
    ) {
        let mut used = Use::of(terms.build());
        let (mut held, mut spent) = (u64::from(terms.initial) * 1_000, 0);
        let (mut earliest, mut latest) = (used.now, used.now);
        for op in ops {
            used.turn_handles(op);
            match op {
                Op::Succeed => {
                    used.handle().deposit(used.now);
                    held += u64::from(terms.per_success) * 1_000;
                }
                Op::Withdraw { timeout } => {
                    spent += u64::from(used.withdraw(&terms, timeout)) * terms.price(timeout);
                }
                Op::Commit(index) => used.take(index).into_iter().for_each(|(paid, _)| paid.commit()),
                Op::Drop(index) => spent -= used.take(index).map_or(0, |(_, price)| price),
                _ => {}
            }
            (earliest, latest) = (earliest.min(used.now), latest.max(used.now));
            let seconds = (latest - earliest).as_secs() + 1;
            let earned = u64::from(terms.per_second) * 1_000 * seconds;
            prop_assert!(spent <= held + earned, "{spent} of {held} + {earned}");
        }
    }

    #[test]
    fn threads_overspend_nothing_and_lose_nothing(
        initial in 0_u32..20,
        workers in vec(vec(0_u8..4, 0..20), 3),
    ) {
        let budget = RetryBudget::builder().capacity(1_000_000).initial(initial).per_success(0.5);
        let budget = budget.build().unwrap();
        let successes = workers.iter().flatten().filter(|op| **op == 0).count() as u64;
        let sent = work_together(&budget, &workers);
        let left = budget.tokens_at(Duration::ZERO).unwrap();
        let wanted = (u64::from(initial) * 2 + successes) * (MILLIONTHS / 2);
        prop_assert!(sent * MILLIONTHS <= wanted);
        prop_assert_eq!(left.to_string(), in_tokens(wanted - sent * MILLIONTHS));
    }

    #[test]
    fn a_capacity_that_grows_bounds_the_tokens_all_the_same(
        successes in 0_u32..1_000,
        steps in vec(duration(), 1..10),
    ) {
        let budget = RetryBudget::default();
        for now in steps {
            (0..successes).for_each(|_| budget.deposit(now));
            let capacity = budget.capacity(now).unwrap().to_string();
            let most: f64 = capacity.parse().unwrap();
            prop_assert!(most >= 20.0);
            let granted = std::iter::from_fn(|| budget.withdraw(a_plan(false), now).ok());
            let granted = granted.map(PaidRetry::commit).take(1_000_000).count();
            prop_assert!(granted as f64 <= most, "{granted} of {most}");
            prop_assert_eq!(budget.available(now), 0);
        }
    }
}

/// Every worker in a thread of its own; how many retries were sent in all.
fn work_together(budget: &RetryBudget, workers: &[Vec<u8>]) -> u64 {
    std::thread::scope(|scope| {
        let running: Vec<_> = workers
            .iter()
            .map(|ops| scope.spawn(move || work(&budget.clone(), ops)))
            .collect();
        running
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    })
}

/// Deposits, spends, gives up and looks, as the list says; how many retries were sent.
fn work(budget: &RetryBudget, ops: &[u8]) -> u64 {
    let withdraw = || budget.withdraw(a_plan(false), Duration::ZERO);
    let mut sent = 0;
    for op in ops {
        match op {
            0 => budget.deposit(Duration::ZERO),
            1 => drop(withdraw()),
            2 => drop(budget.tokens_at(Duration::ZERO)),
            _ => sent += withdraw().map(PaidRetry::commit).map_or(0, |()| 1),
        }
    }
    sent
}

/// Millionths of a token, as a decimal is written.
fn in_tokens(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / MILLIONTHS, millionths % MILLIONTHS);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
