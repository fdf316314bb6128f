//! The clients: hyper-util under the tower layer, and reqwest under the middleware.

use crate::ledger::{SUCCESS, method};
use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{Backoff, ReportSlot, RetryBudget, RetryPolicy, RetryReport};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// The idle connections that each of the two clients keeps.
pub(crate) const POOL: usize = 64;
/// Retries cost one token each, and there are enough of them.
const TOKENS: u32 = 100_000_000;
type Hyper = hyper_util::client::legacy::Client<HttpConnector, Full<Bytes>>;

/// Both stacks under one policy and one budget.
pub(crate) struct Clients {
    server: SocketAddr,
    budget: RetryBudget,
    tower: Retry<Hyper>,
    middleware: ClientWithMiddleware,
}

impl Clients {
    pub(crate) fn new(server: SocketAddr) -> Result<Self> {
        let policy = RetryPolicy::builder()
            .max_attempts(5)
            // At a gate a refusal costs no token, and the ledger counts retries by their tokens.
            .max_gate_wait(None)
            .backoff(Backoff::fixed(Duration::from_millis(1)))
            .build()?;
        let budget = RetryBudget::builder()
            .capacity(TOKENS)
            .per_success(0)
            .build()?;
        let hyper = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(POOL)
            .build_http();
        let reqwest = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(POOL)
            .build()?;
        let middleware = RetryMiddleware::new(policy.clone())
            .budget(budget.clone())
            .redirects_off();
        Ok(Self {
            server,
            tower: RetryLayer::new(policy).budget(budget.clone()).layer(hyper),
            middleware: ClientBuilder::new(reqwest).with(middleware).build(),
            budget,
        })
    }

    pub(crate) fn tokens_spent(&self) -> Result<u64> {
        let left = self.budget.available(TokioRuntime.now());
        u64::from(TOKENS)
            .checked_sub(left)
            .context("tokens from nowhere")
    }

    /// Sends one request, and says in a word what became of it.
    pub(crate) async fn send(&self, number: usize) -> Result<String> {
        let method = method(number);
        let body = match method {
            Method::POST => Bytes::from(number.to_string()),
            _ => Bytes::new(),
        };
        let uri = format!("http://{}/{number}", self.server);
        let request = Request::builder().method(method).uri(uri).body(body)?;
        // With a slot the loop is there from the first attempt on; without, from the first failure on.
        let slot = (number % 8 < 4).then(RetryReport::slot);
        match number % 2 {
            0 => self.through_tower(request, number, slot).await,
            _ => self.through_middleware(request, number, slot).await,
        }
    }

    async fn through_tower(
        &self,
        mut request: Request<Bytes>,
        number: usize,
        slot: Option<ReportSlot>,
    ) -> Result<String> {
        if let Some(slot) = &slot {
            request.extensions_mut().insert(slot.clone());
        }
        let service = self.tower.clone();
        match service.oneshot(request.map(Full::new)).await {
            Ok(response) => told(number, response).await,
            Err(error) => why(slot, &error),
        }
    }

    async fn through_middleware(
        &self,
        request: Request<Bytes>,
        number: usize,
        slot: Option<ReportSlot>,
    ) -> Result<String> {
        let mut extensions = http::Extensions::new();
        if let Some(slot) = &slot {
            extensions.insert(slot.clone());
        }
        let call = self
            .middleware
            .execute_with_extensions(request.try_into()?, &mut extensions);
        match call.await {
            Ok(response) => told(number, Response::from(response)).await,
            Err(error) => why(slot, &error),
        }
    }
}

/// A success, or why there was none; the answer must be this request's own.
async fn told<B>(number: usize, response: Response<B>) -> Result<String>
where
    B: Body<Data = Bytes, Error: fmt::Debug>,
{
    let status = response.status();
    let report = response.extensions().get::<RetryReport>().cloned();
    let body = response.into_body().collect().await;
    let body = body.map_err(|error| anyhow!("{error:?}"))?.to_bytes();
    ensure!(
        body == number.to_string(),
        "request {number} got another's answer"
    );
    match (status, report) {
        (StatusCode::OK, _) => Ok(SUCCESS.to_owned()),
        (_, Some(report)) => Ok(format!("{} ({})", report.stop, status.as_u16())),
        (_, None) => Err(anyhow!("request {number} failed, and nobody says why")),
    }
}

fn why(slot: Option<ReportSlot>, error: &dyn fmt::Debug) -> Result<String> {
    let Some(slot) = slot else {
        return Ok("an error".to_owned());
    };
    let report = slot
        .take()
        .with_context(|| format!("no report of {error:?}"))?;
    Ok(format!("{} (an error, reported)", report.stop))
}
