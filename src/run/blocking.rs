//! Operations without async, which block their thread.

use super::Runner;
use super::operation::{Opaque, OperationClient, by_function, by_policy};
use crate::Attempt;
use crate::call::Sends;
use crate::policy::Verdict;
use crate::runtime::clock;
use http_retry_core::runtime::block_on;
use std::future::ready;

impl Runner {
    /// Runs an operation without async, as [`Runner::run`] does, and blocks the thread during waits: for a database, a
    /// file, or any function.
    ///
    /// No attempt is cut, since nothing can interrupt a function: pass [`Attempt::limit`] on to what it calls. A deadline
    /// still ends the run before a retry that would start after it. On a thread of an async executor use
    /// `tokio::task::spawn_blocking`. The operation need not be `Send`.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// use http_retry::run::Runner;
    /// use http_retry::{Class, Reach, RetryPolicy};
    /// # use http_retry::testing::ManualRuntime;
    ///
    /// # let runtime = ManualRuntime::new();
    /// let runner = Runner::on(runtime, RetryPolicy::background()).idempotent(true);
    /// let busy = |_: &&str| (Class::Transient, Reach::Refused);
    /// let mut replies = ["the table is locked", "3 rows"].into_iter();
    ///
    /// let rows = runner.run_blocking(busy, |_| match replies.next() {
    ///     Some("3 rows") => Ok(3),
    ///     other => Err(other.unwrap_or("closed")),
    /// });
    /// assert_eq!(rows, Ok(3));
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The last attempt's error, unchanged.
    pub fn run_blocking<T, E, V>(
        &self,
        judge: impl Fn(&E) -> V,
        mut operation: impl FnMut(Attempt) -> Result<T, E>,
    ) -> Result<T, E>
    where
        V: Into<Verdict>,
        T: Send,
    {
        self.block_on(OperationClient {
            one_request: self.one_request,
            judge: by_function(judge),
            operation: |attempt| ready(operation(attempt)),
        })
    }

    /// Runs an operation without async, as [`Runner::run_blocking`] does; the policy judges its errors, as for
    /// [`Runner::run_by_policy`].
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// use http_retry::RetryPolicy;
    /// use http_retry::run::Runner;
    /// use std::fs;
    /// # use http_retry::testing::ManualRuntime;
    ///
    /// # let runtime = ManualRuntime::new();
    /// // A file on a share of the network: reading it twice does no harm.
    /// let runner = Runner::on(runtime, RetryPolicy::user_facing()).idempotent(true);
    /// let text = runner.run_blocking_by_policy(|_| fs::read_to_string("/mnt/share/none.txt"));
    /// assert!(text.is_err()); // a file that is not there is no reason to try again
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The last attempt's error, unchanged.
    pub fn run_blocking_by_policy<T: Send, E: 'static>(
        &self,
        mut operation: impl FnMut(Attempt) -> Result<T, E>,
    ) -> Result<T, E> {
        self.block_on(OperationClient {
            one_request: self.one_request,
            judge: by_policy,
            operation: |attempt| ready(operation(attempt)),
        })
    }

    fn block_on<T, E, X>(&self, client: X) -> Result<T, E>
    where
        X: Sends<Request = (), Requests = Opaque, Raw = T, Responses = Opaque, Error = E>,
        T: Send,
    {
        let mut runner = self.clone();
        if let Some(runtime) = self.engine.runtime.for_blocking_calls() {
            runner = runner.with(|engine| engine.runtime = runtime);
        }
        block_on(clock, runner.call(client))
    }
}
