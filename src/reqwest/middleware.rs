//! The middleware.

use super::chain::MiddlewareChain;
use crate::RetryPolicy;
use crate::call::{Call, carry_on, drive};
use crate::client::replay::CloneBody;
use crate::client::reqwest_requests::save_request;
use crate::engine::{Engine, Routes, http_engine_settings};
use crate::resume::Resume;
use crate::route::Router;
use crate::runtime::{BoxFuture, DefaultRuntime};
#[cfg(feature = "services")]
use crate::services::Services;
use ::reqwest::{Request, Response};
use http::Extensions;
use http_retry_core::adapter::{RequestSettings, Todo};
use reqwest_middleware::{Middleware, Next, Result};
use std::sync::{Arc, OnceLock};

/// Adds retries to a `reqwest_middleware::ClientWithMiddleware`.
///
/// ```
/// use http_retry::reqwest::{RetryMiddleware, build};
/// use http_retry::{RetryBudget, RetryPolicy};
/// use reqwest::redirect::Policy;
///
/// let budget = RetryBudget::default();
/// let retries = RetryMiddleware::new(RetryPolicy::background()).budget(budget);
/// let client = build(reqwest::Client::builder(), Policy::default(), retries)?.build();
/// # Ok::<(), reqwest::Error>(())
/// ```
///
/// Middlewares that are added after this one, or to what [`build`](super::build()) returns, see each attempt, such as
/// one that signs. Several retry middlewares in one client do not multiply: only
/// the outermost retries. Added by `ClientBuilder::new(client).with(retries)`, without
/// [`redirects_watched`](Self::redirects_watched) or [`redirects_off`](Self::redirects_off), it repeats only idempotent
/// requests: `build` is the shorter way. With the feature `tracing` the first request that is not repeated for that
/// reason is logged, with the line to write.
///
/// Every setting has a default. Some of them:
///
/// ```
/// # #[cfg(not(feature = "testing"))] fn main() {}
/// # #[cfg(feature = "testing")] #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http_retry::gate::Gate;
/// use http_retry::reqwest::RetryMiddleware;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::{RetryPolicy, RetryReport, ServiceBudgets};
/// use std::time::Duration;
///
/// let retries = RetryMiddleware::new(RetryPolicy::background())
///     .budgets(ServiceBudgets::default())
///     .gate(Gate::new())
///     .runtime(ManualRuntime::new())
///     .drain_before_retry(64 * 1024, Duration::from_millis(500))
///     .idempotency_keys()
///     .redirects_off();
/// // A script responds instead of a server.
/// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
///     .with(retries)
///     .with(Script::new().status(503).status(200))
///     .build();
///
/// let response = client.get("http://api.example/").send().await?;
/// let report = response.extensions().get::<RetryReport>().ok_or("no report")?;
/// assert_eq!((response.status().as_u16(), report.retries()), (200, 1));
/// # Ok(()) }
/// ```
///
/// A request's own settings ([`RetryOverride`](crate::RetryOverride)) and its report slot go into the extensions that
/// `RequestBuilder::with_extension` fills, or into those of `execute_with_extensions`. An attempt that is cut is an
/// [`AttemptTimeout`](crate::AttemptTimeout) in `Error::Middleware`, and a request that the policy calls a failure is a
/// [`RequestFailed`](crate::report::RequestFailed) there. Every other error is unchanged.
///
/// # Cancel safety
///
/// Dropping the call ends it: nothing more is sent, the tokens of an unsent retry go back to the budget, and no task or
/// timer is left.
#[derive(Debug, Clone)]
pub struct RetryMiddleware {
    pub(super) engine: Arc<Engine>,
}

