//! The layer, and the service that it makes.

use crate::call::HedgeFuture;
use crate::latencies::Latencies;
use crate::request::{CopyRequest, ResponseHead};
use http_retry_core::adapter::{Budgets, Engine};
use http_retry_core::gate::Gate;
use http_retry_core::policy::Hedge;
use http_retry_core::report::Observer;
use http_retry_core::runtime::Runtime;
use http_retry_core::{ConfigError, RetryBudget, RetryPolicy};
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// A layer that sends a request once more if it is slow, and returns the first response.
///
/// It stands below a retry layer, which sees one attempt, or [alone](Self::alone). Layers that must see every copy, such
/// as one that signs, stand below it. Clones share the latencies.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http_retry::hedge::{Hedge, HedgeLayer};
/// use http_retry::testing::Script;
/// use http_retry::{RetryLayer, RetryPolicy};
/// use std::time::Duration;
/// use tower::{Layer, ServiceExt};
///
/// let client = Script::new().status(200); // a client of hyper-util, say
/// let client = HedgeLayer::new(Hedge::after(Duration::from_millis(200)))?.layer(client);
/// let client = RetryLayer::new(RetryPolicy::background()).layer(client);
///
/// let request = http::Request::get("http://api.example/").body(String::new())?;
/// assert_eq!(client.oneshot(request).await?.status(), 200);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct HedgeLayer {
    pub(crate) hedge: Hedge,
    /// The settings of a layer that stands alone.
    pub(crate) own: Option<Arc<Engine>>,
    pub(crate) latencies: Arc<Latencies>,
}

impl HedgeLayer {
    /// Creates a layer for requests of a retry layer above, which knows their budget, gate and policy. A request without
    /// one is sent once. `hedge` applies to services whose policy has no
    /// [`hedge`](http_retry_core::RetryPolicyBuilder::hedge) of its own.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] for the first part of `hedge` that is out of bounds.
    pub fn new(hedge: Hedge) -> Result<Self, ConfigError> {
        hedge.check()?;
        Ok(Self {
            hedge,
            own: None,
            latencies: Arc::default(),
        })
    }

    /// Creates a layer that also hedges requests without a retry layer above, on this clock. The policy says what may be
    /// sent twice and what a response means; it repeats nothing here.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] for the first part of `hedge` that is out of bounds.
    pub fn alone(
        hedge: Hedge,
        policy: RetryPolicy,
        runtime: impl Runtime,
    ) -> Result<Self, ConfigError> {
        let engine = Engine::new(policy, Arc::new(runtime));
        Ok(Self {
            own: Some(Arc::new(engine)),
            ..Self::new(hedge)?
        })
    }

    /// Pays from this budget if the layer stands [alone](Self::alone), and adds each success to it; below a retry layer
    /// that layer's pays. Clone it into every client that calls the same service. Default: one for each service or host.
    #[must_use]
    pub fn budget(self, budget: RetryBudget) -> Self {
        self.with(|engine| engine.set_budget(Budgets::One(budget)))
    }

    /// Hedges only while this gate is open, and tells it of refusals, if the layer stands [alone](Self::alone); below a
    /// retry layer that layer's counts. No request waits at it here, and it needs a policy with a
    /// [`max_gate_wait`](http_retry_core::RetryPolicyBuilder::max_gate_wait). Default: a gate of its own.
    #[must_use]
    pub fn gate(self, gate: Gate) -> Self {
        self.with(|engine| engine.set_gate(gate))
    }

    /// Adds an observer of the hedges of a layer that stands [alone](Self::alone); below a retry layer the observers of
    /// that one are told. Default: none.
    #[must_use]
    pub fn observer(self, observer: impl Observer) -> Self {
        self.with(|engine| engine.observe(observer))
    }

    fn with(mut self, change: impl FnOnce(&mut Engine)) -> Self {
        if let Some(own) = &mut self.own {
            let engine = Arc::make_mut(own);
            change(engine);
            engine.refresh();
        }
        self
    }
}

impl<S> Layer<S> for HedgeLayer {
    type Service = HedgeService<S>;

    fn layer(&self, inner: S) -> HedgeService<S> {
        HedgeService {
            inner,
            layer: Arc::new(self.clone()),
        }
    }
}

/// A service that hedges, made by [`HedgeLayer`].
///
/// It takes `http::Request`s whose body is an `http_body::Body` and `Clone`, with the feature `reqwest` also those of
/// `reqwest::Client`, and is ready when the service below is. A body without an exact length, such as a stream, is sent
/// once.
///
/// # Errors
///
/// Those of the service below.
///
/// # Cancel safety
///
/// Dropping the future of a call drops all copies. The token of a hedge that was not sent goes back to the budget.
#[derive(Debug, Clone)]
pub struct HedgeService<S> {
    inner: S,
    layer: Arc<HedgeLayer>,
}

impl<S, Q> Service<Q> for HedgeService<S>
where
    Q: CopyRequest,
    S: Service<Q, Response: ResponseHead> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = HedgeFuture<S, Q>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        // The service that was polled ready must take the call; its clone may not be ready.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        HedgeFuture::new(&self.layer, service, request)
    }
}
