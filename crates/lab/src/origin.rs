//! The servers as a client sees them: behind a tower service, and at the end of a chain of reqwest middleware.

use super::server::Server;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;

pub(crate) type Body = Full<Bytes>;

/// One server for each service; the host of a URL is its number, or one of two.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    servers: Arc<[Server]>,
    /// The host of the first server; the second one is at all others.
    host: Option<Arc<str>>,
    patience: Option<Duration>,
}

impl Origin {
    #[cfg(feature = "scenarios")]
    pub(crate) fn new(servers: &[Server]) -> Self {
        Self {
            servers: servers.into(),
            host: None,
            patience: None,
        }
    }

    /// A server at one host, and another at all others.
    pub(crate) fn at(host: &str, here: Server, elsewhere: Server) -> Self {
        Self {
            servers: [here, elsewhere].into(),
            host: Some(host.into()),
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

    fn server(&self, host: Option<&str>) -> Option<Server> {
        let number = match &self.host {
            Some(here) => usize::from(host.is_none_or(|host| !host.eq_ignore_ascii_case(here))),
            None => host.and_then(|host| host.strip_prefix('s')?.parse().ok())?,
        };
        self.servers.get(number).cloned()
    }

    async fn answer(
        server: Option<Server>,
        patience: Option<Duration>,
    ) -> Result<Response<Bytes>, io::Error> {
        let server = server.ok_or(io::ErrorKind::HostUnreachable)?;
        match patience {
            None => Ok(server.answer().await),
            Some(patience) => {
                let answer = tokio::time::timeout(patience, server.answer()).await;
                answer.map_err(io::Error::from)
            }
        }
    }
}

impl Service<Request<Body>> for Origin {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
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

#[cfg(feature = "scenarios")]
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
            *answer.status_mut() = http::StatusCode::GATEWAY_TIMEOUT;
            answer
        };
        let answer = Self::answer(server, self.patience).await;
        Ok(answer.unwrap_or_else(given_up).into())
    }
}
