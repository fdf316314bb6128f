//! nginx with `limit_req`: 429 with a `Retry-After` of its own, for which all callers wait together.

use bytes::Bytes;
use clients::load::in_time;
use clients::{Daemon, Result, Server, answer, same};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::tower::RetryLayer;
use http_retry::{RetryPolicy, RetryReport};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt};

const CALLS: usize = 60;
const ASKED: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result {
    let backend = Server::start(|_, _| answer(200, "text/plain", "done")).await?;
    let nginx = Daemon::nginx(format!(
        "limit_req_zone $binary_remote_addr zone=calls:1m rate=20r/s; limit_req_status 429; \
         server {{ listen 127.0.0.1:PORT; error_page 429 @busy; \
         location @busy {{ internal; add_header Retry-After 1 always; return 429; }} \
         location / {{ limit_req zone=calls burst=5 nodelay; proxy_pass http://{}; }} }}",
        backend.authority()
    ));
    let nginx = nginx.await?;
    let started = Instant::now();
    let (refused, early) = in_time(calls(&nginx.url)).await?;
    same(backend.take().len(), CALLS)?;
    same(early, 0)?;
    let refusals = format!("{refused} refusals, no retry before its time");
    println!(
        "nginx, limit_req: {CALLS} calls at once, {refusals}; {:.1} s",
        started.elapsed().as_secs_f64()
    );
    match refused {
        0 => Err("nothing was refused".into()),
        _ => Ok(()),
    }
}

/// How many attempts were refused, and how many retries came earlier than asked.
async fn calls(url: &str) -> Result<(usize, usize)> {
    let http = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let retries = RetryLayer::new(RetryPolicy::rate_limited()).layer(http);
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let request = Request::get(format!("{url}/{number}")).body(Full::default())?;
        calls.spawn(retries.clone().oneshot(request));
    }
    let (mut refused, mut early) = (0, 0);
    while let Some(response) = calls.join_next().await {
        let response = response??;
        same(response.status(), StatusCode::OK)?;
        let (times, too_early) = told(&response);
        refused += times;
        early += too_early;
    }
    Ok((refused, early))
}

fn told<B>(response: &Response<B>) -> (usize, usize) {
    let report = response.extensions().get::<RetryReport>();
    let attempts = report.map_or(&[][..], RetryReport::attempts);
    let pairs = attempts.iter().zip(attempts.iter().skip(1));
    let pairs = pairs.filter(|(before, _)| before.status == Some(StatusCode::TOO_MANY_REQUESTS));
    pairs.fold((0, 0), |(refused, early), (before, next)| {
        let too_early = next.started < before.started + ASKED;
        (refused + 1, early + usize::from(too_early))
    })
}
