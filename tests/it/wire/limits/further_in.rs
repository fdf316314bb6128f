//! What services and middlewares further in see of the time that an attempt is given.

use super::super::server::{Act, FaultServer};
use super::super::stacks::clients::{Hyper, Setup, drive, drive_to, fixed, get, hyper, reqwest};
use super::{DEADLINE, TIMEOUT};
use crate::in_time::in_time;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use http_retry::Attempt;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service, ServiceExt};

/// Writes down how long each attempt is given.
#[derive(Debug, Clone, Default)]
struct Limits(Arc<Mutex<Vec<Option<Duration>>>>);

impl Limits {
    fn note(&self, extensions: &Extensions) {
        let limit = extensions
            .get::<Attempt>()
            .and_then(|attempt| attempt.limit);
        self.0.lock().unwrap().push(limit);
    }
}

#[derive(Clone)]
struct Noting(Hyper, Limits);

impl Service<Request<Full<Bytes>>> for Noting {
    type Response = Response<hyper::body::Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = hyper_util::client::legacy::ResponseFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        self.1.note(request.extensions());
        self.0.request(request)
    }
}

#[async_trait]
impl Middleware for Limits {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        self.note(extensions);
        next.run(request, extensions).await
    }
}

/// A stall of six seconds, a wait of three, and one second that remains.
struct Tight {
    server: FaultServer,
    setup: Setup,
    limits: Limits,
}

const WAIT: Duration = Duration::from_secs(3);

impl Tight {
    async fn start() -> Self {
        let limits = fixed(5, WAIT).attempt_timeout(TIMEOUT).deadline(DEADLINE);
        Self {
            server: FaultServer::start([Act::StallHead]).await,
            setup: Setup::new(limits),
            limits: Limits::default(),
        }
    }

    async fn runs<F>(self, mut call: F)
    where
        F: Future<Output = Option<u16>> + Unpin,
    {
        drive_to(&mut call, &self.server, 1).await;
        self.setup.clock.advance(TIMEOUT);
        drive(&mut call, || self.setup.clock.begun().contains(&WAIT)).await;
        self.setup.clock.advance(WAIT);
        assert_eq!(in_time(call).await, Some(200));
        let noted = self.limits.0.lock().unwrap().clone();
        assert_eq!(noted, [Some(TIMEOUT), Some(DEADLINE - TIMEOUT - WAIT)]);
    }
}

#[tokio::test]
async fn services_further_in_see_what_remains_after_the_wait() {
    let tight = Tight::start().await;
    let inner = Noting(hyper(), tight.limits.clone());
    let service = tight.setup.layer().across_tasks().layer(inner);
    let request = get(tight.server.url("/")).map(Full::new);
    let call = async {
        service
            .oneshot(request)
            .await
            .ok()
            .map(|told| told.status().as_u16())
    };
    tight.runs(Box::pin(call)).await;
}

#[tokio::test]
async fn middlewares_further_in_see_what_remains_after_the_wait() {
    let tight = Tight::start().await;
    let client = ClientBuilder::new(reqwest())
        .with(tight.setup.middleware().across_tasks())
        .with(tight.limits.clone())
        .build();
    let request = client.get(tight.server.url("/"));
    let call = async { request.send().await.ok().map(|told| told.status().as_u16()) };
    tight.runs(Box::pin(call)).await;
}
