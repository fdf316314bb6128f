//! nginx with `limit_req`: all callers wait together, none comes back before its time, and each of eight limits is used as
//! well as by callers that each wait for themselves.

use bytes::Bytes;
use clients::load::in_time;
use clients::{Daemon, Result, Server, answer, same};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy, RetryReport};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt};

const CALLS: usize = 60;
const ASKED: Duration = Duration::from_secs(1);

/// A limit of nginx's, and the calls that come to it.
#[derive(Clone, Copy)]
struct Limit {
    /// Calls in a second.
    rate: usize,
    burst: usize,
    /// Its refusals say `Retry-After: 1`.
    tells: bool,
}

impl Limit {
    const ALL: [Self; 8] = [
        Self::of(50, 0, true),
        Self::of(50, 0, false),
        Self::of(50, 10, true),
        Self::of(50, 10, false),
        Self::of(5, 0, true),
        Self::of(5, 0, false),
        Self::of(5, 3, true),
        Self::of(5, 3, false),
    ];

    const fn of(rate: usize, burst: usize, tells: bool) -> Self {
        Self { rate, burst, tells }
    }
}

#[tokio::main]
async fn main() -> Result {
    one_burst().await?;
    limits().await
}

async fn one_burst() -> Result {
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

/// The gate takes at most this many times as long as callers that each wait for themselves.
const MOST: f64 = 1.25;

/// Plays each limit twice, all at once: with a gate, and without one but with patience.
async fn limits() -> Result {
    let backend = Server::start(|_, _| answer(200, "text/plain", "done")).await?;
    let (mut zones, mut locations) = (String::new(), String::new());
    for (number, limit) in Limit::ALL.iter().enumerate() {
        for with in ["gate", "patience"] {
            let zone = format!("{with}{number}");
            zones += &format!(
                "limit_req_zone $binary_remote_addr zone={zone}:1m rate={}r/s; ",
                limit.rate
            );
            let burst = match limit.burst {
                0 => String::new(),
                burst => format!("burst={burst} nodelay"),
            };
            let tells = if limit.tells {
                "error_page 429 @busy;"
            } else {
                ""
            };
            locations += &format!(
                "location /{zone}/ {{ {tells} limit_req zone={zone} {burst}; proxy_pass http://{}; }} ",
                backend.authority()
            );
        }
    }
    let nginx = Daemon::nginx(format!(
        "{zones} limit_req_status 429; server {{ listen 127.0.0.1:PORT; \
         location @busy {{ internal; add_header Retry-After 1 always; return 429; }} {locations} }}",
    ));
    let nginx = nginx.await?;
    let mut plays = JoinSet::new();
    for (number, limit) in Limit::ALL.into_iter().enumerate() {
        let url = nginx.url.clone();
        plays.spawn(async move {
            let patient = RetryPolicy::background().to_builder();
            let patient = patient.max_gate_wait(None).max_retries(1_000).build()?;
            let patient = RetryLayer::new(patient).budget(RetryBudget::unlimited());
            let gated = RetryLayer::new(RetryPolicy::rate_limited());
            let (gate, patience) = (
                format!("{url}/gate{number}"),
                format!("{url}/patience{number}"),
            );
            let (gated, patient) =
                tokio::join!(limit.play(gated, &gate), limit.play(patient, &patience));
            Ok::<_, clients::Error>((limit, gated?, patient?))
        });
    }
    let mut slow = 0;
    while let Some(played) = in_time(async { Ok(plays.join_next().await) }).await? {
        let (limit, (gated, refused), (patient, more)) = played??;
        let Limit { rate, burst, tells } = limit;
        println!(
            "{rate} r/s, burst {burst}, Retry-After {tells}: gate {gated:.1} s, {refused} refusals; \
             patience {patient:.1} s, {more} refusals"
        );
        slow += usize::from(gated > MOST * patient);
    }
    same(slow, 0)
}

impl Limit {
    /// Six seconds' worth of calls, eleven or thirty at once: how many seconds all of them take, and how many refusals.
    async fn play(self, layer: RetryLayer, url: &str) -> Result<(f64, usize)> {
        let http = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let retries = layer.layer(http);
        let started = Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..9 + self.rate * 2 / 5 {
            let (retries, next, url) = (retries.clone(), Arc::clone(&next), url.to_owned());
            let calls = 6 * self.rate;
            callers.spawn(async move {
                let mut refused = 0;
                while next.fetch_add(1, Ordering::Relaxed) < calls {
                    let request = Request::get(format!("{url}/")).body(Full::default())?;
                    let response = retries.clone().oneshot(request).await?;
                    same(response.status(), StatusCode::OK)?;
                    refused += told(&response).0;
                }
                Ok::<_, clients::Error>(refused)
            });
        }
        let mut refused = 0;
        while let Some(caller) = callers.join_next().await {
            refused += caller??;
        }
        Ok((started.elapsed().as_secs_f64(), refused))
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
    let attempts = report.map_or(&[][..], |report| &report.attempts);
    let pairs = attempts.iter().zip(attempts.iter().skip(1));
    let pairs = pairs.filter(|(before, _)| before.status == Some(StatusCode::TOO_MANY_REQUESTS));
    pairs.fold((0, 0), |(refused, early), (before, next)| {
        let too_early = next.started < before.started + ASKED;
        (refused + 1, early + usize::from(too_early))
    })
}
