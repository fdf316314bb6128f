//! A middleware that answers at once, in the place of reqwest's own client.

use super::{Call, URL, body, gated, headers, policy, response, timed, traced, with_dialect};
use futures_util::FutureExt;
use http::Extensions;
use http_retry::report::{ReportSlot, RetryEvent};
use http_retry::reqwest::RetryMiddleware;
use http_retry::resume::Resume;
use http_retry::{RetryOverride, RetryPolicy, ServiceBudgets};
use reqwest::{Body, Method, Request, Response, Url};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use std::hint::black_box;

pub(crate) fn call(layers: &str) -> Option<Call> {
    let never = || RetryMiddleware::new(RetryPolicy::never());
    Some(match layers {
        "bare" => through(client(), Extensions::new),
        "http-retry" => through(client().with(middleware()), Extensions::new),
        "plain" => through(
            client().with(middleware().plain_requests()),
            Extensions::new,
        ),
        "dialect" => through(
            client().with(RetryMiddleware::new(with_dialect())),
            Extensions::new,
        ),
        "switches off" => {
            let off = policy().to_builder().whole_responses(0).build().unwrap();
            let middleware = RetryMiddleware::new(off).resume(Resume::new());
            through(client().with(middleware), Extensions::new)
        }
        "gated" => through(
            client().with(RetryMiddleware::new(gated())),
            Extensions::new,
        ),
        #[cfg(feature = "redis")]
        "shared" => {
            let (budget, gate) = super::shared();
            let middleware = RetryMiddleware::new(gated()).budget(budget).gate(gate);
            through(client().with(middleware), Extensions::new)
        }
        #[cfg(feature = "redis")]
        "fleet" => {
            let middleware = RetryMiddleware::new(gated()).fleet(&super::fleet());
            through(client().with(middleware), Extensions::new)
        }
        "per service" => {
            let middleware = RetryMiddleware::new(gated()).budgets(ServiceBudgets::default());
            through(client().with(middleware), Extensions::new)
        }
        "timed" => through(
            client().with(RetryMiddleware::new(timed())),
            Extensions::new,
        ),
        "observed" => through(client().with(observed()), Extensions::new),
        "slot" => through(client().with(middleware()), with_slot),
        "bare, slot" => through(client(), with_slot),
        "traced" => traced(through(client().with(middleware()), Extensions::new)),
        "reqwest-retry" => through(client().with(reqwest_retry()), Extensions::new),
        "never" => through(client().with(never()), Extensions::new),
        "bare, off" => through(client(), off),
        "off" => through(client().with(middleware()), off),
        "nested" => through(
            client().with(middleware()).with(middleware()),
            Extensions::new,
        ),
        _ => return None,
    })
}

fn through(client: ClientBuilder, extensions: fn() -> Extensions) -> Call {
    let client = client.with(Canned).build();
    Box::new(move || {
        let mut extensions = extensions();
        let sent = client.execute_with_extensions(request(), &mut extensions);
        drop(black_box(sent.now_or_never().unwrap().unwrap()));
    })
}

fn client() -> ClientBuilder {
    ClientBuilder::new(reqwest::Client::new())
}

pub(crate) fn middleware() -> RetryMiddleware {
    RetryMiddleware::new(policy())
}

pub(crate) fn reqwest_retry() -> RetryTransientMiddleware<ExponentialBackoff> {
    let policy = ExponentialBackoff::builder().build_with_max_retries(3);
    RetryTransientMiddleware::new_with_policy(policy)
}

/// With an observer that does nothing.
fn observed() -> RetryMiddleware {
    middleware().observe(|event: &RetryEvent<'_>| _ = black_box(event))
}

fn with_slot() -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(ReportSlot::default());
    extensions
}

fn off() -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(RetryOverride::off());
    extensions
}

fn request() -> Request {
    let mut request = Request::new(Method::GET, Url::parse(URL).unwrap());
    *request.headers_mut() = headers();
    *request.body_mut() = Some(Body::from(body()));
    request
}

struct Canned;

#[async_trait::async_trait]
impl Middleware for Canned {
    async fn handle(
        &self,
        request: Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        drop(black_box(request));
        Ok(Response::from(response(Body::from("{}"))))
    }
}
