//! The shared handle: grants, refunds, and concurrent use.

use super::*;
use crate::policy::{Cost, ErrorKind, Moment, Outcome, RequestFacts, RetryPolicy};

fn plan(cost: Cost) -> RetryPlan {
    let facts = RequestFacts::operation().idempotent(true);
    let session = RetryPolicy::background().session(facts, Duration::ZERO);
    let plan = session.plan(&Outcome::error(ErrorKind::Reset), Moment::default());
    let mut plan = plan.unwrap();
    plan.cost = cost;
    plan
}

fn withdraw(budget: &RetryBudget) -> Result<PaidRetry, StopReason> {
    budget.withdraw(plan(Cost::Retry), Duration::ZERO)
}

#[cfg(not(http_retry_loom))]
mod alone {
    use super::*;
    use crate::budget::ext::BudgetExt;
    use crate::budget::payment::PaymentResult;
    use crate::sharing::{AccountReply, SharedAccount};
    use proptest::prelude::*;

    fn empty(per_success: impl Into<Decimal>) -> RetryBudget {
        RetryBudget::builder()
            .capacity(1_000_000)
            .initial(0)
            .per_success(per_success)
            .build()
            .unwrap()
    }

    fn drain(budget: &RetryBudget) -> u64 {
        std::iter::from_fn(|| withdraw(budget).ok())
            .map(PaidRetry::commit)
            .count() as u64
    }

    #[test]
    fn the_default_budget_grants_twenty_retries() {
        let budget = RetryBudget::default();
        assert_eq!(drain(&budget), 20);
        assert_eq!(withdraw(&budget).unwrap_err(), StopReason::BudgetExhausted);
    }

    #[test]
    fn the_tokens_are_those_at_the_time_and_none_without_a_limit() {
        let budget = RetryBudget::builder().initial(1).per_second(1).build();
        let budget = budget.unwrap();
        let tokens = |seconds| budget.tokens_at(Duration::from_secs(seconds));
        assert_eq!(tokens(10), Some(Decimal::ONE));
        assert_eq!(tokens(12).unwrap().to_string(), "3");
        assert_eq!(RetryBudget::unlimited().tokens_at(Duration::ZERO), None);
    }

    /// A shared account without tokens, which must not be asked.
    struct Silent;

    impl SharedAccount for Silent {
        fn deposit(&self, _: Duration) {}

        fn withdraw(&self, price: u64, _: Duration) -> bool {
            price == 0
        }

        fn refund(&self, _: u64) {}

        fn tokens(&self) -> u64 {
            0
        }

        fn capacity(&self) -> u64 {
            0
        }

        fn ask(&self, price: u64, _: Duration) -> AccountReply {
            panic!("asked for {price}")
        }
    }

    #[test]
    fn a_free_retry_asks_no_shared_account() {
        let terms = RetryBudget::builder().terms().unwrap();
        let budget = RetryBudget::with_account(terms, Silent);
        let paid = budget.ask(plan(Cost::Nothing), Duration::ZERO);
        assert!(matches!(paid, PaymentResult::Paid(_)));
    }

    #[test]
    fn a_retry_after_a_timeout_costs_double() {
        let budget = RetryBudget::default();
        budget
            .withdraw(plan(Cost::Timeout), Duration::ZERO)
            .unwrap()
            .commit();
        assert_eq!(budget.available(Duration::ZERO), 18);
    }

    #[test]
    fn a_retry_that_is_not_sent_returns_its_tokens() {
        let budget = RetryBudget::default();
        let paid = withdraw(&budget).unwrap();
        assert_eq!(budget.available(Duration::ZERO), 19);
        drop(paid);
        assert_eq!(budget.available(Duration::ZERO), 20);
    }

    #[test]
    fn clones_share_their_tokens() {
        let budget = RetryBudget::default();
        assert_eq!(drain(&budget.clone()), 20);
        assert_eq!(drain(&budget), 0);
    }

