//! Replaces `of_reqwest` without the feature: no known client then follows redirects itself, or puts a URL into its
//! errors.

use super::link::Link;
use crate::error::BoxError;
use http_retry_core::adapter::RedirectSigns;
use std::error::Error;

/// No error is of this type.
pub(super) use std::convert::Infallible as ReqwestError;

pub(super) fn read(error: &ReqwestError) -> Link {
    match *error {}
}

pub(super) fn is_timeout(error: &ReqwestError) -> bool {
    match *error {}
}

pub(super) fn is_of_dns(error: &ReqwestError) -> bool {
    match *error {}
}

pub(crate) fn redirect_signs<'a>(_: Option<&'a (dyn Error + 'static)>) -> RedirectSigns<'a> {
    RedirectSigns::default()
}

pub(super) fn behind_urls<'a>(
    error: &'a (dyn Error + 'static),
) -> Option<&'a (dyn Error + 'static)> {
    Some(error)
}

pub(crate) fn without_url(error: BoxError) -> BoxError {
    error
}

pub(crate) fn boxed<E: Into<BoxError>>(error: E) -> BoxError {
    error.into()
}
