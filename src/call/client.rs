//! The interface between a call and a client.

use crate::client::error_chain::{is_of_reqwest, outcome_of, shown_error};
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::client::saved_headers::add_header;
use crate::error::LayerError;
use crate::{Attempt, ErrorKind, RetryPolicy};
use http::{HeaderName, HeaderValue};
use http_retry_core::adapter::{ErrorFacts, RedirectSigns};
use http_retry_core::attempt::AttemptHandle;
use http_retry_core::reading::is_grpc;
use std::error::Error;
use std::future::Future;

/// A client, as a [`Call`](super::Call) sees it: its types, and what its errors mean.
pub trait Client: Sized {
    type Request;
    type Requests: Requests<Self::Request>;
    /// A response as the client gives it.
    type Raw;
    type Responses: Responses<Self::Raw>;
    type Error;

    /// Keeps later requests off the connection of the last attempt, which was cut or ended with this error.
    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&Self::Error>) {
        let _ = (policy, error);
    }

    /// Returns `true` if the connection of the last attempt is known, so that
    /// [`leave_connection`](Self::leave_connection) has an effect after a response.
    fn can_leave_connection(&self) -> bool {
        false
    }

    /// Returns `true` if the client may follow redirects, even if its errors do not show it.
    fn may_follow() -> bool {
        false
    }

    /// Reads an error. `head_alone` is `true` if doing the request twice may do harm, and its head may be all of it.
    fn error_facts<'a>(
        &self,
        policy: &RetryPolicy,
        error: &'a Self::Error,
        head_alone: bool,
    ) -> ErrorFacts<'a>;

    /// Returns an error for observers: none whose text has a URL.
    fn shown_error<'a>(
        policy: &RetryPolicy,
        error: &'a Self::Error,
    ) -> Option<&'a (dyn Error + 'static)> {
        let _ = (policy, error);
        None
    }

    /// Returns the text of an error along its whole chain, for rules that match it.
    fn error_text(policy: &RetryPolicy, error: &Self::Error, kind: Option<ErrorKind>) -> String {
        let _ = (policy, error, kind);
        String::new()
    }

    /// Returns a function that converts an error of this crate to the client's error type, if that can hold one.
    fn own_error() -> Option<fn(LayerError) -> Self::Error> {
        None
    }
}

/// A client whose attempt is one future. Its futures need not be `Send`: the adapters that box a driver require that,
/// where the types are known.
pub(crate) trait Sends: Client {
    /// Sends an attempt. `handle` is for layers below in another task; the request's extensions have it already, if
    /// they can.
    fn send(
        &mut self,
        request: Self::Request,
        attempt: Attempt,
        handle: Option<AttemptHandle>,
    ) -> impl Future<Output = AttemptResult<Self>>;
}

/// The result of an attempt, as the caller would get it.
pub(crate) type AttemptResult<C> = Result<ReturnedResponse<C>, <C as Client>::Error>;

/// A response whose body is being read.
pub(crate) type OpenResponse<C> = <<C as Client>::Responses as Responses<<C as Client>::Raw>>::Open;

pub(crate) type ReturnedResponse<C> =
    <<C as Client>::Responses as Responses<<C as Client>::Raw>>::Returned;

/// The part of a request that later attempts are made of.
pub(crate) type SavedOf<C> = <<C as Client>::Requests as Requests<<C as Client>::Request>>::Saved;

/// Reads an error of an HTTP client.
pub(crate) fn http_error_facts<'a>(
    policy: &RetryPolicy,
    error: Option<&'a (dyn Error + 'static)>,
    head_alone: bool,
    type_name: &'static str,
) -> ErrorFacts<'a> {
    ErrorFacts {
        outcome: outcome_of(policy, error, head_alone),
        type_name,
        error: shown_error(error),
        redirects: RedirectSigns {
            may_follow: is_of_reqwest(error),
            ..RedirectSigns::default()
        },
    }
}

/// Adds the number of the attempt for the server; a request without room for another header goes without. A repeated
/// request of gRPC also gets the number of attempts before it (gRFC A6, "Exposed retry metadata").
pub(crate) fn number<R: Requests<Q>, Q>(
    header: Option<&HeaderName>,
    request: &mut Q,
    attempt: Attempt,
) {
    static PREVIOUS_ATTEMPTS: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");
    let head = R::head(request);
    let is_grpc = attempt.number > 1
        && head.is_some_and(|head| head.value("content-type").is_some_and(is_grpc));
    let before = is_grpc.then(|| (&PREVIOUS_ATTEMPTS, attempt.number.saturating_sub(1)));
    let numbers = header.map(|header| (header, attempt.number));
    let Some(headers) = R::headers_mut(request) else {
        return;
    };
    for (name, number) in numbers.into_iter().chain(before) {
        // An earlier number must not stay, even if there is no room for the new one.
        headers.remove(name);
        add_header(headers, name.clone(), HeaderValue::from(number));
    }
}
