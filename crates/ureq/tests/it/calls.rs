//! Results, reports, budgets and settings of single requests.

use crate::server::{Connection, Server, Step};
use http_retry_core::report::{RetryEvent, RetryEventKind};
use http_retry_core::rules::{Action, OnExhausted, Rule};
use http_retry_core::runtime::Runtime;
use http_retry_core::{ErrorKind, Methods, Reach};
use http_retry_dialects::dialect::Dialect;
use http_retry_rules::Condition;
use http_retry_ureq::{
    RateLimited, RequestFailed, Retries, RetryBudget, RetryOverride, RetryPolicy, RetryReport,
    StopReason,
};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ureq::http::{Method, Request, Response};
use ureq::middleware::MiddlewareNext;
use ureq::unversioned::transport::{ConnectionDetails, Connector};
use ureq::{Body, Error, SendBody};

pub(crate) const URL: &str = "http://a.example/orders?secret=1";
const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn retries() -> Retries {
    Retries::new(RetryPolicy::background())
}

fn text(result: Result<Response<Body>, Error>) -> String {
    result.unwrap().body_mut().read_to_string().unwrap()
}

#[test]
fn a_get_is_repeated_until_it_succeeds() {
    let server = Server::new([Step::status(503), Step::Closed, Step::status(200)]);
    let response = server.agent(retries()).get(URL).call().unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap().clone();
    assert_eq!(text(Ok(response)), "body of 200");
    assert_eq!(
        (report.attempt_count, report.stop),
        (3, StopReason::Succeeded)
    );
    let kinds: Vec<_> = report.attempts.iter().map(|one| one.error).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Incomplete), None]);
    assert_eq!(server.clock.sleeps().len(), 2);
}

#[test]
fn the_first_408_soon_after_its_attempt_is_repeated_at_once() {
    let soon = || Step::status(408).after(SECOND / 2);
    let server = Server::new([soon(), soon(), Step::status(200)]);
    let response = server.agent(retries()).post(URL).send("order").unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap();
    let waited: Vec<bool> = report
        .attempts
        .iter()
        .map(|one| one.delay.is_zero())
        .collect();
    assert_eq!(waited, [true, true, false]);
    assert_eq!(report.retries(), 2);
    let late = Server::new([Step::status(408).after(SECOND), Step::status(200)]);
    let response = late.agent(retries()).get(URL).call().unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap();
    assert!(!report.attempts[1].delay.is_zero());
}

