//! The settings of retries, and the agent that has them.

use crate::call::Call;
use crate::runtime::ThreadRuntime;
use crate::watch::{WatchedConnector, WatchedResolver};
use http::{Request, Response};
use http_retry_core::adapter::{Budgets, Engine, Routes};
use http_retry_core::gate::Gate;
use http_retry_core::report::{Observer, OnEvent};
use http_retry_core::route::Router;
use http_retry_core::runtime::Runtime;
use http_retry_core::{RetryBudget, RetryPolicy, ServiceBudgets};
use std::sync::Arc;
use ureq::config::ConfigBuilder;
use ureq::middleware::{Middleware, MiddlewareNext};
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{DefaultResolver, Resolver};
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Body, Error, SendBody};

/// Builds a [`ureq::Agent`] whose requests are retried.
///
/// ```
/// use http_retry_ureq::{Retries, RetryBudget, RetryPolicy};
/// use std::time::Duration;
///
/// let budget = RetryBudget::default(); // clone it into every agent that calls the same service
/// let agent = Retries::new(RetryPolicy::background())
///     .budget(budget)
///     .build(|config| config.timeout_recv_response(Some(Duration::from_secs(10))));
/// ```
///
/// The agent is used like any other: `agent.get(url).call()`. A request's own settings (`request.config()`) count for
/// each attempt, and its [`RetryOverride`](crate::RetryOverride) and [`ReportSlot`](http_retry_core::ReportSlot) go
/// into its extensions.
#[derive(Debug, Clone)]
pub struct Retries {
    engine: Engine,
}

/// The default for the longest body that is recorded, in bytes.
const RECORDED_BYTES: usize = 2 * 1024 * 1024;

impl Retries {
    /// Retries by this policy, with a default budget for each service or host and a gate of their own, on the system's
    /// clock.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self::with_engine(Engine::new(policy, Arc::new(ThreadRuntime)))
    }

    /// Retries by the route that a [`Router`] has for each request: a document's, or one of
    /// `http_retry_services::Services`. A failover goes nowhere: the last outcome is returned.
    #[must_use]
    pub fn routed(router: impl Router) -> Self {
        Self::with_engine(Engine::new(
            Routes::PerRequest(Arc::new(router)),
            Arc::new(ThreadRuntime),
        ))
    }

    fn with_engine(mut engine: Engine) -> Self {
        engine.save.recorded = RECORDED_BYTES;
        Self { engine }
    }

    /// Takes retry tokens from this budget; clone it into every client that calls the same service. The last of this
    /// and [`budgets`](Self::budgets) counts, unless a route names a budget of its own.
    ///
    /// Default: a budget of its own for each service or host, so that several clients of one service together may send
    /// as many retries as their number times one budget.
    #[must_use]
    pub fn budget(mut self, budget: RetryBudget) -> Self {
        self.engine.set_budget(Budgets::One(budget));
        self
    }

    /// Takes retry tokens from a budget for each service or host, so that one that is down does not spend the tokens of
    /// the others. A service is known by the name that a request gives it, else by host and port.
    #[must_use]
    pub fn budgets(mut self, budgets: ServiceBudgets) -> Self {
        self.engine.set_budget(Budgets::PerService(budgets));
        self
    }

    /// Waits at this gate, if the policy has a
    /// [`max_gate_wait`](http_retry_core::RetryPolicyBuilder::max_gate_wait); clone it into every client that shares a
    /// rate limit, sync or async. A wait blocks the thread. Default: a gate of its own.
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.engine.set_gate(gate);
        self
    }

    /// Adds a function that is called with every event of every request, in the request's thread: it must be quick, and
    /// must not panic. See [`observer`](Self::observer) for a type of its own.
    #[must_use]
    pub fn observe(self, on_event: impl OnEvent + Send + Sync + 'static) -> Self {
        self.observer(on_event)
    }

    /// Adds an observer, such as `MetricsObserver`; a closure goes to [`observe`](Self::observe). Default: none.
    /// Observers are called in the order in which they were added.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.engine.observe(observer);
        self
    }

    /// Logs retries at this level, with the feature `tracing`. Default `WARN`. At `DEBUG`, a log at `WARN` still has a
    /// line for each call that fails in the end, and none for a retry that helped.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn retry_level(mut self, level: http_retry_core::report::Level) -> Self {
        self.engine.retry_level = level;
        self
    }

    /// Takes time, sleep and randomness from this runtime, such as `ManualRuntime` in a test. Its sleep must complete
    /// when it is polled, or wake its task from another thread. Default: the system's clock, and a wait that blocks the
    /// thread. It has the epoch of `TokioRuntime`, so that clients on both may share a budget and a gate.
    ///
    /// ureq reads the system's clock for its own timeouts, whatever this runtime says.
    #[must_use]
    pub fn runtime(mut self, runtime: impl Runtime) -> Self {
        self.engine.runtime = Arc::new(runtime);
        self
    }

    /// Records at most this many bytes of a request's body while it is sent, so that it can be sent again. Default 2
    /// MiB: ureq does not show if a body is in memory already. Once an attempt has read more, the request is not sent
    /// again ([`StopReason::BodyNotReplayable`](crate::StopReason::BodyNotReplayable)). An attempt that ended before it
    /// has read so much, such as one without a connection, is repeated with a body of any length.
    ///
    /// A reader is not asked again after its end, so each attempt sends the same bytes even if a file grows meanwhile.
    /// One that ends before the announced `content-length` fails the request with `UnexpectedEof`.
    #[must_use]
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.engine.save.recorded = bytes;
        self
    }

    /// Builds an agent with these settings of ureq.
    ///
    /// The function is called twice, and must return the builder that it is given: a middleware of ureq can send a
    /// request once, so there is an agent for the attempts below the one that is returned, with the same settings.
    /// Middlewares that the function adds see each attempt. The cookie jar and the connections are those of the agent
    /// below: `cookie_jar_lock` and `shutdown` of the one above do not reach them.
    ///
    /// ```
    /// use http_retry_ureq::{Retries, RetryPolicy};
    ///
    /// let agent = Retries::new(RetryPolicy::user_facing()).build(|config| config.https_only(true));
    /// ```
    #[must_use]
    pub fn build(
        self,
        configure: impl Fn(ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope>,
    ) -> Agent {
        self.build_with_parts(
            configure,
            DefaultConnector::default(),
            DefaultResolver::default(),
        )
    }

    /// Builds an agent with a connector and a resolver of its own, as [`Agent::with_parts`] does. They, and this
    /// method, may change with a minor version of ureq.
    #[must_use]
    pub fn build_with_parts(
        self,
        configure: impl Fn(ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope>,
        connector: impl Connector,
        resolver: impl Resolver,
    ) -> Agent {
        let below = configure(Agent::config_builder()).build();
        let agent = Agent::with_parts(
            below,
            WatchedConnector(connector),
            WatchedResolver(resolver),
        );
        let mut engine = self.engine;
        engine.refresh();
        let retries = RetryMiddleware {
            engine: Arc::new(engine),
            agent,
        };
        configure(Agent::config_builder().middleware(retries))
            .build()
            .new_agent()
    }
}

/// The first middleware of the agent above. It never calls the next one.
struct RetryMiddleware {
    engine: Arc<Engine>,
    /// The agent that sends the attempts.
    agent: Agent,
}

impl Middleware for RetryMiddleware {
    fn handle(
        &self,
        request: Request<SendBody<'_>>,
        _: MiddlewareNext<'_>,
    ) -> Result<Response<Body>, Error> {
        Call::new(&self.engine, &self.agent, request).run()
    }
}