    #[test]
    fn an_unlimited_budget_always_grants() {
        let budget = RetryBudget::unlimited();
        assert!((0..1_000).all(|_| withdraw(&budget).is_ok()));
        assert_eq!(budget.tokens_at(Duration::ZERO), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn a_thousand_successes_add_a_thousand_times_per_success(micros in 0_u64..=1_000_000) {
            let budget = empty(Decimal::from_micros(micros));
            (0..1_000).for_each(|_| budget.deposit(Duration::ZERO));
            let granted = drain(&budget);
            prop_assert_eq!(granted, micros * 1_000 / 1_000_000);
        }

        #[test]
        fn grants_never_exceed_the_tokens(
            initial in 0_u32..10,
            steps in prop::collection::vec(0_u8..3, 0..200),
        ) {
            let budget = RetryBudget::builder()
                .capacity(10)
                .initial(initial)
                .per_success(0.5)
                .build()
                .unwrap();
            let (mut halves, mut unsent) = (initial * 2, Vec::new());
            for step in steps {
                match step {
                    0 => {
                        budget.deposit(Duration::ZERO);
                        halves = (halves + 1).min(20);
                    }
                    1 => match withdraw(&budget) {
                        Ok(paid) => {
                            prop_assert!(halves >= 2);
                            halves -= 2;
                            unsent.push(paid);
                        }
                        Err(_) => prop_assert!(halves < 2),
                    },
                    _ => {
                        if unsent.pop().is_some() {
                            // The refund comes before deposits that the bucket has not counted yet.
                            let _ = budget.tokens_at(Duration::ZERO);
                            halves = (halves + 2).min(20);
                        }
                    }
                }
                let _ = budget.tokens_at(Duration::ZERO);
            }
            prop_assert_eq!(budget.available(Duration::ZERO), u64::from(halves / 2));
        }
    }
}

/// Built by `cargo rustc --all-features --lib --profile test -- --cfg http_retry_loom`, and run with the filter `loom`.
#[cfg(http_retry_loom)]
mod loom_model {
    use super::*;
    use loom::thread;

    fn budget(initial: u32) -> RetryBudget {
        let builder = RetryBudget::builder()
            .capacity(3)
            .initial(initial)
            .per_success(1);
        builder.build().unwrap()
    }

    fn spend(budget: &RetryBudget) -> u64 {
        withdraw(budget).map(PaidRetry::commit).map_or(0, |()| 1)
    }

    #[test]
    fn loom_two_tokens_serve_two_of_three_threads() {
        loom::model(|| {
            let budget = budget(2);
            let spawn = || {
                let budget = budget.clone();
                thread::spawn(move || spend(&budget))
            };
            let others = [spawn(), spawn()];
            let own = spend(&budget);
            let spent = others
                .into_iter()
                .map(|other| other.join().unwrap())
                .sum::<u64>()
                + own;
            assert_eq!((spent, budget.available(Duration::ZERO)), (2, 0));
        });
    }

    #[test]
    fn loom_withdraw_deposit_and_refund_lose_and_overspend_nothing() {
        loom::model(|| {
            let budget = budget(1);
            let (depositor, refunder) = (budget.clone(), budget.clone());
            let deposit = thread::spawn(move || depositor.deposit(Duration::ZERO));
            let refund = thread::spawn(move || drop(withdraw(&refunder)));
            budget.deposit(Duration::ZERO);
            let spent = spend(&budget);
            deposit.join().unwrap();
            refund.join().unwrap();
            assert_eq!(budget.available(Duration::ZERO) + spent, 3);
        });
    }
}

#[test]
fn tokens_that_are_taken_go_back_unless_they_are_spent() {
    let budget = RetryBudget::builder().capacity(2).build().unwrap();
    let taken = budget.take(2.into(), Duration::ZERO).unwrap();
    assert!(budget.take(1.into(), Duration::ZERO).is_none());
    drop(taken);
    assert_eq!(budget.available(Duration::ZERO), 2);
    budget.take(1.into(), Duration::ZERO).unwrap().spend();
    assert_eq!(budget.available(Duration::ZERO), 1);
}