#[test]
fn a_421_is_the_callers() {
    let server = Server::new([Step::status(421), Step::status(200)]);
    let error = server.agent(retries()).get(URL).call().unwrap_err();
    assert!(matches!(error, Error::StatusCode(421)), "{error}");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_report_says_by_what_a_call_stopped() {
    let down = || Condition::status([503]).unwrap();
    let ruled = Rule::when(down()).named("down").stop();
    let policy = || RetryPolicy::background().to_builder();
    for (policy, by) in [
        (policy().methods(Methods::only([Method::POST])), "methods"),
        (policy().stop_on([down()]), "stop_on"),
        (policy().rule(ruled), "down"),
        (policy().otherwise(Action::Fail), "otherwise"),
    ] {
        let server = Server::new([Step::status(503)]);
        let slot = RetryReport::slot();
        let agent = server.agent(Retries::new(policy.build().unwrap()));
        let _response = agent.get(URL).extension(slot.clone()).call();
        let report = slot.take().unwrap();
        assert_eq!(
            (report.attempt_count, report.stopped_by.as_deref()),
            (1, Some(by))
        );
        assert!(report.to_string().contains(by), "{report}");
    }
}

#[test]
fn a_first_success_has_no_report() {
    let server = Server::new([]);
    let response = server.agent(retries()).get(URL).call().unwrap();
    assert!(response.extensions().get::<RetryReport>().is_none());
    assert_eq!(text(Ok(response)), "body of 200");
}

#[test]
fn the_caller_gets_the_error_that_its_settings_ask_for() {
    let failing = || Server::new((0..9).map(|_| Step::status(503)));
    let server = failing();
    let error = server.agent(retries()).get(URL).call().unwrap_err();
    assert!(matches!(error, Error::StatusCode(503)), "{error}");
    assert_eq!(server.received().len(), 5);

    let server = failing();
    let agent = server.agent_with(retries(), |config| config.http_status_as_error(false));
    let response = agent.get(URL).call().unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!(text(Ok(response)), "body of 503");
}

#[test]
fn a_requests_own_settings_count_for_each_attempt() {
    let server = Server::new((0..5).map(|_| Step::status(503)));
    let agent = server.agent(retries());
    let request = agent.get(URL).config();
    let request = request
        .http_status_as_error(false)
        .user_agent("mine")
        .build();
    assert_eq!(text(request.call()), "body of 503");
    let agents = server.received();
    let agents: Vec<_> = agents.iter().map(|one| one.header("user-agent")).collect();
    assert_eq!(agents, [Some("mine"); 5]);
}

#[test]
fn retry_after_is_obeyed_and_too_long_a_wait_ends_the_request() {
    let server = Server::new([Step::status(503).header("retry-after", 30)]);
    let started = server.agent(retries()).get(URL).call();
    assert!(started.is_ok());
    let waited = server.received()[1].at;
    assert!(waited >= SECOND * 30 && waited <= SECOND * 36, "{waited:?}");

    let slot = RetryReport::slot();
    let server = Server::new([Step::status(503).header("retry-after", 3_600)]);
    let request = server.agent(retries()).get(URL).extension(slot.clone());
    assert!(matches!(request.call(), Err(Error::StatusCode(503))));
    assert_eq!(slot.take().unwrap().stop, StopReason::ServerDelayTooLong);
}

/// The ends of an attempt without a response, and if a POST is repeated after them.
fn ends_without_a_response() -> [(Step, bool, ErrorKind, Reach); 21] {
    use Reach::{Ambiguous, Unsent};
    use io::ErrorKind as Io;
    let fails_by = |kind, words| Step::FailsBy(kind, words);
    let alert = "received fatal alert: InternalError";
    let (rules, password) = (
        "connection not allowed by ruleset",
        "password authentication failed",
    );
    [
        (
            fails_by(Io::Other, "host unreachable"),
            true,
            ErrorKind::Connect,
            Unsent,
        ),
        (
            fails_by(Io::InvalidData, alert),
            true,
            ErrorKind::Tls,
            Unsent,
        ),
        (fails_by(Io::Other, rules), false, ErrorKind::Proxy, Unsent),
        (
            fails_by(Io::PermissionDenied, password),
            false,
            ErrorKind::Proxy,
            Unsent,
        ),
        (
            fails_by(Io::PermissionDenied, "no"),
            false,
            ErrorKind::Request,
            Unsent,
        ),
        (
            fails_by(Io::InvalidInput, "no"),
            false,
            ErrorKind::Request,
            Unsent,
        ),
        (
            fails_by(Io::Unsupported, "no"),
            false,
            ErrorKind::Request,
            Unsent,
        ),
        (Step::Proxy(407), false, ErrorKind::Proxy, Unsent),
        (Step::Proxy(403), false, ErrorKind::Proxy, Unsent),
        (Step::Proxy(503), true, ErrorKind::Connect, Unsent),
        (Step::NoHost, true, ErrorKind::Dns, Unsent),
        (Step::NoResolver, true, ErrorKind::Dns, Unsent),
        (Step::Refused, true, ErrorKind::Connect, Unsent),
        (Step::HandshakeReset, true, ErrorKind::Connect, Unsent),
        (Step::HandshakeEof, true, ErrorKind::Tls, Unsent),
        (Step::BadCertificate, false, ErrorKind::Certificate, Unsent),
        (Step::ResetAtWrite, false, ErrorKind::Reset, Ambiguous),
        (Step::ResetInBody, false, ErrorKind::Reset, Ambiguous),
        (Step::ResetAfterWrite, false, ErrorKind::Reset, Ambiguous),
        (Step::Closed, false, ErrorKind::Incomplete, Ambiguous),
        (Step::HalfHead, false, ErrorKind::Incomplete, Ambiguous),
    ]
}

#[test]
fn a_post_is_repeated_only_if_no_byte_of_it_was_written() {
    for (step, is_repeated, kind, reach) in ends_without_a_response() {
        let (server, slot) = (Server::new([step.clone()]), RetryReport::slot());
        let request = server.agent(retries()).post(URL).extension(slot.clone());
        let result = request.send("an order");
        assert_eq!(result.is_ok(), is_repeated, "{step:?}");
        let report = slot.take().unwrap();
        let first = &report.attempts[0];
        assert_eq!((first.error, first.reach), (Some(kind), reach), "{step:?}");
        for received in server.received().iter().filter(|_| is_repeated) {
            assert_eq!(received.body, b"an order", "{step:?}");
        }
    }
}

#[test]
fn a_post_with_a_key_is_repeated_with_the_same_key_and_body() {
    let script = [Step::ResetAfterWrite, Step::status(500), Step::ResetInBody];
    let server = Server::new(script);
    let request = server
        .agent(retries())
        .post(URL)
        .header("Idempotency-Key", "k1");
    request.send("an order").unwrap();
    let received = server.received();
    assert_eq!(received.len(), 4);
    for one in received.iter().filter(|one| one.step != Step::ResetInBody) {
        assert_eq!(
            (one.header("idempotency-key"), &*one.body),
            (Some("k1"), &b"an order"[..])
        );
    }
}

#[test]
fn a_post_is_not_repeated_after_a_redirect() {
    let moved = || Step::status(303).header("location", "http://a.example/orders");
    for second in [Step::status(429), Step::Refused, Step::NoHost] {
        let (server, slot) = (Server::new([moved(), second.clone()]), RetryReport::slot());
        let request = server.agent(retries()).post(URL).extension(slot.clone());
        assert!(request.send("an order").is_err(), "{second:?}");
        assert_eq!(
            slot.take().unwrap().stop,
            StopReason::NotIdempotent,
            "{second:?}"
        );
        let posts = server.received();
        let posts = posts.iter().filter(|one| one.head.starts_with("POST "));
        assert_eq!(posts.count(), 1);
    }
    let server = Server::new([Step::status(429)]);
    server.agent(retries()).post(URL).send("an order").unwrap();
    assert_eq!(server.received().len(), 2);
}

#[test]
fn an_override_in_the_extensions_counts() {
    let server = Server::new((0..5).map(|_| Step::status(503)));
    let agent = server.agent(retries());
    let once = agent.get(URL).extension(RetryOverride::off()).call();
    assert!(matches!(once, Err(Error::StatusCode(503))));
    assert_eq!(server.received().len(), 1);
    let twice = RetryOverride::new().max_retries(1).idempotent(true);
    let result = agent.post(URL).extension(twice).send("x");
    assert!(matches!(result, Err(Error::StatusCode(503))));
    assert_eq!(server.received().len(), 3);
}

#[test]
fn a_token_pays_for_each_retry_and_none_is_lost() {
    let budget = RetryBudget::builder()
        .capacity(3)
        .initial(3)
        .per_success(0.0);
    let budget = budget.build().unwrap();
    let server = Server::new((0..9).map(|_| Step::status(503)));
    let agent = server.agent(retries().budget(budget.clone()));
    let slot = RetryReport::slot();
    let _ = agent.get(URL).extension(slot.clone()).call();
    assert_eq!(server.received().len(), 4);
    assert_eq!(slot.take().unwrap().stop, StopReason::BudgetExhausted);
    assert_eq!(budget.available(Duration::ZERO), 0);
}

#[test]
fn only_a_success_refills_the_budget() {
    let budget = RetryBudget::builder().capacity(9).initial(2).per_success(1);
    let budget = budget.build().unwrap();
    let script = [Step::status(404), Step::Garbage, Step::status(200)];
    let agent = Server::new(script).agent(retries().budget(budget.clone()));
    for left in [2, 2, 3] {
        let _ = agent.get(URL).call();
        assert_eq!(budget.available(Duration::ZERO), left);
    }
}

/// Looks up a proxy before it connects.
#[derive(Debug)]
struct ThroughProxy(Server);

impl Connector<()> for ThroughProxy {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        let proxy = "http://proxy.example/".parse().unwrap();
        let (resolver, config) = (details.resolver, details.config);
        resolver.resolve(&proxy, config, details.timeout)?;
        self.0.connect(details, chained)
    }
}

