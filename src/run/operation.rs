//! An operation as the driver's client: it runs from its beginning each time, and has no head or body.

use crate::call::{AttemptResult, Client, ErrorFacts, Sends};
use crate::client::error_chain::{outcome_of, redirect_signs, shown_error};
use crate::client::requests::{Head, Requests, SaveOptions};
use crate::client::responses::Opaque;
use crate::policy::Verdict;
use crate::runtime::MaybeSend;
use crate::sealed::Sealed;
use crate::{Attempt, ErrorKind, Outcome, RetryPolicy};
use http::{Extensions, HeaderMap};
use http_retry_core::adapter::{Changes, RedirectSigns};
use http_retry_core::attempt::AttemptHandle;
use http_retry_core::reading::OutcomeExt;
use std::any::type_name;
use std::future::Future;
use std::marker::PhantomData;

/// An operation as the driver sees it.
pub(super) struct Operation<J, O, T, E> {
    /// Set if the operation sends one request.
    one_request: bool,
    judge: J,
    operation: O,
    types: PhantomData<fn() -> Result<T, E>>,
}

impl<J, O, T, E> Operation<J, O, T, E> {
    pub(super) fn new(one_request: bool, judge: J, operation: O) -> Self {
        Self {
            one_request,
            judge,
            operation,
            types: PhantomData,
        }
    }
}

/// Judges errors by a function of the caller's.
pub(super) struct ByFunction<J>(pub(super) J);

/// Judges errors by the policy. An error of reqwest may come after a redirect.
pub(super) struct ByPolicy;

/// Judges the errors of operations.
pub(super) trait Judge<E> {
    fn judge<'a>(&self, policy: &RetryPolicy, error: &'a E, head_alone: bool) -> ErrorFacts<'a>;
}

impl<E, V: Into<Verdict>, J: Fn(&E) -> V> Judge<E> for ByFunction<J> {
    fn judge<'a>(&self, _: &RetryPolicy, error: &'a E, _: bool) -> ErrorFacts<'a> {
        ErrorFacts {
            outcome: Outcome::error(ErrorKind::Other).judged(self.0(error).into()),
            type_name: type_name::<E>(),
            // It may be of any type.
            error: None,
            redirects: RedirectSigns::default(),
        }
    }
}

impl<E: 'static> Judge<E> for ByPolicy {
    fn judge<'a>(&self, policy: &RetryPolicy, error: &'a E, head_alone: bool) -> ErrorFacts<'a> {
        ErrorFacts {
            outcome: outcome_of(policy, error, head_alone),
            type_name: type_name::<E>(),
            error: shown_error(policy, error),
            redirects: redirect_signs(policy, error),
        }
    }
}

/// The request of an operation is `()`, which can always be sent twice.
#[derive(Clone)]
pub(super) struct Repeatable;

impl Sealed for Repeatable {}

impl Requests<()> for Repeatable {
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

impl<J, O, F, T, E> Client for Operation<J, O, T, E>
where
    J: Judge<E>,
    O: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
    T: MaybeSend,
{
    type Request = ();
    type Requests = Repeatable;
    type Raw = T;
    type Responses = Opaque;
    type Error = E;

    fn error_facts<'a>(
        &self,
        policy: &RetryPolicy,
        error: &'a E,
        head_alone: bool,
    ) -> ErrorFacts<'a> {
        let mut facts = self.judge.judge(policy, error, head_alone);
        facts.redirects.may_be_several = !self.one_request;
        facts
    }
}

impl<J, O, F, T, E> Sends for Operation<J, O, T, E>
where
    J: Judge<E>,
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
