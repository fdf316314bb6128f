//! Retries for any async operation: a database call, a gRPC call, several steps as one unit.

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod blocking;
mod operation;

use crate::call::{Call, Sends, carry_on, drive};
use crate::engine::{Engine, Routes, engine_settings, redirect_settings};
use crate::policy::Verdict;
use crate::report::ReportSlot;
use crate::route::Router;
use crate::runtime::{DefaultRuntime, MaybeSend, Runtime};
use crate::{Attempt, RequestFacts, RetryPolicy};
use http_retry_core::adapter::{RequestSettings, Todo};
use operation::{Opaque, OperationClient, by_function, by_policy};
use std::future::Future;
use std::sync::Arc;

/// Retries async operations under a policy and a budget, by the same rules as HTTP requests.
///
/// The policy judges an operation by its errors. It is repeated only if it is [`idempotent`](Self::idempotent), or if
/// it sends [one request](Self::one_request) and that was not processed. An operation has no URL, no headers and no
/// body, so rules about those do not match, and it does not fail over. Clones share the budget and the gate.
///
/// ```
/// # #[cfg(not(feature = "testing"))] fn main() {}
/// # #[cfg(feature = "testing")] #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http_retry::run::Runner;
/// use http_retry::{Class, Reach, RetryPolicy};
/// # use http_retry::testing::ManualRuntime;
/// # use std::io;
///
/// # let runtime = ManualRuntime::new();
/// let runner = Runner::on(runtime, RetryPolicy::background()).idempotent(true);
/// let judge = |error: &io::Error| match error.kind() {
///     io::ErrorKind::PermissionDenied => (Class::Permanent, Reach::Answered),
///     _ => (Class::Transient, Reach::Ambiguous),
/// };
///
/// let answer = runner
///     .run(judge, |attempt| async move {
///         if attempt.number < 3 { Err(io::Error::other("not yet")) } else { Ok(42) }
///     })
///     .await;
/// assert_eq!(answer?, 42);
/// # Ok(()) }
/// ```
///
/// With a budget that other clients of the database share, and a report:
///
/// ```
/// # #[cfg(not(feature = "testing"))] fn main() {}
/// # #[cfg(feature = "testing")] #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http_retry::run::Runner;
/// use http_retry::testing::ManualRuntime;
/// use http_retry::{RetryBudget, RetryPolicy, RetryReport, StopReason};
/// use std::io;
///
/// let (budget, slot) = (RetryBudget::default(), RetryReport::slot());
/// let runner = Runner::on(ManualRuntime::new(), RetryPolicy::user_facing())
///     .budget(budget.clone())
///     .service("orders-db")
///     .idempotent(true)
///     .report_to(slot.clone());
///
/// let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
/// let result = runner.run_by_policy(|_| async { Err::<(), _>(reset()) }).await;
/// assert_eq!(result.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
/// let report = slot.take().ok_or("no report")?;
/// assert_eq!((report.retries(), report.stop), (1, StopReason::AttemptsExhausted));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Runner {
    engine: Arc<Engine>,
    service: Arc<str>,
    facts: RequestFacts,
    slot: Option<ReportSlot>,
    one_request: bool,
}

