//! The connection that an attempt used, so that later requests can avoid it.
//!
//! Cutting an attempt closes its connection on HTTP/1. On HTTP/2 it ends one stream, and the client sends the next
//! request over the same connection, which may be dead.

use crate::Attempt;
use crate::error::BoxError;
use http::{Extensions, Request};
use hyper_util::client::legacy::Error;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use std::any::TypeId;
use std::mem;

/// The connection of an attempt in flight, as soon as the client has chosen it. Clones show the connection of the
/// latest attempt whose request has the same extensions.
#[derive(Clone)]
pub(crate) struct ConnectionUsed(CaptureConnection);

impl ConnectionUsed {
    /// Captures the connection of an attempt that may be cut or that follows a failed one. Returns `None` for any other
    /// attempt, or if the type of the client's errors shows that it is not hyper-util's.
    pub(crate) fn for_attempt<E: 'static>(
        attempt: Attempt,
        extensions: Option<&mut Extensions>,
    ) -> Option<Self> {
        // A first attempt without a limit is never cut, and a capture costs allocations.
        let wanted = attempt.limit.is_some() || attempt.number > 1;
        let extensions = extensions.filter(|_| wanted)?;
        // The download has captured it already, for all of its attempts.
        let known = extensions.get::<Self>().cloned();
        known.or_else(|| Self::captured::<E>(extensions))
    }

    /// Captures the connection of all attempts of a download, whose response may stall after its head.
    pub(crate) fn for_download<E: 'static>(extensions: &mut Extensions) -> Option<Self> {
        let used = Self::captured::<E>(extensions)?;
        extensions.insert(used.clone());
        Some(used)
    }

    fn captured<E: 'static>(extensions: &mut Extensions) -> Option<Self> {
        let errors = [TypeId::of::<Error>(), TypeId::of::<BoxError>()];
        let may_be_hypers = errors.contains(&TypeId::of::<E>());
        may_be_hypers
            .then(|| capture(extensions))
            .flatten()
            .map(Self)
    }

    /// Returns `true` once the client has chosen the connection, which [`retire`](Self::retire) then keeps later
    /// requests off.
    pub(crate) fn is_known(&self) -> bool {
        self.0.connection_metadata().is_some()
    }

    /// Keeps later requests off the connection; those in flight continue.
    pub(crate) fn retire(&self) {
        if let Some(connection) = &*self.0.connection_metadata() {
            connection.poison();
        }
    }
}

/// Keeps later requests off the connection that an error with these links comes from, if the error shows it.
pub(super) fn retire<'a>(mut links: impl Iterator<Item = &'a (dyn std::error::Error + 'static)>) {
    let client = links.find_map(|link| link.downcast_ref::<Error>());
    if let Some(connection) = client.and_then(Error::connect_info) {
        connection.poison();
    }
}

/// Returns `true` if this is hyper's own body, whose `is_end_stream` on HTTP/2 is true only after the end of the
/// stream.
pub(super) fn is_body_of_hyper<B: 'static>() -> bool {
    #[cfg(feature = "http2")]
    use hyper::body::Incoming;
    // No body is of this type.
    #[cfg(not(feature = "http2"))]
    use std::convert::Infallible as Incoming;
    TypeId::of::<B>() == TypeId::of::<Incoming>()
}

/// Returns a handle to the connection that a request with these extensions will use. Returns `None` if the caller has
/// captured it already, since a second capture would replace the caller's.
fn capture(extensions: &mut Extensions) -> Option<CaptureConnection> {
    let mut request = Request::new(());
    *request.extensions_mut() = extensions.clone();
    let before = extensions.len();
    let captured = capture_connection(&mut request);
    // A second capture replaces the first.
    let added = request.extensions().len() > before;
    added.then(|| {
        *extensions = mem::take(request.extensions_mut());
        captured
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_of_the_callers_own_stays() {
        let mut extensions = Extensions::new();
        extensions.insert(7);
        assert!(capture(&mut extensions).is_some());
        assert_eq!((extensions.len(), extensions.get()), (2, Some(&7)));
        assert!(capture(&mut extensions).is_none());
        assert_eq!(extensions.len(), 2);
    }
}
