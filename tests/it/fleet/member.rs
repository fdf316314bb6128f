//! A client that shares its gate, and the service that it calls.

use http_retry::RetryPolicy;
use http_retry::config::RetryConfig;
use http_retry::fleet::Fleet;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::tower::RetryLayer;
use serde_json::json;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// Clones are the same member.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) fleet: Fleet,
    layer: RetryLayer,
    uri: &'static str,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// How often a call has waited at the gate, and how many attempts were sent.
    waits: AtomicUsize,
    sent: AtomicUsize,
    /// What was told of the fleet.
    told: Mutex<Vec<String>>,
}

impl Member {
    pub(super) fn start(url: &str) -> Self {
        let fleet = Fleet::builder().wait(Duration::from_secs(1));
        let fleet = fleet.redis(url).unwrap();
        let layer = RetryLayer::new(RetryPolicy::rate_limited()).fleet(&fleet);
        Self::on(fleet, layer)
    }

    /// One whose document names the fleet, and a service that is not in it.
    pub(super) async fn by_document(url: &str) -> Self {
        let document = json!({
            "version": 1,
            "fleet": {"redis": url, "wait": "1s"},
            "retry": "rate_limited",
            "services": {
                "api": {"match": {"host": "api.example"}},
                "alone": {"match": {"host": "alone.example"}, "fleet": "off"},
            },
        });
        let document = serde_json::from_value(document).unwrap();
        let config = RetryConfig::load(&document).unwrap();
        let member = Self::on(config.fleet().unwrap(), RetryLayer::from_config(&config));
        member.joins().await;
        member
    }

    fn on(fleet: Fleet, layer: RetryLayer) -> Self {
        let seen = Arc::new(Seen::default());
        let heard = Arc::clone(&seen);
        let observe = move |event: &RetryEvent<'_>| match event.kind {
            RetryEventKind::WaitedAtGate { .. } => {
                heard.waits.fetch_add(1, Ordering::SeqCst);
            }
            RetryEventKind::FleetLeft { reason, .. } => heard.tell(format!("left: {reason}")),
            RetryEventKind::FleetJoined { .. } => heard.tell("joined".to_owned()),
            _ => {}
        };
        Self {
            fleet,
            layer: layer.observe(observe),
            uri: "http://api.example/",
            seen,
        }
    }

    /// The same member, which calls another service.
    pub(super) fn at(&self, uri: &'static str) -> Self {
        Self {
            uri,
            ..self.clone()
        }
    }

    /// One that shares its gate.
    pub(super) async fn joined(url: &str) -> Self {
        let member = Self::start(url);
        member.joins().await;
        member
    }

    async fn joins(&self) {
        self.get().await;
        while !self.fleet.status().joined {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn get(&self) {
        self.call(false).await;
    }

    /// Four calls whose first attempts are answered 429, for two seconds: enough to close the gate.
    pub(super) async fn is_refused(&self) {
        let one = || self.call(true);
        tokio::join!(one(), one(), one(), one());
    }

    async fn call(&self, refused: bool) {
        let (refused, seen) = (Arc::new(AtomicBool::new(refused)), Arc::clone(&self.seen));
        let service = tower::service_fn(move |_: http::Request<String>| {
            seen.sent.fetch_add(1, Ordering::SeqCst);
            let mut response = http::Response::new(String::new());
            if refused.swap(false, Ordering::SeqCst) {
                *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
                let wait = http::HeaderValue::from_static("2");
                response.headers_mut().insert("retry-after", wait);
            }
            std::future::ready(Ok::<_, Infallible>(response))
        });
        let request = http::Request::get(self.uri).body(String::new());
        let response = self.layer.layer(service).oneshot(request.unwrap()).await;
        assert_eq!(response.unwrap().status(), 200);
    }

    pub(super) fn waits(&self) -> usize {
        self.seen.waits.load(Ordering::SeqCst)
    }

    pub(super) fn sent(&self) -> usize {
        self.seen.sent.load(Ordering::SeqCst)
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.seen.told.lock().unwrap().clone()
    }
}

impl Seen {
    fn tell(&self, change: String) {
        self.told.lock().unwrap().push(change);
    }
}
