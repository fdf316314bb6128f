//! The links of an error's chain, and the known error types of services.

use super::of_hyper;
use super::of_reqwest::ReqwestError;
use crate::error::{AttemptTimeout, BoxError, IncompleteBody};
use crate::runtime::Elapsed;
use crate::{RateLimited, RetryPolicy};
use http_retry_core::settings::PolicyExt;
use std::any::{Any, TypeId};
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
///
/// Inlined, since the caller has the type of the value: nothing is left of the comparisons with other types, and a program
/// has no code of errors that its client does not return.
#[inline(always)]
pub(crate) fn known<'a, V: 'static>(
    policy: &RetryPolicy,
    value: &'a V,
) -> Option<&'a (dyn Error + 'static)> {
    if let Some(error) = policy.own_error(value) {
        return Some(error);
    }
    if let Some(error) = as_type::<BoxError, V>(value) {
        return Some(&**error);
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = as_type::<reqwest_middleware::Error, V>(value) {
        return Some(carried_error(error));
    }
    #[cfg(feature = "reqwest")]
    if let Some(error) = as_type::<anyhow::Error, V>(value) {
        return Some(error.as_ref());
    }
    of_hyper::known(value)
        .or_else(|| error_of::<ReqwestError, V>(value))
        .or_else(|| error_of::<Elapsed, V>(value))
        .or_else(|| error_of::<io::Error, V>(value))
        .or_else(|| error_of::<IncompleteBody, V>(value))
        .or_else(|| error_of::<RateLimited, V>(value))
        .or_else(|| error_of::<AttemptTimeout, V>(value))
}

/// Returns a value as this type, if it is of this type.
#[inline(always)]
fn as_type<E: 'static, V: 'static>(value: &V) -> Option<&E> {
    // Known to the compiler, unlike the comparison in `downcast_ref`.
    if TypeId::of::<E>() != TypeId::of::<V>() {
        return None;
    }
    let value: &dyn Any = value;
    value.downcast_ref()
}

/// Returns the text of an error. Most links are read by their type, so its code is in a program once.
#[inline(never)]
pub(super) fn text_of(error: &(dyn Error + 'static)) -> String {
    error.to_string()
}

/// Returns a value as an error, if it is of this type.
#[inline(always)]
pub(super) fn error_of<E: Error + 'static, V: 'static>(
    value: &V,
) -> Option<&(dyn Error + 'static)> {
    as_type::<E, V>(value).map(|error| error as _)
}

/// Returns the error that the middlewares' error carries, which its own `source()` skips.
#[cfg(feature = "reqwest")]
fn carried_error(error: &reqwest_middleware::Error) -> &(dyn Error + 'static) {
    match error {
        reqwest_middleware::Error::Middleware(error) => error.as_ref(),
        reqwest_middleware::Error::Reqwest(error) => error,
    }
}
