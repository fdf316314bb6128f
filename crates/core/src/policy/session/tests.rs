//! The way of one request through a policy.

mod failover;
mod once;
mod pages;

use super::longest_spread;
use super::*;
use crate::budget::RetryBudget;
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::rules::predicate::tests::{failure, status};
use crate::policy::rules::{Action, Rule, Wait};
use crate::policy::{Backoff, Class, DelaySource, ErrorKind, Jitter, Methods, Reach, Verdict};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

const SECOND: Duration = Duration::from_secs(1);

fn policy() -> RetryPolicy {
    let backoff = Backoff::fixed(SECOND);
    let builder = RetryPolicy::builder().backoff(backoff);
    let builder = builder.max_server_delay(SECOND * 60).max_gate_wait(None);
    builder.build().unwrap()
}

fn session(policy: &RetryPolicy, method: &Method) -> RetrySession {
    policy.session(RequestFacts::of(method, &HeaderMap::new()), Duration::ZERO)
}

fn stop(session: &RetrySession, outcome: &Outcome<'_>, moment: Moment) -> Option<StopReason> {
    session.plan(outcome, moment).err()
}

fn plan(session: &RetrySession, outcome: &Outcome<'_>, moment: Moment) -> RetryPlan {
    session.plan(outcome, moment).unwrap()
}

fn retry_after(seconds: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static(seconds))])
}

fn response(status: u16, headers: &HeaderMap) -> Outcome<'_> {
    Outcome::response(StatusCode::from_u16(status).unwrap(), headers)
}

/// Returns what follows from an outcome that was seen `after` the start of its attempt.
fn seen(session: &mut RetrySession, outcome: Outcome<'_>, after: Duration) -> Decision {
    session.attempt_started(SECOND * 100);
    let mut outcome = outcome;
    // The longest backoff that is drawn.
    let now = Moment::new(SECOND * 100 + after).with_random(u64::MAX);
    session.judge_end(&mut outcome, None, now)
}

#[test]
fn the_first_check_that_fails_gives_the_stop_reason() {
    let (none, long) = (HeaderMap::new(), retry_after("61"));
    let now = Moment::new(SECOND * 100);
    let deadline = RetryOverride::new().deadline(SECOND);
    let mut session = session(&policy(), &Method::POST).with_override(&deadline);
    session.set_replayable(false);

    let stops = |session: &RetrySession, outcome: &Outcome<'_>, why| {
        assert_eq!(stop(session, outcome, now), Some(why));
    };

    let no_retries = RetryOverride::new().max_retries(0);
    let exhausted = session.clone().with_override(&no_retries);
    let permanent = Outcome::response(StatusCode::NOT_FOUND, &none);
    stops(&exhausted, &permanent, StopReason::AttemptsExhausted);
    stops(&session, &permanent, StopReason::NotRetryable);

    let failed = Outcome::response(StatusCode::INTERNAL_SERVER_ERROR, &long);
    stops(&session, &failed, StopReason::BodyNotReplayable);
    session.set_replayable(true);
    stops(&session, &failed, StopReason::NotIdempotent);

    let throttled = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &long);
    stops(&session, &throttled, StopReason::ServerDelayTooLong);
    let throttled = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &none);
    stops(&session, &throttled, StopReason::DeadlineExceeded);
    let at_the_start = Moment::new(Duration::ZERO);
    assert_eq!(stop(&session, &throttled, at_the_start), None);
}

#[test]
fn a_post_is_repeated_only_if_proven_unprocessed() {
    for (kind, repeated) in [
        (ErrorKind::Connect, true),
        (ErrorKind::NotProcessed, true),
        (ErrorKind::Timeout, false),
        (ErrorKind::Reset, false),
        (ErrorKind::Certificate, false),
    ] {
        let session = session(&policy(), &Method::POST);
        let stopped = stop(&session, &Outcome::error(kind), Moment::default());
        assert_eq!(stopped.is_none(), repeated, "{kind}");
    }
}

