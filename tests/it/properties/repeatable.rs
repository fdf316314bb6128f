//! The same inputs give the same decisions: nothing else has a say.

use super::inputs::{Seen, duration, facts, moment, own_settings, seen};
use super::sound::policy;
use super::{a_thousand_cases, retry};
use http_retry::RetryBudget;
use http_retry::policy::{Moment, RetrySession};
use proptest::collection::vec;
use proptest::prelude::*;

type Attempt = (Seen, Moment);

/// Everything that a session says of an attempt, delay included.
fn told(session: &mut RetrySession, (seen, moment): &Attempt) -> String {
    let stop = session.plan(&seen.outcome(), *moment).err();
    let decision = (stop, retry(session, &seen.outcome(), *moment));
    let limit = session.attempt_limit(moment.now);
    format!(
        "{decision:?} {limit:?} {} {}",
        session.retries(),
        session.may_retry()
    )
}

proptest! {
    #![proptest_config(a_thousand_cases())]

    #[test]
    fn two_sessions_decide_alike(
        policy in policy(),
        facts in facts(),
        own in own_settings(),
        started in duration(),
        attempts in vec((seen(), moment()), 1..12),
    ) {
        let session = || policy.session(facts, started).with_override(&own);
        let (mut one, mut other) = (session(), session());
        let alone: Vec<String> = attempts.iter().map(|attempt| told(&mut one, attempt)).collect();
        for (attempt, alone) in attempts.iter().zip(alone) {
            prop_assert_eq!(told(&mut other, attempt), alone);
        }
    }

    #[test]
    fn a_plan_that_is_not_paid_for_leaves_no_trace(
        policy in policy(),
        facts in facts(),
        attempts in vec((seen(), moment()), 1..10),
    ) {
        let mut session = policy.session(facts, std::time::Duration::ZERO);
        let empty = RetryBudget::builder().initial(0).build().unwrap();
        for (seen, moment) in &attempts {
            let before = format!("{session:?}");
            let plan = session.plan(&seen.outcome(), *moment);
            drop(plan.and_then(|plan| empty.withdraw(plan, moment.now)));
            prop_assert_eq!(format!("{session:?}"), before);
            retry(&mut session, &seen.outcome(), *moment);
        }
    }

    #[test]
    fn a_copy_of_a_session_decides_as_the_session_does(
        policy in policy(),
        facts in facts(),
        attempts in vec((seen(), moment()), 1..10),
        copied_after in 0_usize..10,
    ) {
        let mut session = policy.session(facts, std::time::Duration::ZERO);
        let (before, after) = attempts.split_at(copied_after.min(attempts.len()));
        before.iter().for_each(|attempt| drop(told(&mut session, attempt)));
        let mut copy = session.clone();
        let first: Vec<String> = after.iter().map(|attempt| told(&mut session, attempt)).collect();
        let then: Vec<String> = after.iter().map(|attempt| told(&mut copy, attempt)).collect();
        prop_assert_eq!(first, then);
    }

    #[test]
    fn requests_under_one_policy_do_not_influence_each_other(
        policy in policy(),
        facts in facts(),
        attempts in vec((seen(), moment()), 1..10),
        others in vec((seen(), moment()), 1..10),
    ) {
        let session = || policy.session(facts, std::time::Duration::ZERO);
        let mut alone = session();
        let wanted: Vec<String> = attempts.iter().map(|attempt| told(&mut alone, attempt)).collect();
        let (mut own, mut other) = (session(), session());
        for ((attempt, wanted), noise) in attempts.iter().zip(wanted).zip(others.iter().cycle()) {
            told(&mut other, noise);
            prop_assert_eq!(told(&mut own, attempt), wanted);
        }
    }
}
