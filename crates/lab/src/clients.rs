//! The retry layers that meet in a world: this crate's on either stack, and its peers.

pub(crate) use super::client::{Client, Target};
use super::origin::{Body, Origin};
use super::runtime::LabRuntime;
use super::{Stack, World};
use http::{Request, Response, StatusCode};
use http_retry::fleet::Fleet;
use http_retry::gate::Gate;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy, ServiceBudgets};
use reqwest_middleware::ClientBuilder;
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use std::sync::{Arc, LazyLock};
use tower::retry::Policy;
use tower::retry::backoff::{
    Backoff as _, ExponentialBackoff as TowerBackoff, ExponentialBackoffMaker, MakeBackoff,
};
use tower::retry::budget::{Budget, TpsBudget};
use tower::{BoxError, Layer, service_fn};

/// The source of tokens for retries.
#[derive(Debug, Clone)]
pub(crate) enum Tokens {
    One(RetryBudget),
    PerService(ServiceBudgets),
}

impl Client {
    /// This crate, on the stack of the world.
    pub(crate) fn ours(
        world: World,
        runtime: LabRuntime,
        origin: &Origin,
        policy: &RetryPolicy,
        tokens: &Tokens,
        gate: &Gate,
    ) -> Self {
        match world.stack {
            Stack::Tower => {
                let layer = RetryLayer::new(policy.clone())
                    .runtime(runtime)
                    .gate(gate.clone());
                let layer = match tokens.clone() {
                    Tokens::One(budget) => layer.budget(budget),
                    Tokens::PerService(budgets) => layer.budgets(budgets),
                };
                Self::tower(layer.layer(origin.clone()))
            }
            Stack::Reqwest => {
                let layer = RetryMiddleware::new(policy.clone())
                    .runtime(runtime)
                    .gate(gate.clone());
                let layer = match tokens.clone() {
                    Tokens::One(budget) => layer.budget(budget),
                    Tokens::PerService(budgets) => layer.budgets(budgets),
                };
                Self::chain([layer], origin)
            }
        }
    }

    /// This crate with nothing set but the policy.
    pub(crate) fn with_defaults(
        world: World,
        runtime: LabRuntime,
        origin: &Origin,
        policy: &RetryPolicy,
    ) -> Self {
        match world.stack {
            Stack::Tower => {
                let layer = RetryLayer::new(policy.clone()).runtime(runtime);
                Self::tower(layer.layer(origin.clone()))
            }
            Stack::Reqwest => {
                let layer = RetryMiddleware::new(policy.clone()).runtime(runtime);
                Self::chain([layer], origin)
            }
        }
    }

    /// This crate with all that a process of a fleet shares; with a gate, that one stays the process's own.
    pub(crate) fn in_fleet(
        world: World,
        runtime: LabRuntime,
        origin: &Origin,
        policy: &RetryPolicy,
        (fleet, gate): (&Fleet, Option<Gate>),
    ) -> Self {
        match world.stack {
            Stack::Tower => {
                let layer = RetryLayer::new(policy.clone()).runtime(runtime);
                let layer = layer.fleet(fleet);
                let layer = match gate {
                    Some(gate) => layer.gate(gate),
                    None => layer,
                };
                Self::tower(layer.layer(origin.clone()))
            }
            Stack::Reqwest => {
                let layer = RetryMiddleware::new(policy.clone()).runtime(runtime);
                let layer = layer.fleet(fleet);
                let layer = match gate {
                    Some(gate) => layer.gate(gate),
                    None => layer,
                };
                Self::chain([layer], origin)
            }
        }
    }

    /// This crate three times, one layer around the other, each with a budget of its own.
    pub(crate) fn ours_thrice(
        world: World,
        runtime: &LabRuntime,
        origin: &Origin,
        policy: &RetryPolicy,
        budget: impl Fn() -> RetryBudget,
    ) -> Self {
        match world.stack {
            Stack::Tower => {
                let layer = || {
                    let layer = RetryLayer::new(policy.clone()).runtime(runtime.clone());
                    layer.budget(budget())
                };
                Self::tower(layer().layer(layer().layer(layer().layer(origin.clone()))))
            }
            Stack::Reqwest => {
                let layer = || {
                    let layer = RetryMiddleware::new(policy.clone()).runtime(runtime.clone());
                    layer.budget(budget())
                };
                Self::chain([layer(), layer(), layer()], origin)
            }
        }
    }

    /// reqwest-retry, exponential, with three retries.
    pub(crate) fn reqwest_retry(origin: &Origin) -> Self {
        Self::chain([reqwest_retry()], origin)
    }

    pub(crate) fn reqwest_retry_thrice(origin: &Origin) -> Self {
        Self::chain([reqwest_retry(), reqwest_retry(), reqwest_retry()], origin)
    }

    /// `tower::retry` with three retries, its exponential backoff and this budget.
    pub(crate) fn tower_retry(origin: &Origin, budget: &Arc<TpsBudget>) -> Self {
        let policy = TowerPolicy {
            left: 3,
            budget: Arc::clone(budget),
            backoff: ExponentialBackoffMaker::default().make_backoff(),
        };
        Self::tower(tower::retry::Retry::new(policy, origin.clone()))
    }

    fn chain<M: reqwest_middleware::Middleware>(
        layers: impl IntoIterator<Item = M>,
        origin: &Origin,
    ) -> Self {
        let builder = ClientBuilder::new(UNUSED.clone());
        let builder = layers.into_iter().fold(builder, ClientBuilder::with);
        let client = builder.with(origin.clone()).build();
        Self::tower(service_fn(move |request: Request<Body>| {
            let client = client.clone();
            async move {
                let url = request.uri().to_string().parse()?;
                let request = reqwest::Request::new(request.method().clone(), url);
                let answer = client.execute(request).await?;
                let mut response = Response::new(());
                *response.status_mut() = answer.status();
                Ok::<_, BoxError>(response)
            }
        }))
    }
}

/// The client at the end of a chain that never gets so far.
static UNUSED: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let builder = reqwest::Client::builder().no_proxy().tls_certs_only([]);
    builder.build().unwrap_or_default()
});

fn reqwest_retry() -> RetryTransientMiddleware<ExponentialBackoff> {
    let policy = ExponentialBackoff::builder().build_with_max_retries(3);
    RetryTransientMiddleware::new_with_policy(policy)
}

/// The policy that a user of `tower::retry` writes.
#[derive(Debug, Clone)]
struct TowerPolicy {
    left: u32,
    budget: Arc<TpsBudget>,
    backoff: TowerBackoff,
}

impl<B, E> Policy<Request<Body>, Response<B>, E> for TowerPolicy {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut Request<Body>,
        result: &mut Result<Response<B>, E>,
    ) -> Option<Self::Future> {
        let failed = match result {
            Ok(answer) => {
                answer.status().is_server_error()
                    || answer.status() == StatusCode::TOO_MANY_REQUESTS
            }
            Err(_) => true,
        };
        if !failed {
            self.budget.deposit();
            return None;
        }
        if self.left == 0 || !self.budget.withdraw() {
            return None;
        }
        self.left -= 1;
        Some(self.backoff.next_backoff())
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        Some(request.clone())
    }
}
