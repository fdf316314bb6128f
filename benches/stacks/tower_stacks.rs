//! A tower service that answers at once.

use super::{Call, URL, body, gated, headers, policy, response, timed, traced, with_dialect};
use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use http_body_util::Full;
use http_retry::report::{ReportSlot, RetryEvent};
use http_retry::resume::Resume;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryOverride, RetryPolicy, ServiceBudgets};
use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, Retry};
use tower::{Layer, Service, ServiceExt, service_fn};

pub(crate) type Request = http::Request<Full<Bytes>>;
pub(crate) type Response = http::Response<Full<Bytes>>;

pub(crate) fn call(layers: &str) -> Option<Call> {
    let never = || RetryLayer::new(RetryPolicy::never());
    Some(match layers {
        "bare" => through(bare::<0>(), request),
        "http-retry" => through(layer().layer(bare::<1>()), request),
        "dialect" => through(RetryLayer::new(with_dialect()).layer(bare::<12>()), request),
        "switches off" => {
            let off = policy().to_builder().whole_responses(0).build().unwrap();
            let layer = RetryLayer::new(off).resume(Resume::new());
            through(layer.layer(bare::<13>()), request)
        }
        "gated" => through(RetryLayer::new(gated()).layer(bare::<8>()), request),
        #[cfg(feature = "redis")]
        "shared" => {
            let (budget, gate) = super::shared();
            let layer = RetryLayer::new(gated()).budget(budget).gate(gate);
            through(layer.layer(bare::<19>()), request)
        }
        #[cfg(feature = "redis")]
        "fleet" => {
            let layer = RetryLayer::new(gated()).fleet(&super::fleet());
            through(layer.layer(bare::<20>()), request)
        }
        "per service" => {
            let layer = RetryLayer::new(gated()).budgets(ServiceBudgets::default());
            through(layer.layer(bare::<21>()), request)
        }
        "tower::retry" => through(tower_retry(bare::<2>()), request),
        "never" => through(never().layer(bare::<3>()), request),
        "bare, off" => through(bare::<4>(), request_off),
        "off" => through(layer().layer(bare::<5>()), request_off),
        "nested" => through(layer().layer(layer().layer(bare::<6>())), request),
        "timed" => through(RetryLayer::new(timed()).layer(bare::<18>()), request),
        "observed" => through(observed().layer(bare::<14>()), request),
        #[cfg(feature = "metrics")]
        "metrics" => {
            let metrics = http_retry::report::MetricsObserver::new();
            through(layer().observer(metrics).layer(bare::<22>()), request)
        }
        "slot" => through(layer().layer(bare::<15>()), request_with_slot),
        "bare, slot" => through(bare::<16>(), request_with_slot),
        "traced" => traced(through(layer().layer(bare::<17>()), request)),
        "retried" => through(retrying().layer(failing_once::<10>()), request),
        "tower::retry, retried" => through(Retry::new(Once(true), failing_once::<11>()), request),
        "copy" => Box::new(|| drop(black_box(request().clone()))),
        "request" => Box::new(|| drop(black_box(request()))),
        _ => return None,
    })
}

fn through<S>(service: S, request: fn() -> Request) -> Call
where
    S: Service<Request> + Clone + 'static,
    S::Error: fmt::Debug,
{
    Box::new(move || {
        let response = service.clone().oneshot(request()).now_or_never();
        drop(black_box(response.unwrap().unwrap()));
    })
}

/// The number makes each stack a type of its own, as the one stack of a program is, so that the compiler treats them
/// alike.
pub(crate) fn bare<const STACK: u8>() -> impl Service<
    Request,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>> + Send,
> + Clone
+ Send {
    service_fn(|request: Request| async move {
        drop(black_box(request));
        Ok(response(Full::from("{}")))
    })
}

/// Answers 503 and 200 in turn.
fn failing_once<const STACK: u8>() -> impl Service<
    Request,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>> + Send,
> + Clone
+ Send {
    let fails = Arc::new(AtomicBool::new(false));
    service_fn(move |request: Request| {
        let fails = !fails.fetch_xor(true, Relaxed);
        async move {
            drop(black_box(request));
            let mut response = response(Full::from("{}"));
            if fails {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
            Ok(response)
        }
    })
}

/// Retries without a wait, from a budget that pays for each of them.
fn retrying() -> RetryLayer {
    let policy = policy().to_builder().backoff(http_retry::Backoff::none());
    let budget = RetryBudget::builder().per_success(1).build().unwrap();
    let layer = RetryLayer::new(policy.build().unwrap()).budget(budget);
    layer.runtime(ManualRuntime::new())
}

/// One retry without a wait.
#[derive(Clone)]
struct Once(bool);

impl<B, E> Policy<Request, http::Response<B>, E> for Once {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request,
        result: &mut Result<http::Response<B>, E>,
    ) -> Option<Ready<()>> {
        let failed = matches!(result, Ok(response) if response.status().is_server_error());
        (failed && std::mem::take(&mut self.0)).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

pub(crate) fn layer() -> RetryLayer {
    RetryLayer::new(policy())
}

/// With an observer that does nothing.
fn observed() -> RetryLayer {
    layer().observe(|event: &RetryEvent<'_>| _ = black_box(event))
}

/// The retries that tower's documentation builds of its parts.
#[derive(Clone)]
pub(crate) struct Parts {
    left: u32,
    budget: Arc<TpsBudget>,
    backoff: ExponentialBackoff,
}

pub(crate) fn tower_retry<S>(service: S) -> Retry<Parts, S> {
    let (base, most) = (Duration::from_millis(50), Duration::from_secs(2));
    let backoff = ExponentialBackoffMaker::new(base, most, 0.99, Default::default());
    let parts = Parts {
        left: 3,
        budget: Arc::default(),
        backoff: backoff.unwrap().make_backoff(),
    };
    Retry::new(parts, service)
}

impl<B, E> Policy<Request, http::Response<B>, E> for Parts {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut Request,
        result: &mut Result<http::Response<B>, E>,
    ) -> Option<tokio::time::Sleep> {
        if matches!(result, Ok(response) if !response.status().is_server_error()) {
            self.budget.deposit();
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        self.budget.withdraw().then(|| self.backoff.next_backoff())
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

pub(crate) fn request() -> Request {
    let mut request = http::Request::new(Full::new(body()));
    *request.uri_mut() = URL.parse().unwrap();
    *request.headers_mut() = headers();
    request
}

fn request_off() -> Request {
    let mut request = request();
    request.extensions_mut().insert(RetryOverride::off());
    request
}

fn request_with_slot() -> Request {
    let mut request = request();
    request.extensions_mut().insert(ReportSlot::default());
    request
}
