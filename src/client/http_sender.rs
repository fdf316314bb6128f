//! What the loop must be able to do with the answers and errors of HTTP, whichever client sends.

use super::error_chain::{is_of_reqwest, outcome_of, words};
use super::{Answer, HasHead, Resend};
use crate::error::AttemptTimeout;
use crate::policy::{
    Attempt, CannedResponse, ErrorKind, Filled, Inspect, Inspected, Outcome, RetryPolicy, is_grpc,
};
use crate::redirects::Trail;
use crate::report::{RequestFailed, RetryReport};
use crate::retry_loop::{Outcomes, Saved, Sender, Transport};
use crate::runtime::Sleep;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::error::Error;
use std::future::Future;

/// A client that sends HTTP requests.
pub(crate) trait HttpSender: Sender<Request: Resend, Error: 'static> {
    /// Its responses as it gives them.
    type Answer: Answer<Kept = Self::Response>;

    /// Whether it may follow redirects; if not, an error may still say that it is one of a client that does.
    fn may_follow() -> bool;

    /// The type of an error, as the client below makes it.
    fn error_type(error: &Self::Error) -> &'static str;

    /// An error of this crate, where the client's error type can hold it.
    fn own_error(error: impl Error + Send + Sync + 'static) -> Option<Self::Error>;
}

impl<C: HttpSender> Transport for C {
    fn outcome<'a>(&self, policy: &RetryPolicy, result: &'a Outcomes<Self>) -> Outcome<'a> {
        match result {
            Ok(response) => {
                let (status, headers) = C::Answer::head_of(response);
                Outcome::response(status, headers)
            }
            Err(error) => outcome_of(policy, error),
        }
    }

    fn trail<'a>(
        policy: &RetryPolicy,
        saved: Option<&'a Saved<Self>>,
        result: Option<&'a Outcomes<Self>>,
    ) -> Trail<'a> {
        let error = result.and_then(|result| result.as_ref().err());
        let answer = result.and_then(|result| result.as_ref().ok());
        let asked = saved.and_then(HasHead::url);
        Trail {
            may_follow: C::may_follow() || error.is_some_and(|error| is_of_reqwest(policy, error)),
            path: saved.map(HasHead::path),
            urls: asked.zip(answer.and_then(C::Answer::url_of)),
        }
    }

    fn drain(
        response: Self::Response,
        bytes: usize,
    ) -> impl Future<Output = Option<Self::Response>> {
        C::Answer::drain(response, bytes)
    }

    fn look(
        response: Self::Response,
        look: &mut Inspect<'_>,
        time: Sleep,
    ) -> impl Future<Output = (Self::Response, Inspected)> {
        C::Answer::look(response, look, time)
    }

    fn fill(
        response: Self::Response,
        policy: &RetryPolicy,
        bytes: u64,
        time: Sleep,
    ) -> impl Future<Output = (Self::Response, Filled)> {
        C::Answer::fill(response, policy, bytes, time)
    }

    fn head(response: &Self::Response) -> Option<(StatusCode, &HeaderMap)> {
        Some(C::Answer::head_of(response))
    }

    fn words(policy: &RetryPolicy, error: &Self::Error, kind: Option<ErrorKind>) -> String {
        words(policy, error, kind)
    }

    fn error_type(error: &Self::Error) -> &'static str {
        C::error_type(error)
    }

    fn attach(response: &mut Self::Response, report: RetryReport) {
        C::Answer::extensions_of(response).insert(report);
    }

    fn canned(canned: &CannedResponse, url: &str) -> Option<Self::Response> {
        C::Answer::canned(canned, url)
    }

    fn cut(timeout: AttemptTimeout) -> Option<Self::Error> {
        C::own_error(timeout)
    }

    fn failed(failed: RequestFailed) -> Option<Self::Error> {
        C::own_error(failed)
    }
}

/// Writes which attempt this is, where the server is to know; a request with too many headers goes without. A repeated
/// request of gRPC says how many were sent before it (gRFC A6, "Exposed retry metadata").
pub(crate) fn number<Q: Resend>(header: Option<&HeaderName>, request: &mut Q, attempt: Attempt) {
    if let Some(header) = header {
        write(request, header, attempt.number());
    }
    if attempt.number() > 1 && request.value("content-type").is_some_and(is_grpc) {
        static BEFORE: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");
        write(request, &BEFORE, attempt.number().saturating_sub(1));
    }
}

fn write<Q: Resend>(request: &mut Q, header: &HeaderName, number: u32) {
    let headers = request.headers_mut();
    headers.remove(header);
    let _ = headers.try_insert(header, HeaderValue::from(number));
}
