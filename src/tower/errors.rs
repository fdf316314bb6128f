//! How the layer returns an inner service's errors.

use std::error::Error;

type BoxError = Box<dyn Error + Send + Sync>;

/// How the layer returns an inner service's errors: [`Unchanged`] or [`Boxed`]. Nobody else implements it.
pub trait Errors<E>: sealed::Sealed {
    /// The error of the outer service.
    type Error;

    #[doc(hidden)]
    fn from_inner(error: E) -> Self::Error;

    /// An error of this crate, if the outer service's error can hold it.
    #[doc(hidden)]
    fn from_own(error: impl Error + Send + Sync + 'static) -> Option<Self::Error>;
}

/// The layer returns the inner service's own errors: the first type parameter of
/// [`RetryLayer`](super::RetryLayer) and [`Retry`](super::Retry), and its default.
///
/// Such an error cannot report a timeout. So a time limit cuts an attempt only if a retry follows; the last attempt runs to
/// its end.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unchanged;

/// The layer returns a `Box<dyn Error + Send + Sync>`; set by [`RetryLayer::boxed_errors`](super::RetryLayer::boxed_errors).
///
/// In the box is the inner service's error as it was, a timeout as an [`AttemptTimeout`](crate::AttemptTimeout), or what the
/// policy calls a failure as a [`RequestFailed`](crate::report::RequestFailed).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Boxed;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Unchanged {}
    impl Sealed for super::Boxed {}
}

impl<E> Errors<E> for Unchanged {
    type Error = E;

    fn from_inner(error: E) -> E {
        error
    }

    fn from_own(_: impl Error + Send + Sync + 'static) -> Option<E> {
        None
    }
}

impl<E: Into<BoxError>> Errors<E> for Boxed {
    type Error = BoxError;

    fn from_inner(error: E) -> BoxError {
        error.into()
    }

    fn from_own(error: impl Error + Send + Sync + 'static) -> Option<BoxError> {
        Some(error.into())
    }
}
