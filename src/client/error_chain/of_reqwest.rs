//! The errors of reqwest, and the boxes that they come in.

use super::link::Link;
use super::links;
use crate::ErrorKind;
use crate::error::BoxError;
use http_retry_core::adapter::RedirectSigns;
use std::any::Any;
use std::error::Error;

pub(super) use ::reqwest::Error as ReqwestError;

/// Reads an error of reqwest by its own kind. `is_connect`, `is_timeout` and `is_dns` are no facts about it: they
/// search the whole chain, up to an error of the caller's own body.
pub(super) fn read(error: &ReqwestError) -> Link {
    if error.is_builder() {
        return Link::End(ErrorKind::Request);
    }
    if error.is_redirect() {
        return Link::End(ErrorKind::Redirect);
    }
    if let Some(status) = error.status() {
        return Link::Status(status);
    }
    // The decoder is a first guess: the next links may blame the connection that it reads from. Every failure of a
    // response's body is a decode error.
    if error.is_decode() || error.is_body() {
        return Link::Decoding;
    }
    Link::Silent
}

/// Returns `true` if a timeout is among the links behind an error of reqwest, whose types are private.
pub(super) fn is_timeout(error: &ReqwestError) -> bool {
    error.is_timeout()
}

/// Returns `true` if the links behind an error of reqwest are about the name of a host.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(super) fn is_of_dns(error: &ReqwestError) -> bool {
    error.is_dns()
}

/// Returns `false`: the browser does not say.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(super) fn is_of_dns(_: &ReqwestError) -> bool {
    false
}

/// Returns the signs of redirects in an error.
pub(crate) fn redirect_signs<'a>(error: Option<&'a (dyn Error + 'static)>) -> RedirectSigns<'a> {
    let mut links = error.into_iter().flat_map(links);
    match links.find_map(|link| link.downcast_ref::<ReqwestError>()) {
        Some(error) => RedirectSigns {
            may_follow: true,
            // The URL in a status error may be the target of a redirect.
            path: error
                .url()
                .filter(|_| !error.is_status())
                .map(::reqwest::Url::path),
            ..RedirectSigns::default()
        },
        None => RedirectSigns::default(),
    }
}

/// Returns an error, or what is behind the last one of reqwest in its chain: its text, and that of those around it, has a
/// URL.
pub(super) fn behind_urls<'a>(
    error: &'a (dyn Error + 'static),
) -> Option<&'a (dyn Error + 'static)> {
    let of_reqwest = links(error).filter(|link| link.is::<ReqwestError>());
    match of_reqwest.last() {
        Some(last) => last.source(),
        None => Some(error),
    }
}

/// Returns the same error without its URL.
pub(crate) fn without_url(error: BoxError) -> BoxError {
    let error = match error.downcast::<reqwest_middleware::Error>() {
        Ok(error) => return error.without_url().into(),
        Err(error) => error,
    };
    match error.downcast::<ReqwestError>() {
        Ok(error) => error.without_url().into(),
        Err(error) => error,
    }
}

/// Boxes an error so that its type can still be found.
pub(crate) fn boxed<E: Into<BoxError> + 'static>(error: E) -> BoxError {
    // The `into` of anyhow hides the error in its box from `downcast_ref`.
    let of_anyhow: fn(anyhow::Error) -> BoxError =
        anyhow::Error::reallocate_into_boxed_dyn_error_without_backtrace;
    let of_anyhow: &dyn Any = &of_anyhow;
    match of_anyhow.downcast_ref::<fn(E) -> BoxError>() {
        Some(of_anyhow) => of_anyhow(error),
        None => error.into(),
    }
}