impl RetryMiddleware {
    /// Creates a middleware with a policy and a default budget for each service or host, on tokio's clock.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            engine: Arc::new(Engine::new(policy, Arc::new(DefaultRuntime))),
        }
    }

    /// Creates a middleware with a policy for each service, on tokio's clock. [`RetryMiddleware::budget`] pays if a
    /// service has no budget of its own.
    #[cfg(feature = "services")]
    #[must_use]
    // A program without services then does not link their crate.
    #[inline]
    pub fn for_services(services: &Services) -> Self {
        Self::routed(services.clone())
    }

    /// Creates a middleware that follows a document and its changes, on tokio's clock. The document decides;
    /// [`RetryMiddleware::budget`] pays if it names no budget.
    #[cfg(feature = "serde")]
    #[must_use]
    pub fn from_config(config: &crate::config::RetryConfig) -> Self {
        Self::routed(config.clone())
    }

    /// Creates a middleware that takes the route of each request from a [`Router`], on tokio's clock.
    #[must_use]
    pub fn routed(router: impl Router) -> Self {
        Self {
            engine: Arc::new(Engine::new(
                Routes::PerRequest(Arc::new(router)),
                Arc::new(DefaultRuntime),
            )),
        }
    }

    http_engine_settings!();

    /// Saves only the parts of a request that are sent: method, URL, version, headers, timeout and body. Default: its
    /// extensions too.
    ///
    /// A `reqwest::Request` made from an `http::Request` has the extensions of that one. reqwest itself does not read
    /// them, but an inner middleware can, if it converts the request back; without this setting it finds them in every
    /// attempt. They are private, so the layer cannot see if there are any, and saving them takes three allocations for
    /// each request even if there are none. The extensions that `with_extension` adds are separate, and always saved.
    /// The setting has no effect on a request with a streaming body.
    #[must_use]
    pub fn plain_requests(self) -> Self {
        self.with(|engine| engine.save.is_plain = true)
    }

    /// Sets how downloads are resumed that are sent with [`send_resumed`](super::SendResumed::send_resumed). Default
    /// [`Resume::new`].
    #[must_use]
    pub fn resume(self, resume: Resume) -> Self {
        self.with(|engine| engine.downloads = resume.into())
    }
}

impl Middleware for RetryMiddleware {
    // By hand: an async function keeps every argument twice in its future, which is allocated for each request here.
    // And a request that must wait at the gate gets a future without room for a first attempt.
    fn handle<'me, 'extensions, 'next, 'all>(
        &'me self,
        mut request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> BoxFuture<'all, Result<Response>>
    where
        'me: 'all,
        'extensions: 'all,
        'next: 'all,
        Self: 'all,
    {
        // The outermost middleware fills the slot, since it is the one that repeats the request.
        if let Some(slot) = extensions.get::<EngineSlot>() {
            slot.get_or_init(|| Arc::clone(&self.engine));
        }
        let own = RequestSettings::from_extensions(Some(extensions));
        let engine = Arc::clone(&self.engine);
        let mut call = Call::<MiddlewareChain<'all>>::new(engine, own, &mut request);
        // A later attempt starts with the extensions as they are before the first.
        let before = if call.exchange.may_retry() {
            extensions.clone()
        } else {
            Extensions::new()
        };
        let chain = MiddlewareChain {
            next,
            extensions,
            before,
            across_tasks: self.engine.across_tasks,
        };
        match call.start(&request) {
            Todo::Send => {
                call.save_in_place(save_request, &mut request);
                Box::pin(drive(call, chain, CloneBody, request, rest))
            }
            todo => {
                call.delay(request);
                rest(call, chain, CloneBody, todo)
            }
        }
    }
}

/// Carries on with a request that is not finished by its first attempt.
fn rest<'a>(
    call: Call<MiddlewareChain<'a>>,
    chain: MiddlewareChain<'a>,
    body: CloneBody,
    todo: Todo,
) -> BoxFuture<'a, Result<Response>> {
    Box::pin(carry_on(call, chain, body, todo))
}

/// The slot in a request's extensions in which the middleware leaves its engine for the sender.
pub(super) type EngineSlot = Arc<OnceLock<Arc<Engine>>>;