#[test]
fn a_proxy_is_no_redirect() {
    // Each attempt looks up two names.
    let server = Server::new([Step::status(200), Step::Refused]);
    let retries = retries().runtime(server.clock.clone());
    let connector = ThroughProxy(server.clone());
    let agent = retries.build_with_parts(|config| config.proxy(None), connector, server.clone());
    agent.post(URL).send("an order").unwrap();
    assert_eq!(server.met().len(), 4);
}

#[test]
fn observers_see_each_step_in_order() {
    let server = Server::new([Step::status(503)]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&seen);
    let retries = retries().observe(move |event: &RetryEvent<'_>| {
        assert_eq!(event.service, "a.example");
        names.lock().unwrap().push(match event.kind {
            RetryEventKind::AttemptStarted { .. } => "started",
            RetryEventKind::AttemptEnded(_) => "ended",
            RetryEventKind::RetryScheduled { .. } => "scheduled",
            RetryEventKind::Stopped(_) => "stopped",
            _ => "other",
        });
    });
    server.agent(retries).get(URL).call().unwrap();
    let steps = [
        "started",
        "ended",
        "scheduled",
        "started",
        "ended",
        "stopped",
    ];
    assert_eq!(*seen.lock().unwrap(), steps);
}

#[test]
fn a_middleware_sees_each_attempt_and_none_runs_twice_for_one() {
    fn count(request: Request<SendBody>, next: MiddlewareNext) -> Result<Response<Body>, Error> {
        let mut request = request;
        let number = request
            .extensions()
            .get::<http_retry_core::Attempt>()
            .unwrap()
            .number;
        request.headers_mut().append("x-attempt", number.into());
        next.handle(request)
    }
    let server = Server::new([Step::status(503), Step::Refused]);
    let agent = server.agent_with(retries(), |config| config.middleware(count));
    agent.get(URL).call().unwrap();
    let received = server.received();
    let numbers: Vec<_> = received
        .iter()
        .map(|one| one.head.matches("x-attempt").count())
        .collect();
    assert_eq!(numbers, [1, 1]);
    assert_eq!(received[1].header("x-attempt"), Some("3"));
}