#[test]
fn the_longer_of_backoff_and_server_delay_wins() {
    let headers = retry_after("10");
    let outcome = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    for random in [0, 1, u64::MAX / 2, u64::MAX] {
        let moment = Moment::default().with_random(random);
        let plan = plan(&session(&policy(), &Method::GET), &outcome, moment);
        assert!(
            (SECOND * 10..=SECOND * 12).contains(&plan.delay),
            "{:?}",
            plan.delay
        );
        assert_eq!(plan.source, DelaySource::Server);
    }
    let patient = policy()
        .to_builder()
        .backoff(Backoff::fixed(SECOND * 40))
        .build()
        .unwrap();
    let moment = Moment::default().with_random(u64::MAX);
    let plan = plan(&session(&patient, &Method::GET), &outcome, moment);
    assert!(plan.delay >= SECOND * 40);
    assert_eq!(plan.source, DelaySource::Own);
}

#[test]
fn a_spread_is_a_fifth_and_at_most_ten_seconds() {
    assert_eq!(longest_spread(SECOND * 20), SECOND * 4);
    assert_eq!(longest_spread(SECOND * 3_600), SECOND * 10);
    assert_eq!(longest_spread(Duration::MAX), SECOND * 10);
}

#[test]
fn an_attempt_is_limited_by_timeout_and_deadline() {
    let policy = policy()
        .to_builder()
        .deadline(SECOND * 10)
        .attempt_timeout(SECOND * 4)
        .build()
        .unwrap();
    let session = session(&policy, &Method::GET);
    assert_eq!(session.attempt_limit(Duration::ZERO), Some(SECOND * 4));
    assert_eq!(session.attempt_limit(SECOND * 8), Some(SECOND * 2));
    assert_eq!(session.attempt_limit(SECOND * 11), Some(Duration::ZERO));
}

#[test]
fn a_requests_own_settings_override_the_policy() {
    let all = policy().to_builder().methods(Methods::All).build().unwrap();
    let start = || session(&all, &Method::POST);
    let reset = Outcome::error(ErrorKind::Reset);
    let with = |own: RetryOverride| stop(&start().with_override(&own), &reset, Moment::default());
    assert_eq!(with(RetryOverride::new()), None);
    assert_eq!(
        with(RetryOverride::new().idempotent(false)),
        Some(StopReason::NotIdempotent)
    );
    assert_eq!(with(RetryOverride::off()), Some(StopReason::Disabled));
    let nested = start().disabled(StopReason::Nested);
    assert_eq!(
        stop(&nested, &reset, Moment::default()),
        Some(StopReason::Nested)
    );
    assert!(!nested.may_retry() && start().may_retry());
}

#[test]
fn a_users_classifier_precedes_the_standard_table() {
    let headers = HeaderMap::new();
    let policy = policy()
        .to_builder()
        .classify(|outcome| {
            let conflict = outcome.status() == Some(StatusCode::CONFLICT);
            conflict.then_some((Class::Transient, Reach::Refused))
        })
        .build()
        .unwrap();
    let class = |status| policy.classify(Outcome::response(status, &headers)).class();
    assert_eq!(class(StatusCode::CONFLICT), Class::Transient);
    assert_eq!(class(StatusCode::NOT_FOUND), Class::Permanent);
}

#[test]
fn a_plan_changes_nothing_until_it_is_paid_for_and_applied() {
    let mut session = session(&policy(), &Method::GET);
    let reset = Outcome::error(ErrorKind::Reset);
    let empty = crate::RetryBudget::builder().initial(0).build().unwrap();
    let refused = empty.withdraw(plan(&session, &reset, Moment::default()), Duration::ZERO);
    assert_eq!(refused.unwrap_err(), StopReason::BudgetExhausted);
    assert_eq!(session.retries(), 0);

    let second = plan(&session, &reset, Moment::default());
    assert_eq!(second.retry(), 1);
    let budget = crate::RetryBudget::default();
    let paid = budget.withdraw(second, Duration::ZERO).unwrap();
    session.apply(&paid);
    session.apply(&paid);
    assert_eq!(session.retries(), 1);
    assert_eq!(plan(&session, &reset, Moment::default()).retry(), 2);
}

