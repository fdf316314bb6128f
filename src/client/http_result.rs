//! What the result of an HTTP attempt means by itself.

use super::error_chain::{is_of_reqwest, outcome_of};
use super::{Answer, HasHead};
use crate::policy::{Outcome, RetryPolicy};
use crate::redirects::Trail;

/// What an HTTP attempt's result means by itself.
pub(crate) fn http_outcome<'a, A: Answer, E: 'static>(
    policy: &RetryPolicy,
    result: &'a Result<A::Kept, E>,
) -> Outcome<'a> {
    match result {
        Ok(response) => {
            let (status, headers) = A::head_of(response);
            Outcome::response(status, headers)
        }
        Err(error) => outcome_of(policy, error),
    }
}

/// What an HTTP attempt shows of redirects; its client may follow them, or only where an error says that it is one that
/// does.
pub(crate) fn http_trail<'a, A: Answer, E: 'static>(
    may_follow: bool,
    policy: &RetryPolicy,
    request: Option<&'a impl HasHead>,
    result: Option<&'a Result<A::Kept, E>>,
) -> Trail<'a> {
    let error = result.and_then(|result| result.as_ref().err());
    let answer = result.and_then(|result| result.as_ref().ok());
    let asked = request.and_then(HasHead::url);
    Trail {
        may_follow: may_follow || error.is_some_and(|error| is_of_reqwest(policy, error)),
        path: request.map(HasHead::path),
        urls: asked.zip(answer.and_then(A::url_of)),
    }
}
