//! Every stack, set up by one document, and what a call through it gives.

use super::super::connections::client::{HyperClient, Speaks, bare_hyper, bare_reqwest};
use super::answer::{Answer, Whole};
use super::clock::Clock;
use crate::in_time::in_time;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use http_retry::config::{Document, RetryConfig, RetryConfigBuilder};
use http_retry::report::{RequestFailed, RetryEvent, RetryEventKind};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::marker::{CloneBody, Unchanged, Wrapped};
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{RetryReport, StopReason};
use hyper_util::client::legacy;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tower::{BoxError, Layer, ServiceExt};

/// Where the retry layer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stack {
    /// Over hyper-util's client, whose errors stay as they are.
    Tower,
    /// The same with boxed errors.
    Boxed,
    /// In reqwest-middleware.
    Middleware,
    /// As a tower layer over reqwest's client, whose errors stay as they are.
    Direct,
}

pub(super) const STACKS: [Stack; 4] =
    [Stack::Tower, Stack::Boxed, Stack::Middleware, Stack::Direct];

impl Stack {
    pub(super) fn is_reqwest(self) -> bool {
        matches!(self, Self::Middleware | Self::Direct)
    }

    /// Whether its error type can be one of this crate's.
    pub(super) fn can_fail(self) -> bool {
        matches!(self, Self::Boxed | Self::Middleware)
    }

    /// Whether a request can bring settings of its own.
    pub(super) fn has_extensions(self) -> bool {
        self != Self::Direct
    }
}

/// A document in force, and what its layers are told of and run on.
#[derive(Debug, Clone)]
pub(super) struct Kit {
    pub(super) config: RetryConfig,
    pub(super) clock: Clock,
    pub(super) speaks: Speaks,
    events: Arc<Mutex<Vec<(String, String)>>>,
}

impl Kit {
    pub(super) fn new(document: Value) -> Self {
        Self::with(RetryConfig::builder(), document)
    }

    pub(super) fn with(builder: RetryConfigBuilder, document: Value) -> Self {
        let config = builder.load(&self::document(document));
        Self {
            config: config.unwrap_or_else(|errors| panic!("{errors}")),
            clock: Clock::new(),
            speaks: Speaks::Http1,
            events: Arc::default(),
        }
    }

    pub(super) fn on(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    pub(super) fn speaking(self, speaks: Speaks) -> Self {
        Self { speaks, ..self }
    }

    /// What was told, each with the service that it was told of.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        self.events.lock().unwrap().clone()
    }

    /// A client of its own, whose connections nobody shares.
    pub(super) fn client(&self, stack: Stack) -> Client {
        let events = Arc::clone(&self.events);
        let tell = move |event: &RetryEvent<'_>| {
            let what = match event.kind {
                RetryEventKind::AttemptStarted { number, .. } => format!("starts {number}"),
                RetryEventKind::AttemptEnded(attempt) => format!("ends {}", attempt.number),
                RetryEventKind::RetryScheduled { retry, .. } => format!("plans {retry}"),
                RetryEventKind::Stopped(report) => format!("stops: {}", report.stop),
                _ => "?".to_owned(),
            };
            events
                .lock()
                .unwrap()
                .push((event.service.to_owned(), what));
        };
        let layer = || {
            RetryLayer::from_config(&self.config)
                .runtime(self.clock.clone())
                .redirects_off()
                .observe(tell.clone())
        };
        match stack {
            Stack::Tower => {
                let layer = layer().unchanged_errors();
                Client::Tower(layer.layer(bare_hyper(self.speaks)))
            }
            Stack::Boxed => Client::Boxed(layer().layer(bare_hyper(self.speaks))),
            Stack::Direct => {
                let layer = layer().unchanged_errors();
                Client::Direct(layer.layer(bare_reqwest(self.speaks)))
            }
            Stack::Middleware => {
                let middleware = RetryMiddleware::from_config(&self.config)
                    .runtime(self.clock.clone())
                    .redirects_off()
                    .observe(tell.clone());
                let client = ClientBuilder::new(bare_reqwest(self.speaks));
                Client::Middleware(client.with(middleware).build())
            }
        }
    }

    /// One request through a client of its own.
    pub(super) async fn send(&self, stack: Stack, request: Request<Bytes>) -> Told {
        in_time(self.client(stack).send(request)).await
    }
}

pub(super) fn document(value: Value) -> Document {
    serde_json::from_value(value).unwrap()
}