#[test]
fn only_never_without_retries_stops_as_disabled() {
    let reset = Outcome::error(ErrorKind::Reset);
    let never = RetryPolicy::never();
    let stopped = |policy: &RetryPolicy, own: RetryOverride| {
        let session = session(policy, &Method::GET).with_override(&own);
        stop(&session, &reset, Moment::default())
    };
    assert_eq!(
        stopped(&never, RetryOverride::new()),
        Some(StopReason::Disabled)
    );
    assert_eq!(stopped(&never, RetryOverride::new().max_retries(1)), None);
    let limited = policy().to_builder().max_retries(0).build().unwrap();
    let exhausted = Some(StopReason::AttemptsExhausted);
    assert_eq!(stopped(&limited, RetryOverride::new()), exhausted);
    let more = never.to_builder().max_retries(1).build().unwrap();
    assert_eq!(stopped(&more, RetryOverride::new()), None);
}

#[test]
fn a_layer_without_retries_leaves_them_to_others() {
    let repeats = |retries| {
        let policy = policy().to_builder().max_retries(retries).build();
        session(&policy.unwrap(), &Method::GET).repeats()
    };
    assert!(repeats(1));
    assert!(!repeats(0));
}

#[test]
fn a_success_that_no_rule_covers_is_accepted() {
    let otherwise = policy().to_builder().otherwise(Action::Retry(policy()));
    let session = session(&otherwise.build().unwrap(), &Method::GET);
    let (none, now) = (HeaderMap::new(), Moment::default());
    let stopped = |status| stop(&session, &response(status, &none), now);
    assert_eq!(stopped(503), None);
    assert_eq!(stopped(200), Some(StopReason::Succeeded));
}

#[test]
fn a_call_without_retries_is_not_sent_back_to_the_gate() {
    let headers = retry_after("5");
    let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    let retries = |retries| {
        let builder = RetryPolicy::background().to_builder();
        builder.max_retries(retries).build().unwrap()
    };
    let none = session(&retries(0), &Method::GET);
    let why = stop(&none, &refused, Moment::default());
    assert_eq!(why, Some(StopReason::AttemptsExhausted));
    let one = session(&retries(1), &Method::GET);
    let source = plan(&one, &refused, Moment::default()).source;
    assert_eq!(source, DelaySource::Gate);
}

/// Returns the sources of all delays of a request that is refused each time, and the reason for its end.
fn always_refused(
    session: &mut RetrySession,
    seconds: &'static str,
) -> (Vec<DelaySource>, StopReason) {
    let headers = retry_after(seconds);
    let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    let budget = crate::RetryBudget::unlimited();
    let mut sources = Vec::new();
    loop {
        match session.plan(&refused, Moment::default()) {
            Ok(plan) => {
                sources.push(plan.source);
                session.apply(&budget.withdraw(plan, Duration::ZERO).unwrap());
            }
            Err(why) => return (sources, why),
        }
    }
}

#[test]
fn refused_attempts_count_as_retries_by_default() {
    let exhausted = StopReason::AttemptsExhausted;
    for preset in [RetryPolicy::background(), RetryPolicy::rate_limited()] {
        let policy = preset.to_builder().max_attempts(2).build().unwrap();
        let mut session = session(&policy, &Method::GET);
        assert_eq!(
            always_refused(&mut session, "1"),
            (vec![DelaySource::Gate], exhausted)
        );
        assert_eq!(session.retries(), 1);
    }
    let mut five = session(&RetryPolicy::background(), &Method::GET);
    assert_eq!(
        always_refused(&mut five, "1"),
        (vec![DelaySource::Gate; 4], exhausted)
    );
    // A delay longer than the call may wait at the gate delays this call alone.
    let mut long = session(&RetryPolicy::background(), &Method::GET);
    assert_eq!(
        always_refused(&mut long, "301"),
        (vec![DelaySource::Server; 4], exhausted)
    );
}

#[test]
fn refused_attempts_count_separately_up_to_max_refused() {
    let builder = RetryPolicy::background().to_builder();
    let policy = builder.max_attempts(3).max_refused(4).build().unwrap();
    let mut both = session(&policy, &Method::GET);
    let wanted = (vec![DelaySource::Gate; 6], StopReason::AttemptsExhausted);
    assert_eq!(always_refused(&mut both, "1"), wanted);
    assert_eq!(both.retries(), 2);
    let (sources, _) = always_refused(
        &mut session(&RetryPolicy::rate_limited(), &Method::GET),
        "20",
    );
    // Each waits for 20 s, and a fifth more at most.
    let refused = sources.len() - 2;
    assert!((900 / 24..=900 / 20).contains(&refused), "{refused}");
}

