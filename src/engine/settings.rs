//! The settings that adapters have in common, written once.

/// The settings that every adapter has, written once: methods of a type with a field `engine: Arc<Engine>`.
macro_rules! engine_settings {
    () => {
        /// Takes retry tokens from this budget; clone it into every client that calls the same service. With a
        /// document, or with [`Services`](crate::services::Services), it pays if those name no budget. The last call of
        /// this and [`budgets`](Self::budgets) counts.
        ///
        /// Default: a budget of its own for each service or host
        /// ([`ServiceBudgets::default`](crate::ServiceBudgets)), so that several clients of one service together may
        /// send as many retries as their number times one budget.
        #[must_use]
        pub fn budget(self, budget: crate::RetryBudget) -> Self {
            self.with(|engine| engine.set_budget(http_retry_core::adapter::Budgets::One(budget)))
        }

        /// Takes retry tokens from a budget for each service or host, so that one that is down does not spend the
        /// tokens of the others; with a document, if that names none. A service is identified by the name in the
        /// request's settings, else by host and port. The last call of this and [`budget`](Self::budget) counts.
        /// Default: [`ServiceBudgets::default`](crate::ServiceBudgets).
        #[must_use]
        pub fn budgets(self, budgets: crate::ServiceBudgets) -> Self {
            self.with(|engine| {
                engine.set_budget(http_retry_core::adapter::Budgets::PerService(budgets))
            })
        }

        /// Waits at this gate, if the policy has a
        /// [`max_gate_wait`](crate::RetryPolicyBuilder::max_gate_wait); clone it into every client that shares a rate
        /// limit. Default: a [`Gate::new`](crate::gate::Gate::new) of its own, which knows nothing of the responses to
        /// other clients.
        #[must_use]
        pub fn gate(self, gate: crate::gate::Gate) -> Self {
            self.with(|engine| engine.set_gate(gate))
        }

        /// Shares the default budget and gate of each service with other processes, unless they are set by
        /// [`budget`](Self::budget), [`budgets`](Self::budgets) or [`gate`](Self::gate), before or after this. A
        /// service is identified by the name in the request's settings, else by host and port. Default: nothing is
        /// shared.
        ///
        /// The numbers of the default budget then mean the whole fleet: 20 tokens, or a quarter of a second's worth of
        /// its successes. A retry waits for the store, and a first attempt only for its turn at the gate: at most the
        /// fleet's `wait`. The feature `redis` has a fleet on Redis or Valkey.
        #[must_use]
        pub fn fleet(
            self,
            fleet: &(impl http_retry_core::sharing::SharedServices + Clone),
        ) -> Self {
            self.with(|engine| engine.join(std::sync::Arc::new(fleet.clone())))
        }

        /// Adds a function that is called with every event of every request.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        /// use http_retry::report::RetryEventKind;
        /// use http_retry::tower::RetryLayer;
        /// use std::sync::atomic::{AtomicU64, Ordering};
        ///
        /// static RETRIES: AtomicU64 = AtomicU64::new(0);
        ///
        /// let layer = RetryLayer::new(RetryPolicy::background()).observe(|event| {
        ///     if let RetryEventKind::RetryScheduled { .. } = event.kind {
        ///         RETRIES.fetch_add(1, Ordering::Relaxed);
        ///     }
        /// });
        /// ```
        ///
        /// It is called in the request's task: it must be quick, and must not panic. See [`observer`](Self::observer)
        /// for a type of its own, and for the cost.
        #[doc(alias = "on_retry")]
        #[must_use]
        pub fn observe(
            self,
            on_event: impl crate::report::OnEvent + Send + Sync + 'static,
        ) -> Self {
            self.observer(on_event)
        }

        /// Adds an observer, such as `MetricsObserver`; a closure goes to [`observe`](Self::observe). Default: none.
        ///
        /// Observers are called in the order in which they were added. An HTTP request that is observed takes about 0.9
        /// KB while it is under way instead of 0.6, for its report.
        #[must_use]
        pub fn observer(self, observer: impl crate::report::Observer) -> Self {
            self.with(|engine| engine.observe(observer))
        }

        /// Logs retries at this level, with the feature `tracing`. Default `WARN`.
        ///
        /// At `DEBUG`, a log at `WARN` still has a line for each call that fails in the end, and none for a retry that
        /// helped. The other lines keep their levels.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        /// use http_retry::report::Level;
        /// use http_retry::tower::RetryLayer;
        ///
        /// let layer = RetryLayer::new(RetryPolicy::background()).retry_level(Level::DEBUG);
        /// ```
        #[cfg(feature = "tracing")]
        #[must_use]
        pub fn retry_level(self, level: crate::report::Level) -> Self {
            self.with(|engine| engine.retry_level = level)
        }

        http_retry_core::setting_names! { crate::engine::policy_settings }

        fn with(mut self, change: impl FnOnce(&mut crate::engine::Engine)) -> Self {
            // Copies the engine if clones of this adapter use it: they keep their settings.
            let engine = std::sync::Arc::make_mut(&mut self.engine);
            change(engine);
            engine.refresh();
            self
        }
    };
}

