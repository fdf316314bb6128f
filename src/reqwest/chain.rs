//! How the loop sends through the rest of a middleware chain.

use crate::client::error_chain::{retire_connection, type_in_box};
use crate::client::http_sender::{HttpSender, number};
use crate::policy::{Attempt, RetryPolicy};
use crate::retry_loop::Sender;
use ::reqwest::{Request, Response};
use http::{Extensions, HeaderName};
use reqwest_middleware::{Error, Next, Result};
use std::any::type_name;

/// Sends through the rest of a middleware chain.
pub(super) struct Chain<'a> {
    pub(super) next: Next<'a>,
    pub(super) extensions: &'a mut Extensions,
    /// What the extensions held before the first attempt, and hold again before each.
    pub(super) before: Extensions,
    pub(super) across_tasks: bool,
    pub(super) attempt_header: Option<HeaderName>,
}

impl Sender for Chain<'_> {
    type Request = Request;
    type Response = Response;
    type Error = Error;

    async fn send(&mut self, mut request: Request, attempt: Attempt) -> Result<Response> {
        number(self.attempt_header.as_ref(), &mut request, attempt);
        if attempt.number() > 1 {
            *self.extensions = self.before.clone();
        }
        if !self.across_tasks && attempt.number() == 1 {
            return self.next.clone().run(request, self.extensions).await;
        }
        // A word to those further in, which the caller's map does not keep.
        let marked = MarkedExtensions::new(self.extensions, attempt);
        self.next.clone().run(request, marked.extensions).await
    }

    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&Error>) {
        if let Some(error) = error {
            retire_connection(policy, error);
        }
    }
}

impl HttpSender for Chain<'_> {
    type Answer = Response;

    fn may_follow() -> bool {
        true
    }

    fn error_type(error: &Error) -> &'static str {
        match error {
            Error::Middleware(error) => type_in_box(error.as_ref()),
            Error::Reqwest(_) => type_name::<::reqwest::Error>(),
        }
    }

    fn own_error(error: impl std::error::Error + Send + Sync + 'static) -> Option<Error> {
        Some(Error::middleware(error))
    }
}

/// Extensions that name the attempt until this is dropped, also if the attempt is cut.
struct MarkedExtensions<'a> {
    extensions: &'a mut Extensions,
    outer: Option<Attempt>,
}

impl<'a> MarkedExtensions<'a> {
    fn new(extensions: &'a mut Extensions, attempt: Attempt) -> Self {
        let outer = extensions.insert(attempt);
        Self { extensions, outer }
    }
}

impl Drop for MarkedExtensions<'_> {
    fn drop(&mut self) {
        self.extensions.remove::<Attempt>();
        if let Some(outer) = self.outer {
            self.extensions.insert(outer);
        }
    }
}
