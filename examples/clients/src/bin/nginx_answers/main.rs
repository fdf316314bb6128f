//! Small answers of nginx through a proxy that cuts connections at random bytes: with `whole_responses` each arrives whole.

use bytes::Bytes;
use clients::load::in_time;
use clients::proxy::{Cutting, Random};
use clients::{Daemon, Result, same};
use http::Request;
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryBudget, RetryPolicy};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::time::{Duration, Instant};
use tower::{Layer, ServiceExt};

const LENGTH: usize = 2_000;
const CALLS: usize = 1_000;
/// A connection brings about two answers.
const LONGEST: u64 = 10_000;

#[tokio::main]
async fn main() -> Result {
    let nginx = "server { listen 127.0.0.1:PORT; root FOLDER; }";
    let nginx = Daemon::nginx(nginx.to_owned()).await?;
    let mut random = Random::new(2);
    let letters = (0..LENGTH).map(|_| char::from(b'a' + (random.next() % 26) as u8));
    let answer = format!("{{\"text\":\"{}\"}}", letters.collect::<String>());
    std::fs::write(nginx.folder.join("answer.json"), &answer)?;
    let proxy = Cutting::start(&nginx.url, LONGEST, random).await?;
    let url = format!("{}/answer.json", proxy.url);
    for stack in [Stack::Tower, Stack::Reqwest] {
        for limit in [0, 1 << 20] {
            let (started, before) = (Instant::now(), proxy.cuts());
            let broken = in_time(stack.call(&url, &answer, limit)).await?;
            let cuts = proxy.cuts() - before;
            println!(
                "nginx, {CALLS} answers by {stack:?}, whole_responses {limit}: {cuts} cuts, {broken} broken, 0 wrong; {:.1} s",
                started.elapsed().as_secs_f64()
            );
            same(broken == 0, limit > 0)?;
        }
    }
    Ok(())
}

#[derive(Debug)]
enum Stack {
    Tower,
    Reqwest,
}

fn policy(limit: usize) -> Result<(RetryPolicy, RetryBudget)> {
    let soon =
        Backoff::exponential(Duration::from_millis(10)).max_delay(Duration::from_millis(200));
    let policy = RetryPolicy::background()
        .to_builder()
        .max_retries(10)
        .whole_responses(limit)
        .backoff(soon);
    // The budget is not what is shown here.
    let budget = RetryBudget::builder().capacity(10_000).initial(10_000);
    Ok((policy.build()?, budget.build()?))
}

impl Stack {
    /// Calls so many times, compares each answer that arrives, and says how many did not.
    async fn call(&self, url: &str, answer: &str, limit: usize) -> Result<usize> {
        let (policy, budget) = policy(limit)?;
        let http = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let layer = RetryLayer::new(policy.clone()).budget(budget.clone());
        let tower = layer.layer(http);
        let middleware = RetryMiddleware::new(policy).budget(budget);
        let reqwest = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
        let reqwest = reqwest.with(middleware).build();
        let mut broken = 0;
        for _ in 0..CALLS {
            let came = match self {
                Self::Tower => {
                    let request = Request::get(url).body(Full::default())?;
                    let body = tower.clone().oneshot(request).await?.into_body();
                    body.collect().await.ok().map(|body| body.to_bytes())
                }
                Self::Reqwest => reqwest.get(url).send().await?.bytes().await.ok(),
            };
            match came {
                Some(came) => same(came, Bytes::copy_from_slice(answer.as_bytes()))?,
                None => broken += 1,
            }
        }
        Ok(broken)
    }
}
