//! The links of an error's chain, and the known error types of services.

use super::of_hyper;
use super::of_reqwest::ReqwestError;
use crate::error::{AttemptTimeout, BoxError, IncompleteBody};
use crate::runtime::Elapsed;
use crate::{RateLimited, RetryPolicy};
use http_retry_core::settings::PolicyExt;
use std::any::Any;
use std::error::Error;
use std::io;

/// Returns the chain, including the payloads of I/O errors, with a bound in case it never ends.
pub(super) fn links<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    const MAX_LINKS: usize = 64;
    let next = |error: &&'a (dyn Error + 'static)| -> Option<&'a (dyn Error + 'static)> {
        let error: &'a (dyn Error + 'static) = *error;
        #[cfg(feature = "reqwest")]
        if let Some(error) = error.downcast_ref::<reqwest_middleware::Error>() {
            return Some(carried_error(error));
        }
        // The `source()` of an I/O error is that of its payload, which would be skipped.
        let payload = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        payload
            .map(|payload| payload as _)
            .or_else(|| of_hyper::source(error))
    };
    std::iter::successors(Some(error), next).take(MAX_LINKS)
}

/// Returns the error behind a value of one of the error types that the policy or this crate knows.
pub(super) fn known<'a>(
    policy: &RetryPolicy,
    value: &'a dyn Any,
) -> Option<&'a (dyn Error + 'static)> {
    if let Some(error) = policy.own_error(value) {
        return Some(error);
    }
    if let Some(error) = value.downcast_ref::<BoxError>() {
        return Some(&**error);
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = value.downcast_ref::<reqwest_middleware::Error>() {
        return Some(carried_error(error));
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = value.downcast_ref::<anyhow::Error>() {
        return Some(error.as_ref());
    }
    of_hyper::known(value)
        .or_else(|| error_of::<ReqwestError>(value))
        .or_else(|| error_of::<Elapsed>(value))
        .or_else(|| error_of::<io::Error>(value))
        .or_else(|| error_of::<IncompleteBody>(value))
        .or_else(|| error_of::<RateLimited>(value))
        .or_else(|| error_of::<AttemptTimeout>(value))
}

/// Returns a value as an error, if it is of this type.
pub(super) fn error_of<E: Error + 'static>(value: &dyn Any) -> Option<&(dyn Error + 'static)> {
    value.downcast_ref::<E>().map(|error| error as _)
}

/// Returns the error that the middlewares' error carries, which its own `source()` skips.
#[cfg(feature = "reqwest")]
fn carried_error(error: &reqwest_middleware::Error) -> &(dyn Error + 'static) {
    match error {
        reqwest_middleware::Error::Middleware(error) => error.as_ref(),
        reqwest_middleware::Error::Reqwest(error) => error,
    }
}
