//! Which types are reqwest's.

use std::any::TypeId;

/// Whether a type of this name is one of reqwest's requests, responses or errors.
#[cfg(feature = "reqwest")]
pub(crate) fn is_of_reqwest(name: TypeId) -> bool {
    use ::reqwest::{Body, Error, Request, Response};
    let own = [
        TypeId::of::<Request>(),
        TypeId::of::<Response>(),
        TypeId::of::<Error>(),
        TypeId::of::<http::Request<Body>>(),
        TypeId::of::<http::Response<Body>>(),
    ];
    own.contains(&name)
}

#[cfg(not(feature = "reqwest"))]
pub(crate) fn is_of_reqwest(_: TypeId) -> bool {
    false
}
