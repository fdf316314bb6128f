//! An operation as the loop sends it: again from its beginning, without a head or a body.

use crate::client::error_chain::{outcome_of, trail_of};
use crate::policy::{Attempt, ErrorKind, Outcome, RetryPolicy, RewriteWith, Verdict};
use crate::redirects::Trail;
use crate::retry_loop::{Repeat, Sender, Transport};
use crate::route::Rebase;
use http::{Extensions, HeaderMap};
use std::borrow::Cow;
use std::future::Future;
use std::marker::PhantomData;

/// An operation as the loop sees it.
pub(super) struct Operation<J, O, T, E> {
    pub(super) judge: J,
    pub(super) operation: O,
    pub(super) types: PhantomData<fn() -> Result<T, E>>,
}

/// A function of the caller's, which knows the operation.
pub(super) struct ByFunction<J>(pub(super) J);

/// The policy; an error of reqwest may follow a redirect.
pub(super) struct ByPolicy;

/// Says what an error means.
trait Judge<E> {
    fn judge(&self, policy: &RetryPolicy, error: &E) -> Outcome<'static>;

    fn trail<'a>(policy: &RetryPolicy, error: &'a E) -> Trail<'a>;
}

impl<E, V: Into<Verdict>, J: Fn(&E) -> V> Judge<E> for ByFunction<J> {
    fn judge(&self, _: &RetryPolicy, error: &E) -> Outcome<'static> {
        Outcome::error(ErrorKind::Other).judged(self.0(error).into())
    }

    fn trail<'a>(_: &RetryPolicy, _: &'a E) -> Trail<'a> {
        Trail::default()
    }
}

impl<E: 'static> Judge<E> for ByPolicy {
    fn judge(&self, policy: &RetryPolicy, error: &E) -> Outcome<'static> {
        outcome_of(policy, error)
    }

    fn trail<'a>(policy: &RetryPolicy, error: &'a E) -> Trail<'a> {
        trail_of(policy, error)
    }
}

/// The request of an operation is `()`, which can always be sent twice.
impl Repeat for () {
    type Saved = ();

    fn save(self, _: usize) -> ((), Option<Box<()>>) {
        ((), Some(Box::new(())))
    }

    fn again(saved: Box<()>, _: bool) -> ((), Option<Box<()>>) {
        ((), Some(saved))
    }

    fn can_resend((): &(), _: bool) -> bool {
        true
    }

    fn next_in_turn((): &mut ()) {}

    fn head((): &()) -> Option<(Cow<'_, HeaderMap>, Option<&Extensions>)> {
        None
    }

    fn amend((): &mut (), _: Option<&HeaderMap>, _: Option<&Rebase>) {}

    fn rewrite((): &mut (), _: &mut RewriteWith<'_>) -> bool {
        false
    }
}

impl<J, O, F, T, E> Sender for Operation<J, O, T, E>
where
    O: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
{
    type Request = ();
    type Response = T;
    type Error = E;

    fn send(&mut self, (): (), attempt: Attempt) -> impl Future<Output = Result<T, E>> {
        (self.operation)(attempt)
    }
}

impl<J, O, F, T, E> Transport for Operation<J, O, T, E>
where
    J: Judge<E>,
    O: FnMut(Attempt) -> F,
    F: Future<Output = Result<T, E>>,
{
    fn outcome<'a>(&self, policy: &RetryPolicy, result: &'a Result<T, E>) -> Outcome<'a> {
        match result {
            Ok(_) => Outcome::success(),
            Err(error) => self.judge.judge(policy, error),
        }
    }

    fn trail<'a>(
        policy: &RetryPolicy,
        _: Option<&'a ()>,
        result: Option<&'a Result<T, E>>,
    ) -> Trail<'a> {
        let error = result.and_then(|result| result.as_ref().err());
        error.map_or(Trail::default(), |error| J::trail(policy, error))
    }
}
