//! The servers as a client sees them: behind a tower service, and at the end of a chain of reqwest middleware.

use super::server::Server;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;

pub(crate) type Body = Full<Bytes>;

/// One server for each service; the host of a URL is its number.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    servers: Arc<[Server]>,
    patience: Option<Duration>,
}

/// An attempt that took longer than its caller waits.
#[derive(Debug)]
pub(crate) struct TimedOut;

impl std::fmt::Display for TimedOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the caller gave up")
    }
}

impl std::error::Error for TimedOut {}

impl Origin {
    pub(crate) fn new(servers: &[Server]) -> Self {
        Self {
            servers: servers.into(),
            patience: None,
        }
    }

    /// The same with callers that wait so long for an attempt.
    pub(crate) fn with_patience(&self, patience: Option<Duration>) -> Self {
        Self {
            patience,
            ..self.clone()
        }
    }

    /// The server of a host; of a host that is not there, the first.
    fn server(&self, host: Option<&str>) -> Option<Server> {
        let number = host.and_then(|host| host.strip_prefix('s')?.parse::<usize>().ok());
        self.servers.get(number.unwrap_or_default()).cloned()
    }

    async fn answer(
        server: Option<Server>,
        patience: Option<Duration>,
    ) -> Result<Response<Bytes>, TimedOut> {
        let server = server.ok_or(TimedOut)?;
        match patience {
            None => Ok(server.answer().await),
            Some(patience) => {
                let answer = tokio::time::timeout(patience, server.answer()).await;
                answer.map_err(|_| TimedOut)
            }
        }
    }
}

impl Service<Request<Body>> for Origin {
    type Response = Response<Body>;
    type Error = TimedOut;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, TimedOut>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TimedOut>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (server, patience) = (self.server(request.uri().host()), self.patience);
        Box::pin(async move {
            let answer = Self::answer(server, patience).await?;
            Ok(answer.map(Full::new))
        })
    }
}

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Origin {
    async fn handle(
        &self,
        request: reqwest::Request,
        _: &mut http::Extensions,
        _: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let server = self.server(request.url().host_str());
        // reqwest-retry repeats after 504 as after a timeout of reqwest's own, which nothing but reqwest can make.
        let given_up = |_| {
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = StatusCode::GATEWAY_TIMEOUT;
            answer
        };
        let answer = Self::answer(server, self.patience).await;
        Ok(answer.unwrap_or_else(given_up).into())
    }
}