impl Runner {
    /// Creates a runner on tokio's clock, with a default budget for each service and a gate of its own.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self::on(DefaultRuntime, policy)
    }

    /// Creates a runner with a policy for each service, on tokio's clock; [`Runner::service`] names the service.
    /// [`Runner::budget`] pays if the service has no budget of its own. An operation does not fail over: it has no URL.
    #[cfg(feature = "services")]
    #[must_use]
    // A program without services then does not link their crate.
    #[inline]
    pub fn for_services(services: &crate::services::Services) -> Self {
        Self::for_services_on(DefaultRuntime, services)
    }

    /// The same on a runtime of your own, instead of tokio's clock.
    #[cfg(feature = "services")]
    #[must_use]
    pub fn for_services_on(runtime: impl Runtime, services: &crate::services::Services) -> Self {
        Self::routed_on(runtime, services.clone())
    }

    /// Creates a runner that follows a document and its changes, on tokio's clock; [`Runner::service`] names the
    /// service. The document decides; [`Runner::budget`] pays if it names no budget.
    #[cfg(feature = "serde")]
    #[must_use]
    pub fn from_config(config: &crate::config::RetryConfig) -> Self {
        Self::routed(config.clone())
    }

    /// Creates a runner that takes the route from a [`Router`], on tokio's clock; [`Runner::service`] names the
    /// service.
    #[must_use]
    pub fn routed(router: impl Router) -> Self {
        Self::routed_on(DefaultRuntime, router)
    }

    /// The same on a runtime of your own, instead of tokio's clock.
    #[must_use]
    pub fn routed_on(runtime: impl Runtime, router: impl Router) -> Self {
        Self::with_engine(Engine::new(
            Routes::PerRequest(Arc::new(router)),
            Arc::new(runtime),
        ))
    }

    /// Creates a runner on a runtime of your own, with a default budget for each service and a gate of its own.
    #[must_use]
    pub fn on(runtime: impl Runtime, policy: RetryPolicy) -> Self {
        Self::with_engine(Engine::new(policy, Arc::new(runtime)))
    }

    fn with_engine(engine: Engine) -> Self {
        Self {
            engine: Arc::new(engine),
            service: Arc::default(),
            facts: RequestFacts::operation(),
            slot: None,
            one_request: false,
        }
    }

    engine_settings!();
    redirect_settings!();

    /// Declares the operation safe to repeat, or not. Default `false`: it is not repeated, unless it sends
    /// [`one_request`](Self::one_request).
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self {
            facts: self.facts.idempotent(idempotent),
            ..self
        }
    }

    /// Declares that an attempt of the operation sends at most one request, so that it is not a sequence of steps.
    ///
    /// Its error is then about that request, and if the error says that it was not processed
    /// ([`Reach::Unsent`](crate::Reach::Unsent), [`Reach::Refused`](crate::Reach::Refused)), the operation is repeated
    /// even if it is not [`idempotent`](Self::idempotent). Without this setting the error may be that of a second
    /// request, and says nothing of the first: the run ends with
    /// [`StopReason::RequestsUnknown`](crate::StopReason::RequestsUnknown).
    ///
    /// ```
    /// # #[cfg(not(feature = "testing"))] fn main() {}
    /// # #[cfg(feature = "testing")] #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// use http_retry::RetryPolicy;
    /// use http_retry::run::Runner;
    /// use http_retry::testing::ManualRuntime;
    /// use std::io;
    ///
    /// let runner = Runner::on(ManualRuntime::new(), RetryPolicy::background());
    /// let refused = || async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    /// let attempts = async |runner: Runner| {
    ///     let mut attempts = 0;
    ///     let run = runner.run_by_policy(|attempt| {
    ///         attempts = attempt.number;
    ///         refused()
    ///     });
    ///     assert!(run.await.is_err());
    ///     attempts
    /// };
    /// assert_eq!(attempts(runner.clone()).await, 1);
    /// assert_eq!(attempts(runner.one_request()).await, 5);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn one_request(self) -> Self {
        Self {
            one_request: true,
            ..self
        }
    }

    /// Sets the operation's service, which selects the policy of `for_services` or of a document, the budget of
    /// [`budgets`](Self::budgets) and the gate, and is named in the events. Default: that of the route, or an empty
    /// name.
    #[must_use]
    pub fn service(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            service: name.into(),
            ..self
        }
    }

    /// Sets the slot for the report of each run. The last of several concurrent runs overwrites the others, so give
    /// each its own slot (`runner.clone().report_to(slot)`).
    #[must_use]
    pub fn report_to(self, slot: ReportSlot) -> Self {
        Self {
            slot: Some(slot),
            ..self
        }
    }

    /// Runs the operation until it succeeds or a check refuses another attempt. `judge` returns the class and reach of
    /// an error, or a [`Verdict`], which can also have a delay.
    ///
    /// An attempt timeout or a deadline cuts an attempt only if another one follows; the last one runs to its end,
    /// since no error can report a timeout.
    ///
    /// # Errors
    ///
    /// The last attempt's error, unchanged; the report says why no attempt followed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the running attempt; the tokens of a retry that has not started go back to the budget.
    pub fn run<T, E, F, O, V>(
        &self,
        judge: impl Fn(&E) -> V + MaybeSend,
        operation: O,
    ) -> impl Future<Output = Result<T, E>> + MaybeSend
    where
        V: Into<Verdict>,
        O: FnMut(Attempt) -> F + MaybeSend,
        F: Future<Output = Result<T, E>> + MaybeSend,
        T: MaybeSend,
        E: MaybeSend,
    {
        self.call(OperationClient {
            one_request: self.one_request,
            judge: by_function(judge),
            operation,
        })
    }

    /// Runs the operation as [`Runner::run`] does; the policy judges its errors, by
    /// [`classify_error`](crate::RetryPolicyBuilder::classify_error) and the standard error table.
    ///
    /// So an operation may read a response's body: a body that is cut, reset or late counts as the same failure before
    /// the head, with the reach [`Reach::Answered`](crate::Reach::Answered). An error of reqwest's `error_for_status`
    /// is judged by its status; its headers are lost. The policy reads the source chain of reqwest's, hyper's and I/O
    /// errors and of a `Box<dyn Error + Send + Sync>`; make any other type known by `classify_error(|_: &MyError| ())`.
    ///
    /// # Errors
    ///
    /// The last attempt's error, unchanged.
    ///
    /// # Cancel safety
    ///
    /// As for [`Runner::run`].
    pub fn run_by_policy<T, E, F, O>(
        &self,
        operation: O,
    ) -> impl Future<Output = Result<T, E>> + MaybeSend
    where
        O: FnMut(Attempt) -> F + MaybeSend,
        F: Future<Output = Result<T, E>> + MaybeSend,
        T: MaybeSend,
        E: MaybeSend + 'static,
    {
        self.call(OperationClient {
            one_request: self.one_request,
            judge: by_policy,
            operation,
        })
    }

    async fn call<T, E, X>(&self, client: X) -> Result<T, E>
    where
        T: MaybeSend,
        X: Sends<Request = (), Requests = Opaque, Raw = T, Responses = Opaque, Error = E>,
    {
        let service = Arc::clone(&self.service);
        let own = RequestSettings::of_operation(service, self.facts, self.slot.clone());
        let mut call = Call::new(Arc::clone(&self.engine), own, &mut ());
        let rest = |call, client, opaque, todo| Box::pin(carry_on(call, client, opaque, todo));
        match call.start(&()) {
            Todo::Send => {
                call.save(&Opaque, ());
                drive(call, client, Opaque, (), rest).await
            }
            todo => {
                call.delay(());
                rest(call, client, Opaque, todo).await
            }
        }
    }
}
