//! The middleware on a reqwest client, against servers on the loopback interface.

mod answers;
mod bodies;
mod built;
mod connections;
mod direct;
mod errors;
mod extensions;
mod limits;
mod redirects;
mod scripted;
mod server;
mod sharing;

use http_retry::reqwest::{RetryMiddleware, redirect_policy};
use http_retry::testing::ManualRuntime;
use http_retry::{Backoff, Jitter, RetryPolicy, RetryReport};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

const SECOND: Duration = Duration::from_secs(1);

/// Waits a second before each retry, without a gate: a 429 counts as an attempt like any other.
fn every_second(max_retries: u32) -> RetryPolicy {
    RetryPolicy::builder()
        .max_retries(max_retries)
        .max_gate_wait(None)
        .backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
        .build()
        .unwrap()
}

/// Retries a second apart, on a clock that nobody waits for.
fn retries(max_retries: u32) -> RetryMiddleware {
    of_policy(every_second(max_retries))
}

/// The same by any policy, for a client as [`plain_client`] is.
fn of_policy(policy: RetryPolicy) -> RetryMiddleware {
    let retries = RetryMiddleware::new(policy).redirects_watched();
    retries.runtime(ManualRuntime::new())
}

fn client(retries: RetryMiddleware) -> ClientWithMiddleware {
    stack(retries).build()
}

/// A client to which more middlewares may be added, further in.
fn stack(outermost: impl Middleware) -> ClientBuilder {
    ClientBuilder::new(plain_client()).with(outermost)
}

/// A client whose redirects are watched.
fn plain_client() -> reqwest::Client {
    let followed = redirect_policy(reqwest::redirect::Policy::default());
    let builder = reqwest::Client::builder().no_proxy();
    builder.redirect(followed).build().unwrap()
}

/// A server that gives these answers in order, and then the last one for ever.
async fn answering(answers: impl IntoIterator<Item = ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let list = AnswerList(Mutex::new(answers.into_iter().collect()));
    let every_request = Mock::given(matchers::any());
    every_request.respond_with(list).mount(&server).await;
    server
}

async fn answering_statuses(statuses: impl IntoIterator<Item = u16>) -> MockServer {
    answering(statuses.into_iter().map(ResponseTemplate::new)).await
}

struct AnswerList(Mutex<VecDeque<ResponseTemplate>>);

impl Respond for AnswerList {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        }
    }
}

async fn requests(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.unwrap()
}

fn report_of(response: &reqwest::Response) -> RetryReport {
    let report = response.extensions().get::<RetryReport>();
    report.expect("a report in the response").clone()
}

fn statuses_of(report: &RetryReport) -> Vec<Option<u16>> {
    let statuses = report.attempts.iter().map(|attempt| attempt.status);
    statuses.map(|status| Some(status?.as_u16())).collect()
}
