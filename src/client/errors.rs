//! The form in which the layer returns the errors of an inner service and of its response bodies.

use super::error_chain::{boxed, into_box};
use crate::error::{BoxError, LayerError};
use crate::sealed::Sealed;

/// The form in which the layer returns the errors of an inner service and of its response bodies: [`Boxed`] or
/// [`Unchanged`]. It cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "the retry layer cannot put the error `{E}` into a `Box<dyn Error + Send + Sync>`",
    label = "this error is no `Error + Send + Sync + 'static`",
    note = "`.unchanged_errors()` on the layer returns errors as they are; then a time limit does not cut the last attempt"
)]
pub trait Errors<E>: Sealed {
    /// The error of the outer service or body.
    type Error;

    #[doc(hidden)]
    fn from_inner(error: E) -> Self::Error;

    /// Returns a function that converts an error of this crate to the outer type, if that can hold one.
    #[doc(hidden)]
    fn from_own() -> Option<fn(LayerError) -> Self::Error>;
}

/// A form of errors that boxes them as `Box<dyn Error + Send + Sync>`. It is the default of
/// [`Wrapped`](super::responses::Wrapped) and [`SameType`](super::responses::SameType).
///
/// The box holds the inner error unchanged (`downcast_ref` finds it), an [`AttemptTimeout`](crate::AttemptTimeout), a
/// [`RequestFailed`](crate::report::RequestFailed) if the policy calls the response a failure, or an
/// [`IncompleteBody`](crate::IncompleteBody). An error that is already such a box is not boxed again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Boxed;

/// A form of errors that keeps the inner type; set by
/// [`RetryLayer::unchanged_errors`](crate::tower::RetryLayer::unchanged_errors), which lists the features that the layer then
/// lacks.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unchanged;

impl Sealed for Boxed {}
impl Sealed for Unchanged {}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError> + 'static> Errors<E> for Boxed {
    type Error = BoxError;

    fn from_inner(error: E) -> BoxError {
        boxed(error)
    }

    fn from_own() -> Option<fn(LayerError) -> BoxError> {
        Some(BoxError::from)
    }
}

impl<E: 'static> Errors<E> for Unchanged {
    type Error = E;

    fn from_inner(error: E) -> E {
        error
    }

    /// Only an error type that is such a box can hold one.
    fn from_own() -> Option<fn(LayerError) -> E> {
        into_box()
    }
}
