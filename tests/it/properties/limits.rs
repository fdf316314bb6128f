//! Nothing that decides or acts panics, whatever it is given.

use super::a_thousand_cases;
use super::inputs::{
    Seen, backoff, builder, count, decimal, duration, facts, headers, integer, judgement, moment,
    own_settings, seen, status,
};
use super::sound::policy;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::policy::{Moment, ServerHints};
use http_retry::report::RetryEvent;
use http_retry::run::Runner;
use http_retry::runtime::{Runtime, Sleep};
use http_retry::tower::RetryLayer;
use http_retry::{
    Class, Outcome, Reach, RequestFacts, RetryBudget, RetryOverride, RetryPolicy, RetryReport,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, Service};

/// A clock and a dice that jump from one given moment to another, for ever; no wait takes any time.
struct Wild(Mutex<VecDeque<Moment>>);

impl Wild {
    fn new(moments: Vec<Moment>) -> Self {
        Self(Mutex::new(moments.into()))
    }
}

impl Runtime for Wild {
    fn now(&self) -> Duration {
        self.moment().now
    }

    fn moment(&self) -> Moment {
        let mut moments = self.0.lock().unwrap();
        moments.rotate_left(1);
        moments.front().copied().unwrap_or_default()
    }

    fn sleep(&self, _: Duration) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

type Answer = (StatusCode, HeaderMap);

fn watch(event: &RetryEvent<'_>) {
    assert!(!format!("{event:?}").is_empty());
}

/// One request through the tower layer, with these answers and then a 200; the report and the last status.
fn call(
    layer: &RetryLayer,
    own: RetryOverride,
    answers: Vec<Answer>,
) -> (Option<RetryReport>, StatusCode) {
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    let client = tower::service_fn(move |_: Request<Full<Bytes>>| {
        let (status, headers) = answers.lock().unwrap().pop_front().unwrap_or_default();
        let mut response = Response::new(Full::new(Bytes::from_static(b"body")));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let slot = RetryReport::slot();
    let mut request = Request::new(Full::default());
    request.extensions_mut().insert(own);
    request.extensions_mut().insert(slot.clone());
    // The inner service has no errors, so that each call ends in a response.
    let layer = layer.clone().unchanged_errors();
    let response = layer.layer(client).call(request).now_or_never();
    (slot.take(), response.unwrap().unwrap().status())
}

proptest! {
    #![proptest_config(a_thousand_cases())]

    #[test]
    fn a_backoff_of_any_kind_gives_delays(
        backoff in backoff(),
        previous in duration(),
        n in count(),
        random in integer(),
    ) {
        let longest = backoff.delay_after(previous, n, u64::MAX);
        prop_assert!(backoff.delay_after(previous, n, random) <= longest);
        let text = format!("{backoff}: {backoff:?}, {:?}", backoff.ceiling(n));
        prop_assert!(!text.starts_with(':'));
    }

    #[test]
    fn any_settings_make_a_policy_or_name_a_bad_field(builder in builder()) {
        match builder.build() {
            Ok(policy) => prop_assert!(policy.explain().contains("attempt")),
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.starts_with(&*error.field) && text.contains(&error.given));
                prop_assert!(!error.field.is_empty() && !error.allowed.is_empty());
            }
        }
    }

    #[test]
    fn a_policy_of_any_size_is_explained(policy in policy()) {
        prop_assert!(policy.explain().contains("worst case"));
    }

    #[test]
    fn a_session_survives_hundreds_of_outcomes(
        policy in policy(),
        facts in facts(),
        own in option::of(own_settings()),
        started in duration(),
        attempts in vec((seen(), moment()), 1..12),
        rounds in 1_usize..40,
    ) {
        let mut session = policy.session(facts, started);
        if let Some(own) = &own {
            session = session.with_override(own);
        }
        let all = attempts.iter().cycle().take(attempts.len() * rounds);
        let mut sent = 0_u64;
        for (seen, moment) in all {
            let outcome = policy.classify(seen.outcome());
            sent += u64::from(super::retry(&mut session, &outcome, *moment).is_some());
            let _ = session.attempt_limit(moment.now);
        }
        let retries = u64::from(session.retries());
        let worst = policy.worst_case();
        prop_assert!(own.is_some() || sent - retries <= worst.gated_attempts);
        prop_assert!(own.is_some() || worst.attempts.is_none_or(|most| retries < most));
    }

    #[test]
    fn refusals_at_the_gate_are_within_the_worst_case(
        at_gate in 1_u64..30_000,
        retries in 1_u32..4,
        refused in 0_u32..40,
    ) {
        let policy = RetryPolicy::builder().max_retries(retries).max_refused(refused);
        let policy = policy.max_gate_wait(Duration::from_millis(at_gate)).build().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("retry-after-ms", HeaderValue::from_static("1"));
        let busy = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
        let facts = RequestFacts::operation().idempotent(true);
        let mut session = policy.session(facts, Duration::ZERO);
        let mut sent = 1;
        while super::retry(&mut session, &busy, Moment::new(Duration::ZERO)).is_some() {
            sent += 1;
        }
        let attempts = u64::from(session.retries()) + 1;
        let worst = policy.worst_case();
        prop_assert_eq!(worst.attempts, Some(attempts));
        // A wait has a spread, and grows if the server asks for next to nothing: it takes more of the time at the gate.
        prop_assert!(sent - attempts <= worst.gated_attempts);
    }

    #[test]
    fn headers_of_any_kind_are_read(status in status(), headers in headers(), wall in duration()) {
        let hints = ServerHints::read(status, &headers, wall);
        match (hints.delay(), hints.unreadable().next()) {
            (None, Some(name)) => {
                let start = name.trim_end_matches('*');
                prop_assert!(headers.keys().any(|own| own.as_str().starts_with(start)));
            }
            (Some(_), _) => prop_assert!(!headers.is_empty()),
            (None, None) => {}
        }
    }

    #[test]
    fn a_budget_of_any_kind_takes_any_time(
        amounts in [decimal(), decimal(), decimal(), decimal(), decimal(), decimal()],
        growth in duration(),
        times in vec((duration(), any::<bool>()), 1..40),
    ) {
        let [capacity, initial, per_second, per_success, retry, timeout] = amounts;
        let builder = RetryBudget::builder().per_second(per_second).per_success(per_success);
        let full = builder.clone().capacity(capacity).initial(initial).growth(growth);
        for builder in [full.retry_cost(retry).timeout_cost(timeout), builder.growth(growth)] {
            match builder.build() {
                Ok(budget) => times.iter().for_each(|(now, success)| use_once(&budget, *now, *success)),
                Err(error) => prop_assert!(error.field.starts_with("budget.")),
            }
        }
    }

    #[test]
    fn the_loop_ends_in_an_answer_whatever_the_clock_does(
        policy in policy(),
        own in own_settings(),
        answers in vec((status(), headers()), 0..12),
        moments in vec(moment(), 1..10),
        drain in (0_usize..10, duration()),
    ) {
        let statuses: Vec<StatusCode> = answers.iter().map(|(status, _)| *status).collect();
        let layer = RetryLayer::new(policy)
            .runtime(Wild::new(moments))
            .observe(watch)
            .drain_before_retry(drain.0, drain.1);
        #[cfg(feature = "metrics")]
        let layer = layer.observer(http_retry::report::MetricsObserver::new());
        let (report, last) = call(&layer, own, answers);
        let report = report.unwrap();
        let sent = usize::try_from(report.attempt_count).unwrap();
        prop_assert_eq!(last, statuses.get(sent - 1).copied().unwrap_or(StatusCode::OK));
        prop_assert!(report.to_string().contains(report.stop.as_str()));
    }

    #[test]
    fn an_operation_ends_in_its_own_result_whatever_the_clock_does(
        policy in policy(),
        errors in vec(judgement(), 0..20),
        moments in vec(moment(), 1..10),
        idempotent in any::<bool>(),
    ) {
        let runner = Runner::on(Wild::new(moments), policy).observe(watch).idempotent(idempotent);
        let judge = |(class, reach, _): &(Class, Reach, u32)| (*class, *reach);
        let result = runner.run(judge, |attempt| {
            let index = usize::try_from(attempt.number).unwrap() - 1;
            let error = errors.get(index).copied();
            std::future::ready(match error {
                Some((class, reach)) => Err((class, reach, attempt.number)),
                None => Ok(attempt.number),
            })
        });
        let result = result.now_or_never().unwrap();
        let number = result.unwrap_or_else(|(_, _, number)| number);
        prop_assert!(usize::try_from(number).unwrap() <= errors.len() + 1);
    }
}

fn use_once(budget: &RetryBudget, now: Duration, success: bool) {
    if success {
        budget.deposit(now);
    }
    let seen = Seen::Response(StatusCode::SERVICE_UNAVAILABLE, HeaderMap::new());
    let facts = RequestFacts::operation().idempotent(true);
    let session = RetryPolicy::default().session(facts, now);
    if let Ok(plan) = session.plan(&seen.outcome(), Moment::new(now)) {
        drop(budget.withdraw(plan, now));
    }
    let tokens = budget.tokens_at(now);
    assert!(!format!("{tokens:?}").is_empty());
}
