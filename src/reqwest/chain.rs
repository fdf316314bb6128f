//! How the loop sends through the rest of a middleware chain.

use crate::client::attempt_number::number;
use crate::client::error_chain::{retire_connection, words};
use crate::client::http_result::{http_outcome, http_trail};
use crate::client::{Answer, Resend};
use crate::error::AttemptTimeout;
use crate::policy::{
    Attempt, CannedResponse, ErrorKind, Filled, Inspect, Inspected, Outcome, RetryPolicy,
};
use crate::redirects::Trail;
use crate::report::{RequestFailed, RetryReport};
use crate::retry_loop::Transport;
use crate::runtime::Sleep;
use ::reqwest::{Request, Response};
use http::{Extensions, HeaderMap, HeaderName, StatusCode};
use reqwest_middleware::{Error, Next, Result};
use std::future::Future;

/// Sends through the rest of a middleware chain.
pub(super) struct Chain<'a> {
    pub(super) next: Next<'a>,
    pub(super) extensions: &'a mut Extensions,
    /// What the extensions held before the first attempt, and hold again before each.
    pub(super) before: Extensions,
    pub(super) across_tasks: bool,
    pub(super) attempt_header: Option<HeaderName>,
}

impl Transport for Chain<'_> {
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

    fn outcome<'a>(&self, policy: &RetryPolicy, result: &'a Result<Response>) -> Outcome<'a> {
        http_outcome::<Response, _>(policy, result)
    }

    fn trail<'a>(
        policy: &RetryPolicy,
        saved: Option<&'a <Request as Resend>::Saved>,
        result: Option<&'a Result<Response>>,
    ) -> Trail<'a> {
        http_trail::<Response, _>(true, policy, saved, result)
    }

    fn drain(response: Response, bytes: usize) -> impl Future<Output = Option<Response>> {
        <Response as Answer>::drain(response, bytes)
    }

    fn look(
        response: Response,
        look: &mut dyn Inspect,
        time: Sleep,
    ) -> impl Future<Output = (Response, Inspected)> {
        <Response as Answer>::look(response, look, time)
    }

    fn fill(
        response: Response,
        policy: &RetryPolicy,
        bytes: u64,
        time: Sleep,
    ) -> impl Future<Output = (Response, Filled)> {
        <Response as Answer>::fill(response, policy, bytes, time)
    }

    fn head(response: &Response) -> Option<(StatusCode, &HeaderMap)> {
        Some((response.status(), response.headers()))
    }

    fn words(policy: &RetryPolicy, error: &Error, kind: Option<ErrorKind>) -> String {
        words(policy, error, kind)
    }

    fn attach(response: &mut Response, report: RetryReport) {
        response.extensions_mut().insert(report);
    }

    fn canned(canned: &CannedResponse, url: &str) -> Option<Response> {
        <Response as Answer>::canned(canned, url)
    }

    fn cut(timeout: AttemptTimeout) -> Option<Error> {
        Some(Error::middleware(timeout))
    }

    fn failed(failed: RequestFailed) -> Option<Error> {
        Some(Error::middleware(failed))
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