#[test]
fn an_agent_inside_an_attempt_of_another_sends_once() {
    let inner = Server::new((0..9).map(|_| Step::status(503)));
    let token = inner.agent(retries());
    let slot = RetryReport::slot();
    let own = slot.clone();
    let sign = move |request: Request<SendBody>, next: MiddlewareNext| {
        let _ = token.get(URL).extension(own.clone()).call();
        next.handle(request)
    };
    let outer = Server::new([Step::status(503)]);
    let agent = outer.agent_with(retries(), move |config| config.middleware(sign.clone()));
    agent.get(URL).call().unwrap();
    assert_eq!((outer.received().len(), inner.received().len()), (2, 2));
    assert_eq!(slot.take().unwrap().stop, StopReason::Nested);
}

#[test]
fn a_failure_by_the_policy_is_an_error_with_its_report() {
    let policy = RetryPolicy::background().to_builder();
    let policy = policy
        .max_retries(1)
        .on_exhausted(OnExhausted::Fail)
        .build()
        .unwrap();
    let server = Server::new([Step::status(503), Step::status(503)]);
    let agent = server.agent_with(Retries::new(policy), |config| {
        config.http_status_as_error(false)
    });
    let error = agent.get(URL).call().unwrap_err();
    let failed = RequestFailed::of(&error).unwrap();
    assert_eq!(failed.report().attempt_count, 2);
    assert!(
        !format!("{error} {error:?}").contains("secret"),
        "{error:?}"
    );
}

