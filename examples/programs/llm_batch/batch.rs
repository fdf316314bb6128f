//! One run: a server of its own, a client, and so many calls at once until all are over.

use crate::Args;
use crate::server::{Hint, LlmServer, Quota, Rules, Second};
use anyhow::{Context, Result, ensure};
use http_retry::llm::LlmPreset;
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::{RetryBudget, RetryPolicy, RetryReport};
use reqwest::Response;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

const KEY: &str = "sk-of-the-batch";
/// Half of it there, half of it back.
const ROUND_TRIP: Duration = Duration::from_millis(10);
/// What an answer takes beside it; a refusal takes nothing.
const THINKING: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_millis(300);

/// How long a call takes that is accepted.
pub(crate) fn mean_call() -> Duration {
    let thinking = THINKING.start().saturating_add(*THINKING.end()) / 2;
    thinking.saturating_add(ROUND_TRIP)
}

/// Who answers a refusal with a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retries {
    HttpRetry,
    /// As its documentation shows it.
    ReqwestRetry,
}

pub(crate) struct Batch {
    pub(crate) name: &'static str,
    retries: Retries,
    server: LlmServer,
    client: ClientWithMiddleware,
    calls: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    ended: AtomicUsize,
}

/// What became of a run.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) done: usize,
    /// Why the others were not done, and how many of them.
    pub(crate) given_up: BTreeMap<String, usize>,
    pub(crate) took: Duration,
    pub(crate) seconds: Vec<Second>,
}

impl Batch {
    pub(crate) async fn new(
        name: &'static str,
        retries: Retries,
        quota_headers: bool,
        args: &Args,
    ) -> Result<Self> {
        let server = LlmServer::start(Rules {
            quota: Some(Quota {
                requests: args.quota,
                window: args.window(),
            }),
            hint: if args.whole_seconds {
                Hint::Seconds
            } else {
                Hint::Millis
            },
            quota_headers,
            round_trip: ROUND_TRIP,
            thinking: THINKING,
            ..Rules::default()
        })
        .await?;
        Ok(Self {
            name,
            retries,
            server,
            client: client(retries)?,
            calls: args.calls,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        })
    }

    /// Makes all calls, or fails when they are not over in time.
    pub(crate) async fn run(self: Arc<Self>, at_once: usize, most: Duration) -> Result<Outcome> {
        let started = TokioRuntime.now();
        let mut workers = JoinSet::new();
        for _ in 0..at_once {
            workers.spawn(Arc::clone(&self).work());
        }
        let over = timeout(most, workers.join_all()).await;
        let over = over.with_context(|| format!("{}: not over in {most:?}", self.name))?;
        let took = TokioRuntime.now().saturating_sub(started);
        let mut given_up = BTreeMap::new();
        for why in over.into_iter().collect::<Result<Vec<_>>>()?.concat() {
            *given_up.entry(why).or_default() += 1;
        }
        Ok(Outcome {
            name: self.name,
            done: self.done.load(Relaxed),
            given_up,
            took,
            seconds: self.server.served(KEY),
        })
    }

    /// How many calls are done, and how many are over.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.done.load(Relaxed), self.ended.load(Relaxed))
    }

    /// Calls until no call is left, and gives the reasons of those that were given up.
    async fn work(self: Arc<Self>) -> Result<Vec<String>> {
        let mut given_up = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            if number >= self.calls {
                return Ok(given_up);
            }
            let call = self.call(number).await;
            match call.with_context(|| format!("{}: call {number}", self.name))? {
                None => self.done.fetch_add(1, Relaxed),
                Some(why) => {
                    given_up.push(why);
                    0
                }
            };
            self.ended.fetch_add(1, Relaxed);
        }
    }

    /// Nothing if it is done, else why it was given up.
    async fn call(&self, number: usize) -> Result<Option<String>> {
        let said = format!("this is call {number}.");
        let body =
            format!(r#"{{"model":"fake","messages":[{{"role":"user","content":"{said}"}}]}}"#);
        let request = self
            .client
            .post(format!("{}/chat/completions", self.server.url()))
            .header("authorization", format!("Bearer {KEY}"))
            .header("content-type", "application/json")
            .body(body);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Ok(Some(error.to_string())),
        };
        if !response.status().is_success() {
            return Ok(Some(self.why(&response)));
        }
        let answer = response.text().await?;
        ensure!(answer.contains(&said), "another call's answer: {answer}");
        Ok(None)
    }

    fn why(&self, response: &Response) -> String {
        let status = response.status().as_u16();
        let report = response.extensions().get::<RetryReport>();
        match (self.retries, report) {
            (Retries::HttpRetry, Some(report)) => format!("{}, {status}", report.stop),
            _ => format!("retries exhausted, {status}"),
        }
    }
}

fn client(retries: Retries) -> Result<ClientWithMiddleware> {
    let plain = reqwest::Client::builder().no_proxy().build()?;
    let client = ClientBuilder::new(plain);
    let client = match retries {
        Retries::HttpRetry => {
            // One budget for all calls, as one program has it.
            let budget = RetryBudget::default();
            client.with(RetryMiddleware::new(RetryPolicy::llm()).budget(budget))
        }
        Retries::ReqwestRetry => {
            let backoff = ExponentialBackoff::builder().build_with_max_retries(3);
            client.with(RetryTransientMiddleware::new_with_policy(backoff))
        }
    };
    Ok(client.build())
}

impl Outcome {
    pub(crate) fn rejected(&self) -> u32 {
        let rejected = self.seconds.iter().map(|second| second.rejected);
        rejected.fold(0, u32::saturating_add)
    }

    pub(crate) fn rejected_per_done(&self) -> f64 {
        let done = u32::try_from(self.done).unwrap_or(u32::MAX);
        f64::from(self.rejected()) / f64::from(done.max(1))
    }
}
