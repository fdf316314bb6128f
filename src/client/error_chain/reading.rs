//! Reading of one link of an error's chain: by its type, or else by its text.

use super::io_errors::read_io;
use super::link::Link;
use super::links::text_of;
use super::{of_hyper, of_reqwest};
use crate::error::{AttemptTimeout, IncompleteBody};
use crate::resume::Interrupted;
use crate::runtime::Elapsed;
use crate::{Class, ErrorKind, RateLimited, Reach};
use http_retry_core::reading::{is_refusal_by_proxy, is_refusal_to_connect};
use std::error::Error;
use std::io;

/// Reads a link by what it says itself, whatever the links behind it are. `answered` is `true` if an outer link comes
/// from the body of a response.
pub(super) fn read(link: &(dyn Error + 'static), answered: bool) -> Link {
    if link.is::<AttemptTimeout>() {
        return Link::Kind(ErrorKind::Timeout);
    }
    if link.is::<IncompleteBody>() {
        return Link::Incomplete;
    }
    if link.is::<RateLimited>() {
        return Link::Judged(ErrorKind::NotProcessed, Class::Throttled, Reach::Unsent);
    }
    if link.is::<Interrupted>() {
        return Link::InBody;
    }
    if let Some(error) = link.downcast_ref() {
        return of_reqwest::read(error);
    }
    if let Some(read) = of_hyper::read(link, answered) {
        return read;
    }
    if link.is::<Elapsed>() {
        return Link::Kind(ErrorKind::Timeout);
    }
    link.downcast_ref::<io::Error>()
        .map_or_else(|| read_text(link, answered), read_io)
}

/// Reads a link of no known type by its text: errors of tower's layers, of hyper for a request that its connection
/// abandoned, of h2 for a connection that closed within a frame, and of hyper-util's connector without its client
/// around it.
fn read_text(link: &(dyn Error + 'static), answered: bool) -> Link {
    match text_of(link).as_str() {
        "request timed out" => Link::Kind(ErrorKind::Timeout),
        "runtime dropped the dispatch task" | "bytes remaining on stream" => {
            Link::Kind(ErrorKind::Reset)
        }
        "service overloaded" | "buffer's worker closed unexpectedly" => {
            Link::Kind(ErrorKind::NotProcessed)
        }
        "tcp connect error" => Link::Connecting,
        "dns error" => Link::Resolving,
        // A buffer passes on the error of the service behind it, which was not ready for the request.
        text if text.starts_with("buffered service failed: ") => Link::Unsent,
        // The one error of `fetch`, whatever has failed: a connection, or what the page may see of another site (Fetch
        // Standard, "network error"). reqwest passes it on as text.
        text if text.starts_with("JsValue(TypeError") => {
            Link::Judged(ErrorKind::Other, Class::Transient, Reach::Ambiguous)
        }
        text => of_hyper::read_text(text, answered),
    }
}

/// Reads the text of hyper's errors in a body: its connection failed, or its chunks are malformed.
pub(super) fn kind_within_body(link: &(dyn Error + 'static)) -> Option<ErrorKind> {
    let malformed_chunk = link
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::InvalidInput);
    match text_of(link).as_str() {
        // hyper's chunk decoder reports this kind.
        _ if malformed_chunk => Some(ErrorKind::Protocol),
        "connection error" => Some(ErrorKind::Reset),
        _ => None,
    }
}

/// Reads an error of a connector that cannot connect, whatever the network does: by its kind, or by the text of the
/// connectors of hyper-util, hyper-rustls and reqwest.
pub(super) fn kind_by_connector(link: &(dyn Error + 'static)) -> Option<ErrorKind> {
    const BAD_REQUESTS: [&str; 11] = [
        "invalid URL",
        "unsupported scheme",
        "invalid dns name",
        "Invalid Server Name",
        "no host in url",
        "socks proxy destination has no host",
        "tunnel error: missing destination",
        "SOCKS error: missing destination",
        "SOCKS error: host address is more than",
        "SOCKS error: IPV6 is not supported",
        "SOCKS error: failed serialize request",
    ];
    let text = text_of(link);
    if is_refusal_by_proxy(&text) || text == "SOCKS error: failed parsing server response" {
        return Some(ErrorKind::Proxy);
    }
    let is_bad_request = BAD_REQUESTS.iter().any(|start| text.starts_with(start))
        || link.downcast_ref().is_some_and(is_refusal_to_connect);
    is_bad_request.then_some(ErrorKind::Request)
}
