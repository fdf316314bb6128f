//! The layer: settings, and a service made of them.

use super::service::{Boxed, Retry, Unchanged};
use crate::engine::{Engine, http_engine_settings};
use crate::policy::RetryPolicy;
use crate::runtime::TokioRuntime;
use std::marker::PhantomData;
use std::sync::Arc;
use tower_layer::Layer;

/// Adds retries to a tower service.
///
/// ```
/// # #[cfg(not(feature = "testing"))]
/// # fn main() {}
/// # #[cfg(feature = "testing")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut runtime = tokio::runtime::Builder::new_current_thread();
/// # runtime.enable_time().start_paused(true).build()?.block_on(async {
/// use http_retry::testing::Script;
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryBudget, RetryPolicy};
/// use tower::{ServiceBuilder, ServiceExt};
///
/// let budget = RetryBudget::default();
/// let client = Script::new().status(503).status(200);
/// let service = ServiceBuilder::new()
///     .layer(RetryLayer::new(RetryPolicy::background()).budget(budget))
///     .service(client);
///
/// let request = http::Request::get("http://api.example/").body(String::new())?;
/// assert_eq!(service.oneshot(request).await?.status(), 200);
/// # Ok(()) }) }
/// ```
#[derive(Debug, Clone)]
pub struct RetryLayer<X = Unchanged> {
    engine: Arc<Engine>,
    errors: PhantomData<X>,
}

impl RetryLayer {
    /// A layer with a policy and a default budget of its own, on tokio's clock; errors stay as they are.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            engine: Arc::new(Engine::new(policy, Arc::new(TokioRuntime))),
            errors: PhantomData,
        }
    }
}

#[cfg(feature = "serde")]
impl RetryLayer {
    /// A layer that goes by a document and follows its changes, on tokio's clock; errors stay as they are. The budgets
    /// are the document's, and [`RetryLayer::budget`] does not change them.
    #[must_use]
    pub fn from_config(config: &crate::config::RetryConfig) -> Self {
        Self {
            engine: Arc::new(Engine::choosing(config.chooser(), Arc::new(TokioRuntime))),
            errors: PhantomData,
        }
    }
}

impl<X> RetryLayer<X> {
    http_engine_settings!();

    /// Makes the service's error a `Box<dyn Error + Send + Sync>`, so that an attempt that is cut short can be reported
    /// as an [`AttemptTimeout`](crate::AttemptTimeout).
    ///
    /// Without it errors keep their type, and a time limit cuts an attempt only when a retry follows: the last attempt
    /// runs to its end, since there would be nothing to return.
    #[must_use]
    pub fn boxed_errors(self) -> RetryLayer<Boxed> {
        RetryLayer {
            engine: self.engine,
            errors: PhantomData,
        }
    }
}

impl<S, X> Layer<S> for RetryLayer<X> {
    type Service = Retry<S, X>;

    fn layer(&self, inner: S) -> Retry<S, X> {
        Retry::new(inner, Arc::clone(&self.engine))
    }
}
