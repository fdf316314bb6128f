//! Limits of attempts, the deadline, and reads that stall.

use crate::calls::URL;
use crate::server::{BodyEnd, Server, Step};
use http_retry_core::report::AttemptReport;
use http_retry_core::rules::{Rule, Wait};
use http_retry_core::runtime::Runtime;
use http_retry_core::{Backoff, ErrorKind, Jitter, Reach, RetryPolicyBuilder};
use http_retry_rules::Condition;
use http_retry_ureq::{Retries, RetryOverride, RetryPolicy, RetryReport, StopReason};
use std::io::Read;
use std::time::Duration;
use ureq::Error;

const SECOND: Duration = Duration::from_secs(1);

fn policy() -> RetryPolicyBuilder {
    let backoff = Backoff::fixed(SECOND).jitter(Jitter::None);
    RetryPolicy::background().to_builder().backoff(backoff)
}

fn build(policy: RetryPolicyBuilder) -> Retries {
    Retries::new(policy.build().unwrap())
}

fn took(attempts: &[AttemptReport]) -> Vec<Duration> {
    attempts.iter().map(|one| one.took).collect()
}

#[test]
fn a_cut_attempt_may_have_been_processed() {
    for method in ["GET", "POST"] {
        let server = Server::new([Step::Silence, Step::status(200).after(SECOND)]);
        let agent = server.agent(build(policy().attempt_timeout(SECOND * 3)));
        let slot = RetryReport::slot();
        let request = ureq::http::Request::builder().method(method).uri(URL);
        let request = request.extension(slot.clone()).body("x").unwrap();
        let result = agent.run(request);
        let report = slot.take().unwrap();
        if method == "GET" {
            assert!(result.is_ok());
            assert_eq!(took(&report.attempts), [SECOND * 3, SECOND]);
            assert_eq!(server.clock.now(), SECOND * 5);
        } else {
            assert!(matches!(result, Err(Error::Timeout(_))), "{result:?}");
            assert_eq!(report.stop, StopReason::NotIdempotent);
        }
        let first = &report.attempts[0];
        assert_eq!(
            (first.error, first.reach),
            (Some(ErrorKind::Timeout), Reach::Ambiguous)
        );
    }
}

#[test]
fn a_post_without_a_connection_in_time_is_repeated() {
    let server = Server::new([Step::ConnectHangs]);
    let agent = server.agent(build(policy().attempt_timeout(SECOND * 3)));
    let slot = RetryReport::slot();
    agent.post(URL).extension(slot.clone()).send("x").unwrap();
    let report = slot.take().unwrap();
    let first = &report.attempts[0];
    assert_eq!(
        (first.error, first.reach),
        (Some(ErrorKind::ConnectTimeout), Reach::Unsent)
    );
}

#[test]
fn the_shorter_of_ureqs_own_limit_and_the_attempts_counts() {
    let server = Server::new([Step::ConnectHangs, Step::Silence]);
    let agent = server.agent_with(build(policy().attempt_timeout(SECOND * 3)), |config| {
        config
            .timeout_connect(Some(SECOND))
            .timeout_recv_response(Some(SECOND * 90))
    });
    let slot = RetryReport::slot();
    agent.get(URL).extension(slot.clone()).call().unwrap();
    let report = slot.take().unwrap();
    let [connect, silence, _] = took(&report.attempts)[..] else {
        panic!("{report:?}")
    };
    assert!(connect <= SECOND, "{connect:?}");
    assert_eq!(silence, SECOND * 3);
}

#[test]
fn a_limit_of_the_attempt_does_not_cut_the_body() {
    let server = Server::new([Step::status(200).ends(BodyEnd::Stalls)]);
    let agent = server.agent_with(build(policy().attempt_timeout(SECOND * 3)), |config| {
        config.timeout_recv_body(Some(SECOND * 60))
    });
    let mut response = agent.get(URL).call().unwrap();
    let read = response.body_mut().as_reader().read_to_end(&mut Vec::new());
    assert!(read.is_err());
    assert!(server.clock.now() > SECOND * 59, "{:?}", server.clock.now());
}

#[test]
fn nothing_is_waited_for_beyond_the_deadline() {
    let server = Server::new((0..9).map(|_| Step::Silence));
    let agent = server.agent(build(
        policy().attempt_timeout(SECOND * 3).deadline(SECOND * 10),
    ));
    let slot = RetryReport::slot();
    let error = agent.get(URL).extension(slot.clone()).call().unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error}");
    let report = slot.take().unwrap();
    assert_eq!(took(&report.attempts), [SECOND * 3, SECOND * 3, SECOND * 2]);
    assert_eq!(report.stop, StopReason::DeadlineExceeded);
    assert_eq!(server.clock.now(), SECOND * 10);
}