#[test]
fn all_waits_at_the_gate_count_towards_its_limit() {
    let builder = RetryPolicy::background().to_builder();
    let policy = builder.max_gate_wait(SECOND * 10).max_refused(9).build();
    let mut session = session(&policy.unwrap(), &Method::GET);
    let moment = |seconds| Moment::new(SECOND * seconds);
    let left = |session: &RetrySession| session.gate_wait_left().unwrap();
    session.has_waited_at_the_gate(SECOND * 4);
    assert_eq!(left(&session), SECOND * 6);

    let headers = retry_after("5");
    let mut refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    let Decision::Retry(plan) = session.judge_end(&mut refused, None, moment(4)) else {
        panic!("it may wait for 5 s");
    };
    assert_eq!(plan.source, DelaySource::Gate);
    let paid = RetryBudget::unlimited().withdraw(plan, Duration::ZERO);
    session.apply(&paid.unwrap());
    assert!(left(&session) <= SECOND, "{:?}", left(&session));
    session.has_waited_at_the_gate(SECOND * 2);
    assert_eq!(left(&session), Duration::ZERO);
    // No more waits at the gate: this one is a retry like any other.
    assert_ne!(
        session.plan(&refused, moment(11)).unwrap().source,
        DelaySource::Gate
    );
}

#[test]
fn a_requests_own_limit_bounds_refused_attempts_too() {
    let own = RetryOverride::new().max_retries(2);
    let mut session = session(&RetryPolicy::rate_limited(), &Method::GET).with_override(&own);
    let wanted = (vec![DelaySource::Gate; 2], StopReason::AttemptsExhausted);
    assert_eq!(always_refused(&mut session, "1"), wanted);
    assert!(!session.may_retry());
}

/// The delay that follows the first refusal, if the server asks for this.
fn gated_delay(policy: &RetryPolicy, asked: &'static str, random: u64) -> Duration {
    let session = session(policy, &Method::GET);
    let headers = retry_after(asked);
    let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    let plan = plan(&session, &refused, Moment::default().with_random(random));
    assert_eq!(plan.source, DelaySource::Gate);
    plan.delay
}

