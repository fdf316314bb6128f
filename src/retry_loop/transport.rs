//! What the loop must be able to do with a request and with a client.

use crate::error::AttemptTimeout;
use crate::policy::{
    Attempt, CannedResponse, ErrorKind, Filled, Inspect, Inspected, Outcome, RetryPolicy,
    RewriteWith,
};
use crate::redirects::Trail;
use crate::report::{RequestFailed, RetryReport};
use crate::route::Rebase;
use crate::runtime::Sleep;
use http::{Extensions, HeaderMap, StatusCode};
use std::any::type_name;
use std::borrow::Cow;
use std::future::{Future, ready};

/// What later attempts through a client are made of.
pub(crate) type Saved<T> = <<T as Sender>::Request as Repeat>::Saved;

/// What the loop must be able to do with a request.
pub trait Repeat: Sized + Send {
    /// What later attempts are made of.
    type Saved: Send;

    /// The request, and what later attempts are made of, if there can be any. Records at most this many bytes of a stream,
    /// unless the body has its own limit.
    fn save(self, recorded: usize) -> (Self, Option<Box<Self::Saved>>);

    /// The next attempt's request, and what attempts after that are made of, unless it is the last.
    fn again(saved: Box<Self::Saved>, last: bool) -> (Self, Option<Box<Self::Saved>>);

    /// Whether the request is still whole after an attempt that ended with an answer, or without one.
    fn can_resend(saved: &Self::Saved, answered: bool) -> bool;

    /// A retry will be made of this saved request: attempts before it are over, whatever their client still does with them.
    fn next_in_turn(saved: &mut Self::Saved);

    /// The headers of the request, and its extensions where they are public; nothing of an operation that is not HTTP.
    fn head(saved: &Self::Saved) -> Option<(Cow<'_, HeaderMap>, Option<&Extensions>)>;

    /// The same request with other headers, or for another place.
    fn amend(saved: &mut Self::Saved, headers: Option<&HeaderMap>, way: Option<&Rebase>);

    /// The same request with another body, as a function of its headers and its body; false if there is none.
    fn rewrite(saved: &mut Self::Saved, with: &mut RewriteWith<'_>) -> bool;
}

/// What sends attempts.
///
/// It does not say `Send`: whoever boxes the loop does, where the types are known.
pub(crate) trait Sender: Sized {
    type Request: Repeat;
    /// A response in the form in which the caller gets it.
    type Response;
    type Error;

    /// Gives up the place that the client keeps for a request, if it keeps one.
    fn release_readiness(&mut self) -> bool {
        false
    }

    /// The client can take a request.
    fn ready(&mut self) -> impl Future<Output = Result<(), Self::Error>> {
        ready(Ok(()))
    }

    fn send(
        &mut self,
        request: Self::Request,
        attempt: Attempt,
    ) -> impl Future<Output = Result<Self::Response, Self::Error>>;

    /// The last attempt was cut, or has ended with this error: its connection may be dead, and no later request is to share
    /// it.
    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&Self::Error>) {
        let _ = (policy, error);
    }
}

/// What the loop must be able to do with what a client's attempts have led to. A client whose responses and errors are
/// unknown types, such as those of an operation, leaves out what can only be done with known ones.
pub(crate) trait Transport: Sender {
    /// What a result means by itself.
    fn outcome<'a>(
        &self,
        policy: &RetryPolicy,
        result: &'a Result<Self::Response, Self::Error>,
    ) -> Outcome<'a>;

    /// What an attempt that gave this, or nothing in time, shows of redirects.
    fn trail<'a>(
        policy: &RetryPolicy,
        saved: Option<&'a Saved<Self>>,
        result: Option<&'a Result<Self::Response, Self::Error>>,
    ) -> Trail<'a>;

    /// The response with its body read, if that is worth it and ends within so many bytes.
    fn drain(
        response: Self::Response,
        bytes: usize,
    ) -> impl Future<Output = Option<Self::Response>> {
        let _ = bytes;
        ready(Some(response))
    }

    /// The response as it was, after a look at its body.
    fn look(
        response: Self::Response,
        look: &mut Inspect<'_>,
        time: Sleep,
    ) -> impl Future<Output = (Self::Response, Inspected)> {
        let _ = (look, time);
        ready((response, Inspected::AtTheEnd))
    }

    /// The response with its body read up to so many bytes, for at most this time.
    fn fill(
        response: Self::Response,
        policy: &RetryPolicy,
        bytes: u64,
        time: Sleep,
    ) -> impl Future<Output = (Self::Response, Filled)> {
        let _ = (policy, bytes, time);
        ready((response, Ok(Inspected::AtTheEnd)))
    }

    /// The head of a response, where there is one.
    fn head(response: &Self::Response) -> Option<(StatusCode, &HeaderMap)> {
        let _ = response;
        None
    }

    /// What an error of this kind says.
    fn words(policy: &RetryPolicy, error: &Self::Error, kind: Option<ErrorKind>) -> String {
        let _ = (policy, error, kind);
        String::new()
    }

    /// The type of an error.
    fn error_type(error: &Self::Error) -> &'static str {
        let _ = error;
        type_name::<Self::Error>()
    }

    /// Puts the report into the response.
    fn attach(response: &mut Self::Response, report: RetryReport) {
        let _ = (response, report);
    }

    /// A response that no server has sent, as if from this URL.
    fn canned(canned: &CannedResponse, url: &str) -> Option<Self::Response> {
        let _ = (canned, url);
        None
    }

    /// The error of an attempt that was cut short, where the client's error type can say that.
    fn cut(timeout: AttemptTimeout) -> Option<Self::Error> {
        let _ = timeout;
        None
    }

    /// The error of a request that the policy calls a failure, where the client's error type can say that.
    fn failed(failed: RequestFailed) -> Option<Self::Error> {
        let _ = failed;
        None
    }
}