#[test]
fn a_response_takes_the_place_of_the_last_one() {
    let canned = http_retry_core::rules::CannedResponse::new(ureq::http::StatusCode::OK);
    let canned = canned.body("from the policy");
    let policy = RetryPolicy::background().to_builder();
    let policy = policy
        .max_retries(1)
        .on_exhausted(OnExhausted::Respond(canned))
        .build()
        .unwrap();
    let server = Server::new([Step::Refused, Step::Refused]);
    let result = server.agent(Retries::new(policy)).get(URL).call();
    assert_eq!(text(result), "from the policy");
}

#[test]
fn refused_calls_wait_together_at_the_gate() {
    let gate = http_retry_core::gate::Gate::new();
    let limited = || Step::status(429).header("retry-after", 10);
    let server = Server::new((0..4).map(|_| limited()));
    let policy = RetryPolicy::rate_limited();
    let agent = server.agent(Retries::new(policy.clone()).gate(gate.clone()));
    agent.get(URL).call().unwrap();
    assert_eq!(server.received().len(), 5);
    // Each refusal is waited for in full.
    assert!(
        server.received()[4].at >= SECOND * 40,
        "{:?}",
        server.received()[4].at
    );
}

#[test]
fn a_limit_of_one_object_stops_no_call_to_another() {
    let waits = |reason: &str| {
        let refused = Step::status(429).header("stripe-rate-limited-reason", reason);
        let refused = refused.header("retry-after", "60");
        let server = Server::new((0..12).map(|_| refused.clone()));
        let policy = RetryPolicy::background().to_builder().max_retries(0);
        let policy = policy.dialect(Dialect::stripe()).build().unwrap();
        let agent = server.agent(Retries::new(policy));
        // So many that the gate of the account would let no probe pass.
        for _ in 0..12 {
            let one = "http://a.example/v1/payment_intents/pi_1";
            assert!(agent.post(one).send("x").is_err());
        }
        let before = server.clock.sleeps().len();
        for number in 0..40 {
            let other = format!("http://a.example/v1/customers/{number}");
            assert!(agent.post(other).send("x").is_ok());
        }
        assert_eq!(server.received().len(), 52);
        server.clock.sleeps().len() - before
    };
    assert_eq!(waits("resource-specific"), 0);
    assert_eq!(waits("endpoint-rate"), 0);
}

#[test]
fn a_call_that_cannot_pass_the_gate_in_time_ends_at_once() {
    let limited = || Step::status(429).header("retry-after", 60);
    let server = Server::new((0..7).map(|_| limited()));
    let policy = RetryPolicy::builder().deadline(SECOND * 2).build().unwrap();
    let agent = server.agent(Retries::new(policy));
    // Four refusals close the gate, and two probes meet the limit too.
    for _ in 0..6 {
        let error = agent.get(URL).call().unwrap_err();
        assert!(matches!(error, Error::StatusCode(429)), "{error}");
    }
    let began = server.clock.now();
    let error = agent.get(URL).call().unwrap_err();
    let Error::Other(error) = error else {
        panic!("{error}");
    };
    let limited = RateLimited::of(&*error).unwrap();
    assert_eq!(&*limited.service, "a.example");
    assert!(limited.retry_after > SECOND * 58, "{limited}");
    assert_eq!(server.clock.now(), began);
    assert_eq!(server.received().len(), 6);
}
