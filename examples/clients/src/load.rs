//! Many requests through one client, and what came of them.

use crate::{Result, Server};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, ReportSlot, RetryBudget, RetryPolicy, RetryReport};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt};

/// What came of the requests.
#[derive(Debug, Default)]
pub struct Results {
    pub gets: usize,
    pub posts: usize,
    /// POSTs that ended with a success.
    pub done: Vec<usize>,
    /// How the GETs failed.
    pub failures: Vec<String>,
    pub retries: u32,
}

/// Sends this many requests, 16 at a time: a POST for each odd number, with the number as its body.
pub async fn send(url: &str, requests: usize, http2: bool) -> Result<Results> {
    let policy = RetryPolicy::background()
        .to_builder()
        .max_retries(12)
        // On HTTP/2 hyper's client may lose a request whose connection the server ends: it never completes.
        .attempt_timeout(Duration::from_secs(2))
        .backoff(Backoff::exponential(Duration::from_millis(20)).max_delay(Duration::from_secs(1)));
    // The budget is not what is shown here.
    let budget = RetryBudget::builder().capacity(10_000).initial(10_000);
    let http = Client::builder(TokioExecutor::new())
        .http2_only(http2)
        .build_http();
    let retries = RetryLayer::new(policy.build()?)
        .budget(budget.build()?)
        .layer(http);
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..16 {
        let (retries, next, url) = (retries.clone(), Arc::clone(&next), url.to_owned());
        workers.spawn(async move {
            let mut results = Results::default();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= requests {
                    return Ok(results);
                }
                let mut request = request(&url, number)?;
                let slot = RetryReport::slot();
                request.extensions_mut().insert(slot.clone());
                let sent = retries.clone().oneshot(request).await;
                results.add(number, sent, &slot).await;
            }
        });
    }
    let mut all = Results::default();
    while let Some(results) = workers.join_next().await {
        let results: Result<Results> = results?;
        all.join(results?);
    }
    Ok(all)
}

fn request(url: &str, number: usize) -> Result<Request<Full<Bytes>>, http::Error> {
    let (method, body) = match number % 2 {
        0 => (Method::GET, String::new()),
        _ => (Method::POST, number.to_string()),
    };
    let request = Request::builder()
        .method(method)
        .uri(format!("{url}/{number}"));
    request.body(Full::from(body))
}

impl Results {
    async fn add<B, E>(
        &mut self,
        number: usize,
        sent: Result<http::Response<B>, E>,
        slot: &ReportSlot,
    ) where
        B: http_body::Body,
    {
        let report = slot.take();
        let retries = report.as_ref().map_or(0, RetryReport::retries);
        self.retries += retries;
        let done = match sent {
            Ok(response) => {
                response.status() == 200 && response.into_body().collect().await.is_ok()
            }
            Err(_) => false,
        };
        match number % 2 {
            0 => {
                self.gets += 1;
                let failure = report.filter(|_| !done).map(|report| report.to_string());
                self.failures.extend(failure);
            }
            _ => {
                self.posts += 1;
                self.done.extend(done.then_some(number));
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.gets += other.gets;
        self.posts += other.posts;
        self.done.extend(other.done);
        self.failures.extend(other.failures);
        self.retries += other.retries;
    }

    /// No GET has failed, no POST came twice to a server, and each that succeeded came once.
    pub fn check(&self, servers: &[&Server]) -> Result<String> {
        let mut came: BTreeMap<Bytes, usize> = BTreeMap::new();
        for request in servers.iter().flat_map(|server| server.take()) {
            if request.method() == Method::POST {
                *came.entry(request.into_body()).or_default() += 1;
            }
        }
        let twice = came.values().filter(|times| **times > 1).count();
        let missing = self
            .done
            .iter()
            .map(|number| Bytes::from(number.to_string()));
        let missing = missing.filter(|number| !came.contains_key(number)).count();
        let line = format!(
            "{} GETs, {} failed; {} POSTs, {} without a success, {twice} came twice, {missing} lost; {} retries",
            self.gets,
            self.failures.len(),
            self.posts,
            self.posts - self.done.len(),
            self.retries,
        );
        match (self.failures.first(), twice, missing) {
            (None, 0, 0) => Ok(line),
            (failure, ..) => Err(format!("{line}\n{}", failure.map_or("", |it| it)).into()),
        }
    }
}

/// Fails if it takes longer than 2 min.
pub async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(Duration::from_secs(120), work).await?
}