/// The settings of the adapters that send HTTP requests.
macro_rules! http_engine_settings {
    () => {
        crate::engine::engine_settings!();

        /// Takes time, sleep and randomness from this runtime. Clients that share a budget or a gate need runtimes with
        /// one epoch. Default [`TokioRuntime`](crate::runtime::TokioRuntime), which needs a tokio runtime with its
        /// timer enabled; in the browser `BrowserRuntime`.
        #[must_use]
        pub fn runtime(self, runtime: impl crate::runtime::Runtime) -> Self {
            self.with(|engine| engine.runtime = std::sync::Arc::new(runtime))
        }

        /// Reads at most this much of a failed HTTP/1 response, for at most this time, so that its connection can serve
        /// the retry. Default 128 KiB and 1 s: to read more costs about what a new connection does. Past either, the
        /// connection is closed. With 0 for either, only a response that has already ended keeps its connection open.
        ///
        /// Data that was read within the limit is kept: if the retry is not sent in the end, the caller gets the whole
        /// response. On HTTP/2 nothing is read, since dropping a response resets only its stream. If the call has a
        /// deadline, the response is dropped only when the retry is sent, since the deadline may pass before.
        #[must_use]
        pub fn drain_before_retry(self, bytes: usize, time: std::time::Duration) -> Self {
            self.with(|engine| (engine.drain_bytes, engine.drain_time) = (bytes, time))
        }

        /// Records at most this many bytes of a streaming body of reqwest (`Body::wrap_stream`, a multipart form with a
        /// stream) while it is sent, so that it can be sent again. Default 64 KiB; a longer body is sent once, and with
        /// 0 every body. With tower, it is the limit of `record_body`; a [`ReplayBody`](crate::ReplayBody) has its own.
        /// The record of a body takes less than twice the bytes that were sent of it.
        #[must_use]
        pub fn replay_limit(self, bytes: usize) -> Self {
            self.with(|engine| engine.save.recorded = bytes)
        }

        /// Marks first attempts in the request's extensions, as retries always are, so that a retry layer below in
        /// another task (behind a `tower::buffer`, say) notices this one, and does not multiply its retries. Default
        /// off: a layer in the same task notices it anyway, and a marked request costs as much as an observed one.
        #[must_use]
        pub fn across_tasks(self) -> Self {
            self.with(|engine| engine.across_tasks = true)
        }

        /// Gives every request that is not idempotent and has no key its own `idempotency-key`: a random UUID, the same
        /// on every attempt (a request that `truncate` has cut gets a new key). Its bits come from
        /// [`Runtime::key_entropy`](crate::runtime::Runtime::key_entropy), by default the operating system's
        /// randomness. Such a request counts as idempotent, so switch this on only if the server honours keys. A
        /// request with no room for another header (about 24,000) gets no key and does not count as idempotent. Default
        /// off.
        ///
        /// Each call gets a new key: if your code, a job queue or a restart sends an order again, that is a second
        /// order. Send a key made from the order's id then.
        ///
        /// # Source
        ///
        /// draft-ietf-httpapi-idempotency-key-header; UUID version 4 is RFC 9562 section 5.4.
        #[must_use]
        pub fn idempotency_keys(self) -> Self {
            self.with(|engine| engine.idempotency_keys = true)
        }

        /// Sends the number of the attempt in this header: 1 on the first, 2 on the first retry, and so on. It replaces
        /// a header of that name. A request with no room for another header (about 24,000) goes without it. Default
        /// none.
        ///
        /// A header that frames the request or belongs to its connection, such as `content-length`, is ignored with a
        /// warning.
        #[must_use]
        pub fn attempt_header(self, name: http::HeaderName) -> Self {
            if http_retry_core::settings::is_client_header(&name) {
                let why = "only the client sets this header";
                http_retry_core::adapter::warn_of_setting("attempt_header", why);
                return self;
            }
            self.with(|engine| engine.attempt_header = Some(name))
        }

        crate::engine::redirect_settings!();
    };
}

/// Settings on the redirects that a reqwest client below the adapter follows.
macro_rules! redirect_settings {
    () => {
        /// Declares that the reqwest client below marks every redirect that it follows: the client's policy is a
        /// [`redirect_policy`](crate::reqwest::redirect_policy()).
        ///
        /// The client's result does not show a followed redirect: if the response to a POST is 303, and the GET that
        /// follows gets a 429 or cannot connect, the POST looks as if it had not been processed. With this setting the
        /// layer does not repeat such a request, but repeats one without a redirect. With neither this nor
        /// [`redirects_off`](Self::redirects_off), the default, it cannot tell them apart: it repeats only idempotent
        /// requests, and the report of another says
        /// [`StopReason::RedirectsUnknown`](crate::StopReason::RedirectsUnknown).
        ///
        /// An attempt that continues in another task loses the mark. A redirect there, or of a request without a retry
        /// layer, counts for every attempt on the same path at that moment.
        ///
        /// With another policy on the client this setting is wrong, and the layer does not notice redirects back to the
        /// same URL. Once a response comes from another URL than the request's without a mark (a middleware below can
        /// cause that too), the layer behaves as if it had neither setting.
        ///
        /// # Source
        ///
        /// RFC 9110 sections 15.4.3, 15.4.4 (a POST that becomes a GET) and 9.2.2.
        #[cfg(all(
            feature = "reqwest",
            not(all(target_arch = "wasm32", target_os = "unknown"))
        ))]
        #[must_use]
        pub fn redirects_watched(self) -> Self {
            let watched = http_retry_core::adapter::RedirectMode::Watched;
            self.with(|engine| engine.set_redirects(watched))
        }

        /// Declares that the reqwest client below follows no redirects: the client's policy is
        /// [`Policy::none`](::reqwest::redirect::Policy::none).
        ///
        /// Then every response and error is about the request itself, and a request that is not idempotent is repeated
        /// if they say that it was not processed. Default: unknown, see [`redirects_watched`](Self::redirects_watched).
        #[cfg(all(
            feature = "reqwest",
            not(all(target_arch = "wasm32", target_os = "unknown"))
        ))]
        #[must_use]
        pub fn redirects_off(self) -> Self {
            let off = http_retry_core::adapter::RedirectMode::Off;
            self.with(|engine| engine.set_redirects(off))
        }
    };
}

pub(crate) use engine_settings;
pub(crate) use http_engine_settings;
pub(crate) use redirect_settings;
