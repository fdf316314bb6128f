//! The rest of a middleware chain, as the driver's client.

use crate::call::{Client, ErrorFacts, Sends, http_error_facts};
use crate::client::error_chain::{error_text, known, retire_connection, shown_error, type_in_box};
use crate::client::replay::CloneBody;
use crate::client::responses::Wrapped;
use crate::error::LayerError;
use crate::{Attempt, ErrorKind, RetryPolicy};
use ::reqwest::{Request, Response};
use http::Extensions;
use http_retry_core::attempt::AttemptHandle;
use reqwest_middleware::{Error, Next, Result};
use std::any::type_name;
use std::error::Error as StdError;
use std::future::Future;

/// The rest of a middleware chain.
pub(super) struct MiddlewareChain<'a> {
    pub(super) next: Next<'a>,
    pub(super) extensions: &'a mut Extensions,
    /// The extensions as they were before the first attempt, and as each attempt gets them.
    pub(super) before: Extensions,
    pub(super) across_tasks: bool,
}

impl Client for MiddlewareChain<'_> {
    type Request = Request;
    type Requests = CloneBody;
    type Raw = Response;
    type Responses = Wrapped;
    type Error = Error;

    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&Error>) {
        if let Some(error) = error {
            retire_connection(known(policy, error));
        }
    }

    fn may_follow() -> bool {
        true
    }

    fn error_facts<'a>(
        &self,
        policy: &RetryPolicy,
        error: &'a Error,
        head_alone: bool,
    ) -> ErrorFacts<'a> {
        let type_name = match error {
            Error::Middleware(error) => type_in_box(error.as_ref()),
            Error::Reqwest(_) => type_name::<::reqwest::Error>(),
        };
        http_error_facts(policy, known(policy, error), head_alone, type_name)
    }

    fn shown_error<'a>(
        policy: &RetryPolicy,
        error: &'a Error,
    ) -> Option<&'a (dyn StdError + 'static)> {
        shown_error(known(policy, error))
    }

    fn error_text(policy: &RetryPolicy, error: &Error, kind: Option<ErrorKind>) -> String {
        error_text(known(policy, error), kind)
    }

    fn own_error() -> Option<fn(LayerError) -> Error> {
        Some(|error| match error {
            LayerError::Timeout(error) => Error::middleware(error),
            // `Error::Middleware` shows the sources of what it holds, but not that itself.
            LayerError::Limited(error) => anyhow::Error::new(error.clone()).context(error).into(),
            LayerError::Failed(error) => Error::middleware(error),
            LayerError::Incomplete(error) => Error::middleware(error),
        })
    }
}

impl Sends for MiddlewareChain<'_> {
    // By hand: an async function keeps the request twice in its future.
    #[inline(always)]
    fn send(
        &mut self,
        request: Request,
        attempt: Attempt,
        handle: Option<AttemptHandle>,
    ) -> impl Future<Output = Result<Response>> {
        if attempt.number > 1 {
            *self.extensions = self.before.clone();
        }
        // The usual first attempt writes nothing into the caller's extensions.
        if !self.across_tasks && attempt.number == 1 {
            return self.next.clone().run(request, self.extensions);
        }
        let next = self.next.clone();
        // For inner layers only: the caller's extensions must not keep the mark.
        let marked = MarkedExtensions::new(self.extensions, attempt, handle);
        Box::pin(async move { next.run(request, marked.extensions).await })
    }
}

/// Extensions that hold the attempt until this is dropped, also if the attempt is cut.
struct MarkedExtensions<'a> {
    extensions: &'a mut Extensions,
    outer: (Option<Attempt>, Option<AttemptHandle>),
}

impl<'a> MarkedExtensions<'a> {
    fn new(
        extensions: &'a mut Extensions,
        attempt: Attempt,
        handle: Option<AttemptHandle>,
    ) -> Self {
        let outer = (extensions.insert(attempt), extensions.remove());
        if let Some(handle) = handle {
            extensions.insert(handle);
        }
        Self { extensions, outer }
    }
}

impl Drop for MarkedExtensions<'_> {
    fn drop(&mut self) {
        self.extensions.remove::<Attempt>();
        self.extensions.remove::<AttemptHandle>();
        let (attempt, handle) = (self.outer.0.take(), self.outer.1.take());
        if let Some(attempt) = attempt {
            self.extensions.insert(attempt);
        }
        if let Some(handle) = handle {
            self.extensions.insert(handle);
        }
    }
}