#[test]
fn a_wait_lasts_as_long_as_a_body_or_a_table_asks() {
    let throttled = Verdict::new(Class::Throttled, Reach::Answered);
    for verdict in [
        throttled.asking_for(SECOND * 20),
        throttled.at_least(SECOND * 20),
    ] {
        let poll = Rule::when(status(503)).wait(Wait::new().at_most(2));
        let builder = policy().to_builder().rule(poll);
        let builder = builder.classify(move |_: &Outcome<'_>| Some(verdict));
        let policy = builder.build().unwrap();
        let headers = HeaderMap::new();
        let outcome = policy.classify(response(503, &headers));
        let plan = plan(&session(&policy, &Method::GET), &outcome, Moment::default());
        // With the spread.
        assert!(plan.delay >= SECOND * 20 && plan.delay <= SECOND * 24);
    }
}

#[test]
fn a_timeout_is_one_with_and_without_a_head() {
    let none = HeaderMap::new();
    assert!(Outcome::error(ErrorKind::Timeout).ran_out_of_time());
    assert!(!Outcome::error(ErrorKind::Reset).ran_out_of_time());
    assert!(!response(200, &none).ran_out_of_time());
    let silent =
        Verdict::new(Class::Transient, Reach::Answered).because(crate::policy::Reason::Timeout);
    assert!(response(200, &none).judged(silent).ran_out_of_time());
    assert!(!response(504, &none).judged(silent).ran_out_of_time());
}

#[test]
fn a_rule_waits_as_often_as_it_says() {
    let none = HeaderMap::new();
    let poll = Rule::when(status(503)).wait(Wait::new().at_most(2));
    let policy = policy().to_builder().rule(poll).build().unwrap();
    let mut session = session(&policy, &Method::GET);
    let busy = response(503, &none);
    for _ in 0..2 {
        let paid = RetryBudget::unlimited()
            .withdraw(plan(&session, &busy, Moment::default()), Duration::ZERO)
            .unwrap();
        session.apply(&paid);
        paid.commit();
    }
    let stopped = stop(&session, &busy, Moment::default());
    assert_eq!(stopped, Some(StopReason::WaitsExhausted));
    assert_eq!(session.retries(), 0);
}

#[test]
fn a_refusal_that_asks_for_next_to_nothing_waits_the_backoff() {
    let with = |preset: RetryPolicy, backoff| preset.to_builder().backoff(backoff).build().unwrap();
    let background = |backoff| with(RetryPolicy::background(), backoff);
    let second = || Backoff::fixed(SECOND).jitter(Jitter::None);
    for asked in ["0", "0.001", "0.099", "soon"] {
        for random in [0, u64::MAX] {
            assert_eq!(gated_delay(&background(second()), asked, random), SECOND);
            let short = Backoff::fixed(Duration::from_millis(9)).jitter(Jitter::None);
            for short in [Backoff::none(), short] {
                let delay = gated_delay(&background(short), asked, random);
                assert_eq!(delay, MIN_UNPAID_WAIT, "{asked}");
            }
            // The gate paces the calls whose refusals count separately.
            let delay = gated_delay(&with(RetryPolicy::rate_limited(), second()), asked, random);
            let most = MIN_UNPAID_WAIT * 6 / 5;
            assert!(
                delay >= MIN_UNPAID_WAIT && delay <= most,
                "{asked}: {delay:?}"
            );
        }
    }
    for (asked, millis) in [("0.1", 100), ("0.25", 250), ("7", 7_000)] {
        let asks_for = Duration::from_millis(millis);
        for (policy, own) in [
            (background(second()), SECOND),
            (RetryPolicy::rate_limited(), Duration::ZERO),
        ] {
            let delay = gated_delay(&policy, asked, u64::MAX / 2);
            assert!(delay >= own.max(asks_for), "{asked}: {delay:?}");
            assert!(delay <= own.max(asks_for * 6 / 5), "{asked}: {delay:?}");
        }
    }
}

/// The delays of a call that is refused each time, each in the middle of its range.
fn delays_of_refusals(policy: &RetryPolicy, asked: &'static str) -> Vec<Duration> {
    let mut session = session(policy, &Method::GET);
    let headers = retry_after(asked);
    let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    let budget = crate::RetryBudget::unlimited();
    let moment = Moment::default().with_random(u64::MAX / 2);
    let mut delays = Vec::new();
    while let Ok(plan) = session.plan(&refused, moment) {
        // Once there is no time left at the gate, refused attempts count as retries.
        if plan.source != DelaySource::Gate {
            break;
        }
        delays.push(plan.delay);
        session.apply(&budget.withdraw(plan, Duration::ZERO).unwrap());
    }
    delays
}

#[test]
fn after_three_refusals_in_a_row_a_call_waits_its_backoff() {
    let policy = RetryPolicy::rate_limited();
    for asked in ["0", "1", "5"] {
        let delays = delays_of_refusals(&policy, asked);
        assert!(delays.len() < 60, "{asked}: {delays:?}");
    }
    let delays = delays_of_refusals(&policy, "1");
    assert!(delays[..3].iter().all(|delay| *delay <= SECOND * 6 / 5));
    assert!(
        delays[12..28].iter().all(|delay| *delay > SECOND * 2),
        "{delays:?}"
    );
    // A server that asks for longer than the backoff is taken at its word.
    let delays = delays_of_refusals(&policy, "40");
    assert!(delays.iter().all(|delay| *delay <= SECOND * 48));
}

#[test]
fn another_outcome_begins_the_row_of_refusals_anew() {
    let policy = RetryPolicy::rate_limited();
    let mut session = session(&policy, &Method::GET);
    let headers = retry_after("1");
    let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    let empty = HeaderMap::new();
    let budget = crate::RetryBudget::unlimited();
    let moment = Moment::default().with_random(u64::MAX / 2);
    for outcome in [
        &refused,
        &refused,
        &refused,
        &response(503, &empty),
        &refused,
    ] {
        let plan = plan(&session, outcome, moment);
        if outcome.status() == Some(StatusCode::TOO_MANY_REQUESTS) {
            assert!(plan.delay <= SECOND * 6 / 5, "{:?}", plan.delay);
        }
        session.apply(&budget.withdraw(plan, Duration::ZERO).unwrap());
    }
}
