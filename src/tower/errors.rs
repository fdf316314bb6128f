//! The form in which the layer returns an inner service's errors.

use crate::call::OwnError;
use crate::client::error_chain::{boxed, into_box};
use std::error::Error;

type BoxError = Box<dyn Error + Send + Sync>;

/// The form in which the layer returns an inner service's errors: [`Boxed`] or [`Unchanged`]. It is sealed.
#[diagnostic::on_unimplemented(
    message = "the retry layer cannot put the error `{E}` into a `Box<dyn Error + Send + Sync>`",
    label = "this error is no `Error + Send + Sync + 'static`",
    note = "`.unchanged_errors()` on the layer returns errors as they are; then a time limit does not cut the last attempt"
)]
pub trait Errors<E>: sealed::Sealed {
    /// The error of the outer service.
    type Error;

    #[doc(hidden)]
    fn from_inner(error: E) -> Self::Error;

    /// A function that puts an error of this crate into the outer service's, if that can hold one.
    #[doc(hidden)]
    fn from_own() -> Option<fn(OwnError) -> Self::Error>;
}

/// The layer returns a `Box<dyn Error + Send + Sync>`: the first type parameter of [`RetryLayer`](super::RetryLayer) and
/// [`Retry`](super::Retry), and its default.
///
/// The box holds the inner service's error as it was (`downcast_ref` finds it), a timeout as an
/// [`AttemptTimeout`](crate::AttemptTimeout), or what the policy calls a failure as a
/// [`RequestFailed`](crate::report::RequestFailed). An error that is such a box already is not boxed again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Boxed;

/// The layer returns the inner service's own type of error; set by
/// [`RetryLayer::unchanged_errors`](super::RetryLayer::unchanged_errors), which says what the layer then cannot do.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unchanged;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Boxed {}
    impl Sealed for super::Unchanged {}
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError> + 'static> Errors<E> for Boxed {
    type Error = BoxError;

    fn from_inner(error: E) -> BoxError {
        boxed(error)
    }

    fn from_own() -> Option<fn(OwnError) -> BoxError> {
        Some(BoxError::from)
    }
}

impl<E: 'static> Errors<E> for Unchanged {
    type Error = E;

    fn from_inner(error: E) -> E {
        error
    }

    /// Only an error that is a box anyway can hold one.
    fn from_own() -> Option<fn(OwnError) -> E> {
        into_box()
    }
}
