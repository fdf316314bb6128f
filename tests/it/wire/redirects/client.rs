//! A client by either adapter, in each state of what is known of its redirects.

use crate::in_time::in_time;
use http::Method;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::reqwest::{RetryMiddleware, redirect_policy};
use http_retry::testing::ManualRuntime;
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{RetryBudget, RetryPolicy, RetryReport};
use reqwest::redirect::Policy;
use reqwest::{Request, Response, Url};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::fmt;
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adapter {
    Middleware,
    Layer,
}

pub(super) const ADAPTERS: [Adapter; 2] = [Adapter::Middleware, Adapter::Layer];

/// What is known of the client's redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Off,
    Watched,
    Unknown,
}

pub(super) struct Client {
    pub(super) state: State,
    adapter: Adapter,
    policy: RetryPolicy,
    sender: Sender,
    log: Option<Log>,
}

enum Sender {
    Middleware(ClientWithMiddleware),
    Layer(Retry<reqwest::Client>),
}

/// The report of the last call.
pub(super) type Log = Arc<Mutex<Option<RetryReport>>>;

/// What came of a call; its report, where there is one.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) status: Option<u16>,
    pub(super) report: Option<RetryReport>,
}

impl Client {
    /// A client that tells an observer or, where nobody is told, takes the way that is short for successes.
    pub(super) fn new(adapter: Adapter, state: State, policy: RetryPolicy, told: bool) -> Self {
        Self::around(plain(state), adapter, state, policy, told)
    }

    /// The same around a client that may be another one than the retry layer is told of.
    pub(super) fn around(
        plain: reqwest::Client,
        adapter: Adapter,
        state: State,
        policy: RetryPolicy,
        told: bool,
    ) -> Self {
        let log = told.then(Log::default);
        let sender = match adapter {
            Adapter::Middleware => {
                let retries = middleware(state, policy.clone());
                let retries = match &log {
                    Some(log) => retries.observe(listener(log)),
                    None => retries,
                };
                Sender::Middleware(ClientBuilder::new(plain).with(retries).build())
            }
            Adapter::Layer => {
                let retries = layer(state, policy.clone());
                let retries = match &log {
                    Some(log) => retries.observe(listener(log)),
                    None => retries,
                };
                Sender::Layer(retries.layer(plain))
            }
        };
        Self {
            state,
            adapter,
            policy,
            sender,
            log,
        }
    }

    pub(super) async fn send(&self, method: Method, url: &str) -> Call {
        let request = order(method, url);
        let answer = async {
            match &self.sender {
                Sender::Middleware(client) => client.execute(request).await.ok(),
                Sender::Layer(service) => service.clone().oneshot(request).await.ok(),
            }
        };
        let answer = in_time(answer).await;
        Call {
            report: self.report(answer.as_ref()),
            status: answer.map(|answer| answer.status().as_u16()),
        }
    }

    fn report(&self, answer: Option<&Response>) -> Option<RetryReport> {
        match &self.log {
            Some(log) => log.lock().unwrap().take(),
            None => answer?.extensions().get().cloned(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.policy.explain();
        let name = name.split(' ').next().unwrap_or_default();
        let told = self.log.is_some();
        write!(f, "{:?} {:?} {name} {told}", self.adapter, self.state)
    }
}

pub(super) fn order(method: Method, url: &str) -> Request {
    let mut request = Request::new(method, Url::parse(url).unwrap());
    *request.body_mut() = Some("order".into());
    request
}

pub(crate) fn plain(state: State) -> reqwest::Client {
    let policy = match state {
        State::Off => Policy::none(),
        State::Watched => redirect_policy(Policy::default()),
        State::Unknown => Policy::default(),
    };
    following(policy)
}

pub(super) fn following(policy: Policy) -> reqwest::Client {
    let builder = reqwest::Client::builder().redirect(policy);
    let builder = builder.no_proxy().tls_certs_only([]);
    builder.retry(reqwest::retry::never()).build().unwrap()
}

pub(super) fn middleware(state: State, policy: RetryPolicy) -> RetryMiddleware {
    let retries = RetryMiddleware::new(policy).runtime(ManualRuntime::new());
    let retries = retries.budget(RetryBudget::unlimited());
    match state {
        State::Off => retries.redirects_off(),
        State::Watched => retries.redirects_watched(),
        State::Unknown => retries,
    }
}

pub(super) fn layer(state: State, policy: RetryPolicy) -> RetryLayer {
    let retries = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let retries = retries.budget(RetryBudget::unlimited());
    match state {
        State::Off => retries.redirects_off(),
        State::Watched => retries.redirects_watched(),
        State::Unknown => retries,
    }
}

pub(super) fn listener(log: &Log) -> impl Fn(&RetryEvent<'_>) + Send + Sync + 'static {
    let log = Arc::clone(log);
    move |event: &RetryEvent<'_>| {
        if let RetryEventKind::Stopped(report) = event.kind {
            *log.lock().unwrap() = Some(report.clone());
        }
    }
}