/// A client of one of the stacks.
#[derive(Debug, Clone)]
pub(super) enum Client {
    Tower(Retry<HyperClient<Full<Bytes>>, CloneBody, Wrapped<Unchanged>>),
    Boxed(Retry<HyperClient<Full<Bytes>>>),
    Middleware(ClientWithMiddleware),
    Direct(Retry<reqwest::Client, CloneBody, Wrapped<Unchanged>>),
}

/// What a call gave, and its report as far as the caller can have it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) result: Result<Answer, BoxError>,
    pub(super) report: Option<RetryReport>,
}

impl Client {
    pub(super) async fn send(&self, mut request: Request<Bytes>) -> Told {
        let slot = RetryReport::slot();
        request.extensions_mut().insert(slot.clone());
        let result = self.answer(request).await;
        let attached = |answer: &Answer| answer.response.extensions().get().cloned();
        let report = slot.take();
        Told {
            report: report.or_else(|| result.as_ref().ok().and_then(attached)),
            result,
        }
    }

    async fn answer(&self, mut request: Request<Bytes>) -> Result<Answer, BoxError> {
        match self {
            Self::Tower(service) => {
                let response = service.clone().oneshot(request.map(Full::new)).await?;
                Ok(Answer::of(response))
            }
            Self::Boxed(service) => {
                let response = service.clone().oneshot(request.map(Full::new)).await?;
                Ok(Answer::of(response))
            }
            Self::Direct(service) => {
                let request = reqwest::Request::try_from(request)?;
                Ok(Answer::of_reqwest(service.clone().oneshot(request).await?))
            }
            Self::Middleware(client) => {
                let mut extensions = std::mem::take(request.extensions_mut());
                let request = request.try_into()?;
                let sent = client.execute_with_extensions(request, &mut extensions);
                Ok(Answer::of_reqwest(sent.await?))
            }
        }
    }
}

/// The same request through the client below, without retries.
pub(super) async fn send_bare(
    stack: Stack,
    speaks: Speaks,
    request: Request<Bytes>,
) -> Result<Answer, BoxError> {
    if stack.is_reqwest() {
        let sent = bare_reqwest(speaks).execute(request.try_into()?);
        return Ok(Answer::of_reqwest(in_time(sent).await?));
    }
    let sent = bare_hyper(speaks).request(request.map(Full::new));
    Ok(Answer::of(in_time(sent).await?))
}

impl Told {
    /// The response, read to its end.
    pub(super) async fn whole(self) -> Whole {
        self.result.unwrap().whole().await
    }

    pub(super) fn status(&self) -> u16 {
        self.result.as_ref().unwrap().response.status().as_u16()
    }

    pub(super) fn stop(&self) -> StopReason {
        self.report.as_ref().unwrap().stop
    }

    /// The statuses of the attempts, 0 for an error, and the rules that judged them.
    pub(super) fn attempts(&self) -> Vec<(u16, Option<&str>)> {
        let attempts = self.report.as_ref().unwrap().attempts.iter();
        attempts
            .map(|attempt| {
                let status = attempt.status.map_or(0, |status| status.as_u16());
                (status, attempt.rule.as_deref())
            })
            .collect()
    }
}

/// The report in an error that the policy made.
pub(super) fn failure(error: &BoxError) -> Option<&RetryReport> {
    let direct = error.downcast_ref::<RequestFailed>();
    let of_middleware = || match error.downcast_ref::<reqwest_middleware::Error>()? {
        reqwest_middleware::Error::Middleware(error) => error.downcast_ref::<RequestFailed>(),
        reqwest_middleware::Error::Reqwest(_) => None,
    };
    direct.or_else(of_middleware).map(RequestFailed::report)
}

/// Whether an error says, in its own client's words, that there was no connection.
pub(super) fn is_connect(error: &BoxError) -> bool {
    let hyper = error.downcast_ref::<legacy::Error>();
    let reqwest = error.downcast_ref::<reqwest::Error>().or_else(|| {
        match error.downcast_ref::<reqwest_middleware::Error>()? {
            reqwest_middleware::Error::Reqwest(error) => Some(error),
            reqwest_middleware::Error::Middleware(_) => None,
        }
    });
    hyper.is_some_and(legacy::Error::is_connect) || reqwest.is_some_and(reqwest::Error::is_connect)
}

pub(super) fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}
