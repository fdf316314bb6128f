//! An operation as the driver's client: it runs from its beginning each time, and has no head or body.

use crate::call::{AttemptResult, Client, ErrorFacts, Sends};
use crate::client::error_chain::{known, outcome_of, redirect_signs, shown_error};
use crate::client::requests::{Head, Requests, SaveOptions};
use crate::client::responses::Responses;
use crate::policy::Verdict;
use crate::runtime::MaybeSend;
use crate::sealed::Sealed;
use crate::{Attempt, ErrorKind, Outcome, RetryPolicy};
use http::{Extensions, HeaderMap, StatusCode};
use http_retry_core::adapter::{BodyPart, Changes, Inspected, RedirectSigns};
use http_retry_core::attempt::AttemptHandle;
use http_retry_core::reading::OutcomeExt;
use std::any::type_name;
use std::future::Future;
use std::task::{Context, Poll};

/// An operation as the driver sees it.
pub(super) struct OperationClient<J, O> {
    /// Set if the operation sends one request.
    pub(super) one_request: bool,
    /// Reads an error, as [`by_policy`] does.
    pub(super) judge: J,
    pub(super) operation: O,
}

/// Returns a function that reads errors by one of the caller's.
pub(super) fn by_function<E, V: Into<Verdict>>(
    judge: impl Fn(&E) -> V,
) -> impl for<'a> Fn(&RetryPolicy, &'a E, bool) -> ErrorFacts<'a> {
    move |_, error, _| ErrorFacts {
        outcome: Outcome::error(ErrorKind::Other).judged(judge(error).into()),
        type_name: type_name::<E>(),
        // It may be of any type.
        error: None,
        redirects: RedirectSigns::default(),
    }
}

/// Reads an error by the policy. An error of reqwest may come after a redirect.
pub(super) fn by_policy<'a, E: 'static>(
    policy: &RetryPolicy,
    error: &'a E,
    head_alone: bool,
) -> ErrorFacts<'a> {
    let error = known(policy, error);
    ErrorFacts {
        outcome: outcome_of(policy, error, head_alone),
        type_name: type_name::<E>(),
        error: shown_error(error),
        redirects: redirect_signs(error),
    }
}

/// The strategy for operations: the request is `()`, which can always be sent twice, and nothing is known of the
/// result.
#[derive(Clone, Copy)]
pub(super) struct Opaque;

impl Sealed for Opaque {}

impl Requests<()> for Opaque {
    type Saved = ();

    fn head((): &()) -> Option<Head<'_>> {
        None
    }

    fn saved_head((): &()) -> Option<Head<'_>> {
        None
    }

    fn headers_mut((): &mut ()) -> Option<&mut HeaderMap> {
        None
    }

    fn extensions_mut((): &mut ()) -> Option<&mut Extensions> {
        None
    }

    fn save(&self, (): (), _: SaveOptions) -> ((), Option<()>) {
        ((), Some(()))
    }

    fn restore((): (), _: bool) -> ((), Option<()>) {
        ((), Some(()))
    }

    fn is_whole((): &(), _: bool) -> bool {
        true
    }

    fn may_be_head_alone((): &()) -> bool {
        true
    }

    fn change((): &mut (), changes: Changes<'_>) -> bool {
        changes.rewrite.is_none()
    }
}

impl<T: MaybeSend> Responses<T> for Opaque {
    type Returned = T;
    type Open = T;

    fn returned(result: T) -> T {
        result
    }

    fn head(_: &T) -> Option<(StatusCode, &HeaderMap)> {
        None
    }

    fn extensions_mut(_: &mut T) -> Option<&mut Extensions> {
        None
    }

    fn poll_read(
        _: &mut T,
        _: &mut BodyPart,
        _: &mut usize,
        _: &mut Context<'_>,
    ) -> Poll<Inspected> {
        Poll::Ready(Inspected::AtTheEnd)
    }
}

impl<J, O, F, T, E> Client for OperationClient<J, O>
where
    J: for<'a> Fn(&RetryPolicy, &'a E, bool) -> ErrorFacts<'a>,
    O: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    T: MaybeSend,
{
    type Request = ();
    type Requests = Opaque;
    type Raw = T;
    type Responses = Opaque;
    type Error = E;

    fn error_facts<'a>(
        &self,
        policy: &RetryPolicy,
        error: &'a E,
        head_alone: bool,
    ) -> ErrorFacts<'a> {
        let mut facts = (self.judge)(policy, error, head_alone);
        facts.redirects.may_be_several = !self.one_request;
        facts
    }
}

impl<J, O, F, T, E> Sends for OperationClient<J, O>
where
    J: for<'a> Fn(&RetryPolicy, &'a E, bool) -> ErrorFacts<'a>,
    O: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    T: MaybeSend,
{
    fn send(
        &mut self,
        (): (),
        attempt: Attempt,
        _: Option<AttemptHandle>,
    ) -> impl Future<Output = AttemptResult<Self>> {
        (self.operation)(attempt)
    }
}
