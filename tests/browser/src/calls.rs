//! The server's scripts, and what it has seen of a call.

use crate::Outcome;
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::runtime::{BrowserRuntime, Runtime};
use http_retry::{Backoff, Jitter, RetryPolicy, RetryPolicyBuilder, RetryReport};
use reqwest_middleware::ClientWithMiddleware;
use std::time::Duration;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Returns the origin of the server that fails, which is not the page's.
    #[wasm_bindgen(js_name = failing_origin)]
    fn origin() -> String;
}

/// A call's requests at the server, which responds to them with one step of a script after the other.
pub(crate) struct Script {
    name: &'static str,
    steps: &'static str,
}

impl Script {
    /// A script for the test of this name, such as `503,429:1,200`.
    pub(crate) fn new(name: &'static str, steps: &'static str) -> Self {
        Self { name, steps }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/script/{}/{}", origin(), self.name, self.steps)
    }

    /// Returns the requests that the server has seen: each one's method, and its idempotency key.
    pub(crate) async fn seen(&self) -> Result<Vec<String>, reqwest::Error> {
        let url = format!("{}/seen/{}", origin(), self.name);
        let text = reqwest::Client::new().get(url).send().await?.text().await?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// Short waits, so that the tests are quick.
pub(crate) fn quick() -> RetryPolicyBuilder {
    let wait = Duration::from_millis(20);
    RetryPolicy::builder()
        .backoff(Backoff::fixed(wait).jitter(Jitter::None))
        .max_retries(3)
}

pub(crate) fn client(retries: RetryMiddleware) -> Result<ClientWithMiddleware, reqwest::Error> {
    Ok(build(reqwest::Client::builder(), retries)?.build())
}

/// Sends a request, and returns the status, or the error's text, with the report and the time that it took.
pub(crate) async fn sent(
    request: reqwest_middleware::RequestBuilder,
) -> Result<(Result<u16, String>, RetryReport, Duration), Box<dyn std::error::Error>> {
    let slot = RetryReport::slot();
    let begun = BrowserRuntime.now();
    let response = request.with_extension(slot.clone()).send().await;
    let took = BrowserRuntime.now().saturating_sub(begun);
    let report = slot.take().ok_or("no report")?;
    let status = response
        .map(|response| response.status().as_u16())
        .map_err(|error| error.to_string());
    Ok((status, report, took))
}

pub(crate) async fn wait(millis: u64) {
    BrowserRuntime.sleep(Duration::from_millis(millis)).await;
}

/// Fails with both values unless they are the same.
pub(crate) fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
    found: T,
    expected: U,
) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(format!("found {found:?}, expected {expected:?}").into())
}

/// Fails with the text unless the condition holds.
pub(crate) fn holds(condition: bool, text: impl std::fmt::Debug) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(format!("{text:?}").into())
    }
}