#[test]
fn a_request_may_have_a_deadline_of_its_own() {
    let server = Server::new([Step::Silence]);
    let agent = server.agent(build(policy()));
    let own = RetryOverride::new().deadline(SECOND * 2);
    let error = agent.get(URL).extension(own).call().unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error}");
    assert_eq!(server.clock.now(), SECOND * 2);
    let own = RetryOverride::off().deadline(SECOND * 2);
    let server = Server::new([Step::Silence]);
    let agent = server.agent(build(policy()));
    assert!(agent.get(URL).extension(own).call().is_err());
    assert_eq!(server.clock.now(), SECOND * 2);
}

#[test]
fn a_failed_response_that_stalls_delays_its_retry_by_a_second() {
    let server = Server::new([Step::status(503).ends(BodyEnd::Stalls)]);
    server.agent(build(policy())).get(URL).call().unwrap();
    let waited = server.received()[1].at;
    assert!((SECOND..=SECOND * 2).contains(&waited), "{waited:?}");
}

#[test]
fn a_failed_response_that_stalls_until_the_deadline_comes_back() {
    for status in [503, 429, 500] {
        for method in ["GET", "DELETE"] {
            let server = Server::new([Step::status(status).ends(BodyEnd::Stalls)]);
            let soon = Backoff::fixed(SECOND / 10).jitter(Jitter::None);
            let retries = build(policy().backoff(soon).deadline(SECOND / 2));
            let agent = server.agent_with(retries, |config| config.http_status_as_error(false));
            let request = ureq::http::Request::builder().method(method).uri(URL);
            let mut response = agent.run(request.body(()).unwrap()).unwrap();
            assert_eq!(response.status(), status);
            assert!(server.clock.now() <= SECOND / 2, "{:?}", server.clock.now());
            let report = response.extensions().get::<RetryReport>().unwrap();
            assert_eq!(report.stop, StopReason::DeadlineExceeded);
            // The bytes before the stall are there.
            let mut start = [0; 5];
            response
                .body_mut()
                .as_reader()
                .read_exact(&mut start)
                .unwrap();
            assert_eq!(start, *b"body ");
        }
    }
}

#[test]
fn a_wait_past_the_deadline_gives_the_last_outcome() {
    // The clock jumps over the deadline while the retry is waited for.
    let server = Server::new([Step::status(503)]);
    let clock = server.clock.clone();
    let jump = move |event: &http_retry_core::report::RetryEvent<'_>| {
        if let http_retry_core::report::RetryEventKind::RetryScheduled { .. } = event.kind {
            clock.advance(SECOND * 60);
        }
    };
    let budget = http_retry_ureq::RetryBudget::default();
    let retries = build(policy().deadline(SECOND * 30))
        .observe(jump)
        .budget(budget.clone());
    let slot = RetryReport::slot();
    let error = server
        .agent(retries)
        .get(URL)
        .extension(slot.clone())
        .call()
        .unwrap_err();
    assert!(matches!(error, Error::StatusCode(503)), "{error}");
    assert_eq!(slot.take().unwrap().stop, StopReason::DeadlineExceeded);
    assert_eq!((server.received().len(), budget.available(SECOND)), (1, 20));
}

#[test]
fn no_call_spins_for_free() {
    let wait = Rule::when(Condition::status([202, 503]).unwrap()).wait(Wait::new());
    let backoff = Backoff::fixed(Duration::from_millis(1)).jitter(Jitter::None);
    let policy = policy().backoff(backoff).deadline(SECOND * 5).rule(wait);
    let policy = policy.max_attempts(1_000);
    for (status, asked) in [(202, "0"), (503, "0.001"), (429, "0"), (429, "0.01")] {
        let step = Step::status(status).header("retry-after", asked);
        let server = Server::new(vec![step; 6_000]);
        let slot = RetryReport::slot();
        let request = ureq::http::Request::get(URL).extension(slot.clone());
        let result = server
            .agent(build(policy.clone()))
            .run(request.body(()).unwrap());
        drop(result);
        let report = slot.take().unwrap();
        assert_eq!(report.stop, StopReason::DeadlineExceeded);
        let attempts = report.attempt_count;
        assert!((40..=51).contains(&attempts), "{status}: {attempts} in 5 s");
    }
}
