//! One process of a fleet, as far as a test can tell it from one: a client with a fleet of its own.

use http::StatusCode;
use http_retry::fleet::Fleet;
use http_retry::report::{Observer, RetryEvent, RetryEventKind};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, Jitter, RetryOverride, RetryPolicy, RetryReport};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::{Layer, ServiceExt};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

/// Far above what anything here takes, and below what a test runner waits.
pub(super) const LONG: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub(super) enum Stack {
    Tower,
    Reqwest,
}

pub(super) const BOTH: [Stack; 2] = [Stack::Tower, Stack::Reqwest];

/// A client in a fleet, and the service `orders` that it calls.
pub(super) struct Process {
    pub(super) fleet: Fleet,
    client: Client,
    is_down: Arc<AtomicBool>,
    events: UnboundedReceiver<String>,
    aways: Arc<Mutex<Vec<Duration>>>,
}

enum Client {
    Tower(RetryLayer),
    Reqwest(ClientWithMiddleware, MockServer),
}

/// What came of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) retries: usize,
}

impl Process {
    /// A client whose service is up.
    pub(super) async fn start(stack: Stack, fleet: Fleet) -> Self {
        let (sender, events) = unbounded_channel();
        let is_down = Arc::new(AtomicBool::new(false));
        let aways = Arc::default();
        let heard = Heard(sender, Arc::clone(&aways));
        let client = match stack {
            Stack::Tower => {
                let layer = RetryLayer::new(policy()).fleet(&fleet).observer(heard);
                Client::Tower(layer)
            }
            Stack::Reqwest => {
                let server = MockServer::start().await;
                let answers = Mock::given(matchers::any()).respond_with(Service(is_down.clone()));
                answers.mount(&server).await;
                let retries = RetryMiddleware::new(policy()).fleet(&fleet).observer(heard);
                let client = reqwest::Client::builder().no_proxy().build().unwrap();
                let client = ClientBuilder::new(client).with(retries.redirects_off());
                Client::Reqwest(client.build(), server)
            }
        };
        Self {
            fleet,
            client,
            is_down,
            events,
            aways,
        }
    }

    /// The same, once it shares its budget. It waits long for its store, which has to share the machine with other tests.
    pub(super) async fn joined(stack: Stack, url: &str) -> Self {
        let fleet = Fleet::builder().wait(Duration::from_secs(1));
        let mut process = Self::start(stack, fleet.redis(url).unwrap()).await;
        assert_eq!(process.get().await.status, 200);
        assert_eq!(process.event().await, "orders joined");
        process
    }

    /// From now on the service answers 503, or no longer.
    pub(super) fn is_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    pub(super) async fn get(&self) -> Got {
        let named = RetryOverride::new().service("orders");
        match &self.client {
            Client::Tower(layer) => {
                let is_down = Arc::clone(&self.is_down);
                let service = tower::service_fn(move |_: http::Request<String>| {
                    let mut response = http::Response::new(String::new());
                    *response.status_mut() = status(&is_down);
                    std::future::ready(Ok::<_, Infallible>(response))
                });
                let mut request = http::Request::get("http://api.example/")
                    .body(String::new())
                    .unwrap();
                request.extensions_mut().insert(named);
                let response = layer.layer(service).oneshot(request).await.unwrap();
                Got::of(response.status(), response.extensions())
            }
            Client::Reqwest(client, server) => {
                let request = client.get(server.uri()).with_extension(named);
                let response = request.send().await.unwrap();
                Got::of(response.status(), response.extensions())
            }
        }
    }

    /// How many retries so many calls get.
    pub(super) async fn retries(&self, calls: usize) -> usize {
        let mut retries = 0;
        for _ in 0..calls {
            retries += self.get().await.retries;
        }
        retries
    }

    /// The next change that is told.
    pub(super) async fn event(&mut self) -> String {
        let event = tokio::time::timeout(LONG, self.events.recv()).await;
        event.expect("an event comes").unwrap()
    }

    /// For how long it was away, each time that it joined.
    pub(super) fn aways(&self) -> Vec<Duration> {
        self.aways.lock().unwrap().clone()
    }

    /// What was told that nobody waited for.
    pub(super) fn other_events(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

impl Got {
    fn of(status: StatusCode, extensions: &http::Extensions) -> Self {
        let report = extensions.get::<RetryReport>();
        let attempts = report.map_or(1, |report| report.attempts.len());
        Self {
            status: status.as_u16(),
            retries: attempts - 1,
        }
    }
}

/// One retry at once, and no gate.
fn policy() -> RetryPolicy {
    RetryPolicy::builder()
        .max_retries(1)
        .max_gate_wait(None)
        .backoff(Backoff::fixed(Duration::from_millis(1)).jitter(Jitter::None))
        .build()
        .unwrap()
}

fn status(is_down: &AtomicBool) -> StatusCode {
    if is_down.load(Ordering::SeqCst) {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    }
}

struct Service(Arc<AtomicBool>);

impl Respond for Service {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        ResponseTemplate::new(status(&self.0).as_u16())
    }
}

struct Heard(UnboundedSender<String>, Arc<Mutex<Vec<Duration>>>);

impl Observer for Heard {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let what = match event.kind {
            RetryEventKind::FleetLeft { reason, .. } => format!("left: {reason}"),
            RetryEventKind::FleetJoined { away, .. } => {
                self.1.lock().unwrap().push(away);
                "joined".to_owned()
            }
            _ => return,
        };
        let _ = self.0.send(format!("{} {what}", event.service));
    }
}
