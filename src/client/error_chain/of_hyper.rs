//! The errors of hyper, of hyper-util's client and of h2.

mod http2;

use super::link::Link;
use super::links::{error_of, text_of};
use crate::ErrorKind;
use std::error::Error;

/// Reads a link if it is an error of these crates. `answered` is `true` if an outer link comes from the body of a
/// response.
pub(super) fn read(link: &(dyn Error + 'static), answered: bool) -> Option<Link> {
    if let Some(error) = link.downcast_ref::<hyper_util::client::legacy::Error>() {
        return Some(if error.is_connect() {
            Link::Connecting
        } else {
            Link::Connected
        });
    }
    if let Some(error) = link.downcast_ref::<hyper::Error>() {
        return Some(read_hyper(error));
    }
    #[cfg(feature = "http2")]
    if let Some(error) = link.downcast_ref::<h2::Error>() {
        return Some(http2::read(error, answered));
    }
    let _ = answered;
    None
}

/// Reads a link of no known type by its text, if h2's errors are not known by their type.
pub(super) fn read_text(text: &str, answered: bool) -> Link {
    #[cfg(feature = "http2")]
    let link = {
        let _ = (text, answered);
        Link::Silent
    };
    #[cfg(not(feature = "http2"))]
    let link = http2::read_text(text, answered);
    link
}

/// Returns the error behind a value of one of these crates' error types.
#[inline(always)]
pub(super) fn known<V: 'static>(value: &V) -> Option<&(dyn Error + 'static)> {
    let known = error_of::<hyper_util::client::legacy::Error, V>(value)
        .or_else(|| error_of::<hyper::Error, V>(value));
    #[cfg(feature = "http2")]
    let known = known.or_else(|| error_of::<h2::Error, V>(value));
    known
}

/// Returns the next link of a chain. An error of h2 has no `source()`.
pub(super) fn source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    #[cfg(feature = "http2")]
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        return error.get_io().map(|error| error as _);
    }
    error.source()
}

fn read_hyper(error: &hyper::Error) -> Link {
    // hyper uses both only for a request that it has not begun to send.
    if error.is_canceled() || error.is_closed() {
        return Link::NotBegun;
    }
    if error.is_incomplete_message() {
        return Link::Kind(ErrorKind::Incomplete);
    }
    if error.is_user() {
        // A lost connection task is not the user's fault; the next link gives the reason.
        let gone = text_of(error) == "dispatch task is gone";
        return if gone {
            Link::Silent
        } else {
            Link::End(ErrorKind::Body)
        };
    }
    if error.is_timeout() {
        return Link::Kind(ErrorKind::Timeout);
    }
    if error.is_parse() {
        return Link::Kind(ErrorKind::Protocol);
    }
    // hyper has no predicate for this.
    if text_of(error) == "error reading a body from connection" {
        return Link::InBodyOnConnection;
    }
    Link::Connected
}
