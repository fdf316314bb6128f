//! A request whose own body fails was sent in part: whatever the body's error says of its own source, it says nothing
//! of the request.

pub(crate) mod failing;

use super::server::FaultServer;
use crate::in_time::in_time;
use failing::{FAILURES, Failing, Sources};
use http_retry::policy::Verdict;
use http_retry::report::AttemptReport;
use http_retry::reqwest::{RetryMiddleware, redirect_policy};
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{
    Backoff, Class, ErrorKind, Reach, RetryPolicy, RetryPolicyBuilder, RetryReport, StopReason,
};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use std::io;
use tower::{Layer, ServiceExt, service_fn};

/// A client, and the way in which its requests get a body that is made anew for each attempt.
#[derive(Debug, Clone, Copy)]
enum Stack {
    Hyper,
    /// A tower service makes a request of reqwest of each attempt.
    Service,
    Middleware,
    Runner,
}

const STACKS: [Stack; 4] = [
    Stack::Hyper,
    Stack::Service,
    Stack::Middleware,
    Stack::Runner,
];

fn policy() -> RetryPolicyBuilder {
    let builder = RetryPolicy::builder().max_retries(3).max_gate_wait(None);
    builder.backoff(Backoff::none())
}

fn bare_reqwest() -> reqwest::Client {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .retry(reqwest::retry::never());
    let followed = redirect_policy(reqwest::redirect::Policy::default());
    builder.redirect(followed).build().unwrap()
}

impl Stack {
    /// Sends a request whose body fails, and returns what was seen of its attempts.
    async fn attempts(
        self,
        policy: RetryPolicy,
        method: http::Method,
        url: String,
        (body, client): (Failing, reqwest::Client),
    ) -> (Vec<AttemptReport>, StopReason) {
        let slot = RetryReport::slot();
        let request = http::Request::builder().method(method).uri(url);
        let request = request.extension(slot.clone()).body(body).unwrap();
        let layer = RetryLayer::new(policy.clone()).runtime(ManualRuntime::new());
        let failed = match self {
            Self::Hyper => {
                let client = legacy::Client::builder(TokioExecutor::new()).build_http();
                layer.layer(client).oneshot(request).await.is_err()
            }
            Self::Service => {
                let service = service_fn(move |request: http::Request<Failing>| {
                    let request = request.map(reqwest::Body::wrap);
                    let sent = client.execute(request.try_into().unwrap());
                    async move { sent.await.map(http::Response::<reqwest::Body>::from) }
                });
                let layer = layer.redirects_watched();
                layer.layer(service).oneshot(request).await.is_err()
            }
            Self::Middleware => {
                let middleware = RetryMiddleware::new(policy).runtime(ManualRuntime::new());
                let client = reqwest_middleware::ClientBuilder::new(client);
                let client = client.with(middleware.redirects_watched()).build();
                let request = request.map(reqwest::Body::wrap).try_into().unwrap();
                let mut extensions = http::Extensions::new();
                extensions.insert(slot.clone());
                let sent = client.execute_with_extensions(request, &mut extensions);
                sent.await.is_err()
            }
            Self::Runner => {
                let runner = Runner::on(ManualRuntime::new(), policy).one_request();
                let runner = runner.redirects_watched();
                let runner = runner.report_to(slot.clone());
                let sent = runner.run_by_policy(|_| {
                    let request = request.clone().map(reqwest::Body::wrap);
                    client.execute(request.try_into().unwrap())
                });
                sent.await.is_err()
            }
        };
        assert!(failed, "{self:?}");
        let report = slot.take().unwrap();
        (report.attempts.to_vec(), report.stop)
    }
}

#[tokio::test]
async fn a_request_whose_own_body_fails_is_not_sent_again() {
    let (sources, client) = (Sources::start().await, bare_reqwest());
    for stack in STACKS {
        for failure in FAILURES {
            for method in [http::Method::POST, http::Method::PUT] {
                let what = format!("{stack:?} {failure:?} {method}");
                let server = FaultServer::start([]).await;
                let body = Failing::new(b"order", failure, &sources);
                let sent = stack.attempts(
                    policy().build().unwrap(),
                    method,
                    server.url("/orders"),
                    (body, client.clone()),
                );
                let (attempts, stop) = in_time(sent).await;
                assert_eq!(attempts.len(), 1, "{what}: {attempts:?}");
                let [first] = &attempts[..] else { panic!() };
                let seen = (first.error, first.class, first.reach);
                let expected = (Some(ErrorKind::Body), Class::Permanent, Reach::Ambiguous);
                assert_eq!((seen, stop), (expected, StopReason::NotRetryable), "{what}");
                assert!(server.received().len() <= 1, "{what}");
            }
        }
    }
}

/// What a policy was taught of an error holds for its own requests. Of the source of a body it says what may come of
/// another try, and not that the request was not sent.
#[tokio::test]
async fn what_is_taught_of_an_error_proves_nothing_of_a_body() {
    let (sources, client) = (Sources::start().await, bare_reqwest());
    for stack in STACKS {
        for (method, expected) in [(http::Method::POST, 1), (http::Method::PUT, 4)] {
            let taught = Verdict::new(Class::Transient, Reach::Unsent);
            let policy = policy().classify_error(move |_: &io::Error| taught);
            let server = FaultServer::start([]).await;
            let failure = failing::Failure::Io(io::ErrorKind::ConnectionRefused);
            let body = Failing::new(b"order", failure, &sources);
            let sent = stack.attempts(
                policy.build().unwrap(),
                method,
                server.url("/orders"),
                (body, client.clone()),
            );
            let (attempts, _) = in_time(sent).await;
            let expected = match stack {
                // The record of a body that has failed is not whole.
                Stack::Middleware => 1,
                // Whether an operation may be repeated is said of the runner, not by a method.
                Stack::Runner => 1,
                _ => expected,
            };
            assert_eq!(attempts.len(), expected, "{stack:?}: {attempts:?}");
            assert_eq!(attempts[0].reach, Reach::Ambiguous, "{stack:?}");
        }
    }
}
