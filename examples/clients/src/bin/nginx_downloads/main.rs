//! Files of nginx through a proxy that cuts connections at random bytes: each download goes on where it broke.

use bytes::Bytes;
use clients::load::in_time;
use clients::proxy::{Cutting, Random};
use clients::{Daemon, Result, same};
use http::{Extensions, Request};
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::{RetryMiddleware, SendResumed};
use http_retry::resume::ResumeProgress;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryBudget, RetryPolicy};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::time::{Duration, Instant};
use tower::{Layer, ServiceExt};

const LENGTH: usize = 8 * 1024 * 1024;
const DOWNLOADS: usize = 40;

#[tokio::main]
async fn main() -> Result {
    let nginx = "server { listen 127.0.0.1:PORT; root FOLDER; etag on; }";
    let nginx = Daemon::nginx(nginx.to_owned()).await?;
    let mut random = Random::new(1);
    let file: Vec<u8> = (0..LENGTH).map(|_| random.next() as u8).collect();
    std::fs::write(nginx.folder.join("file"), &file)?;
    let proxy = Cutting::start(&nginx.url, 6 * 1024 * 1024, random).await?;
    let url = format!("{}/file", proxy.url);
    for (name, stack) in [("tower", Stack::Tower), ("reqwest", Stack::Reqwest)] {
        let (started, before) = (Instant::now(), proxy.cuts());
        let resumes = in_time(stack.download(&url, &file)).await?;
        let cuts = proxy.cuts() - before;
        println!(
            "nginx, {DOWNLOADS} downloads of 8 MiB by {name}: {cuts} cuts, {resumes} resumes, 0 wrong bytes; {:.1} s",
            started.elapsed().as_secs_f64()
        );
        if resumes == 0 {
            return Err("nothing was resumed".into());
        }
    }
    Ok(())
}

enum Stack {
    Tower,
    Reqwest,
}

fn policy() -> Result<(RetryPolicy, RetryBudget)> {
    let soon =
        Backoff::exponential(Duration::from_millis(10)).max_delay(Duration::from_millis(200));
    let policy = RetryPolicy::background()
        .to_builder()
        .max_retries(8)
        .backoff(soon);
    // The budget is not what is shown here.
    let budget = RetryBudget::builder().capacity(10_000).initial(10_000);
    Ok((policy.build()?, budget.build()?))
}

impl Stack {
    /// Downloads the file so many times, compares it, and says how often it was resumed.
    async fn download(&self, url: &str, file: &[u8]) -> Result<u32> {
        let (policy, budget) = policy()?;
        let mut resumes = 0;
        let http = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let layer = RetryLayer::new(policy.clone()).budget(budget.clone());
        let tower = layer.resume_downloads().layer(http);
        let middleware = RetryMiddleware::new(policy).budget(budget);
        let reqwest = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
        let reqwest = reqwest.with(middleware).build();
        for _ in 0..DOWNLOADS {
            let (came, progress) = match self {
                Self::Tower => {
                    let request = Request::get(url).body(Full::default())?;
                    let (head, body) = tower.clone().oneshot(request).await?.into_parts();
                    (
                        body.collect().await?.to_bytes(),
                        progress(&head.extensions)?,
                    )
                }
                Self::Reqwest => {
                    let response = reqwest.get(url).send_resumed().await?;
                    let progress = progress(response.extensions())?;
                    (response.bytes().await?, progress)
                }
            };
            same(came.len(), file.len())?;
            same(came == file, true)?;
            resumes += progress.resumes();
        }
        Ok(resumes)
    }
}

fn progress(extensions: &Extensions) -> Result<ResumeProgress> {
    let progress = extensions.get::<ResumeProgress>().cloned();
    progress.ok_or_else(|| "a download that cannot be resumed".into())
}
