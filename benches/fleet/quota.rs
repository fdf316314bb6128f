//! A quota that twenty members keep together, in real time.

use crate::member::{Request, Response, fleet, joins, status};
use crate::server::Server;
use crate::table::{self, Target};
use http::HeaderValue;
use http_retry::fleet::Fleet;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tower::{Layer, ServiceExt};

const MEMBERS: usize = 20;
const CALLERS: usize = 60;
const CALLS: u64 = 600;
const QUOTA: u64 = 100;
const WINDOW: Duration = Duration::from_secs(2);
const ANSWERS_AFTER: Duration = Duration::from_millis(10);

pub(crate) async fn measure(server: &Server) {
    for (name, headers, most) in [
        ("no quota headers", false, 130.0),
        ("quota headers", true, 130.0),
    ] {
        let alone = run(None, headers).await;
        let fleet = run(Some(server), headers).await;
        let what = format!("{name}: 429s for each 1,000 calls");
        table::judged(
            &what,
            fleet.refused(),
            alone.refused(),
            Target::AtMost(most),
        );
        let what = "  - of them in the first window";
        table::judged(what, fleet.first(), alone.first(), Target::None);
        let (ours, peer) = (fleet.took.as_secs_f64(), alone.took.as_secs_f64());
        table::judged("  seconds", ours, peer, Target::AtMost(13.5));
    }
}

struct Ran {
    refusals: u64,
    first: u64,
    took: Duration,
}

impl Ran {
    fn refused(&self) -> f64 {
        self.refusals as f64 * 1_000.0 / CALLS as f64
    }

    fn first(&self) -> f64 {
        self.first as f64 * 1_000.0 / CALLS as f64
    }
}

async fn run(server: Option<&Server>, headers: bool) -> Ran {
    let uri = format!("http://quota-{headers}.example/");
    let (layers, fleets): (Vec<_>, Vec<_>) = (0..MEMBERS).map(|_| member(server)).unzip();
    let fleets: Vec<_> = fleets.into_iter().flatten().collect();
    for (layer, fleet) in layers.iter().zip(&fleets) {
        // A call that nothing is counted of: members that have just started know of no pause.
        let warm = Arc::new(Service::new(false));
        call(layer, &uri, &warm).await;
        joins(fleet).await;
    }
    let service = Arc::new(Service::new(headers));
    let left = Arc::new(AtomicU64::new(CALLS));
    let begun = Instant::now();
    let callers = (0..CALLERS).map(|caller| {
        let (left, service) = (Arc::clone(&left), Arc::clone(&service));
        let (layer, uri) = (layers[caller % MEMBERS].clone(), uri.clone());
        tokio::spawn(async move {
            let next =
                || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            while next().is_ok() {
                assert_eq!(call(&layer, &uri, &service).await, 200);
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let took = begun.elapsed();
    let used = service.used.lock().unwrap();
    Ran {
        refusals: used.refusals,
        first: used.first,
        took,
    }
}

/// One whose retries nobody limits but the gate.
fn member(server: Option<&Server>) -> (RetryLayer, Option<Fleet>) {
    let layer = RetryLayer::new(RetryPolicy::rate_limited()).budget(RetryBudget::unlimited());
    match server.map(fleet) {
        Some(fleet) => (layer.fleet(&fleet), Some(fleet)),
        None => (layer, None),
    }
}

async fn call(layer: &RetryLayer, uri: &str, service: &Arc<Service>) -> u16 {
    let answering = Arc::clone(service);
    let service = tower::service_fn(move |_: Request| {
        let answer = answering.answer();
        async move {
            tokio::time::sleep(ANSWERS_AFTER).await;
            Ok::<_, Infallible>(answer)
        }
    });
    let request = http::Request::get(uri).body(String::new()).unwrap();
    let answer = layer.layer(service).oneshot(request).await.unwrap();
    answer.status().as_u16()
}

/// A service with a quota by windows that follow each other.
struct Service {
    begun: Instant,
    headers: bool,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    window: u128,
    calls: u64,
    refusals: u64,
    /// Those of the first window.
    first: u64,
}

impl Service {
    fn new(headers: bool) -> Self {
        Self {
            begun: Instant::now(),
            headers,
            used: Mutex::default(),
        }
    }

    fn answer(&self) -> Response {
        let mut used = self.used.lock().unwrap();
        let at = self.begun.elapsed();
        let window = at.as_millis() / WINDOW.as_millis();
        if window != used.window {
            (used.window, used.calls) = (window, 0);
        }
        let left = WINDOW.as_millis() - at.as_millis() % WINDOW.as_millis();
        let mut answer = if used.calls < QUOTA {
            used.calls += 1;
            status(200)
        } else {
            used.refusals += 1;
            used.first += u64::from(window == 0);
            status(429)
        };
        let headers = answer.headers_mut();
        if self.headers {
            headers.insert("x-ratelimit-limit-requests", QUOTA.into());
            headers.insert(
                "x-ratelimit-remaining-requests",
                (QUOTA - used.calls).into(),
            );
            let reset = HeaderValue::from_str(&format!("{left}ms")).unwrap();
            headers.insert("x-ratelimit-reset-requests", reset);
        }
        if answer.status() == 429 {
            let left = HeaderValue::from_str(&left.to_string()).unwrap();
            answer.headers_mut().insert("retry-after-ms", left);
        }
        answer
    }
}
