//! How the layer returns an inner service's errors.

use std::error::Error;

type BoxError = Box<dyn Error + Send + Sync>;

/// How the layer returns an inner service's errors: [`Unchanged`] or [`Boxed`].
pub trait Errors<E>: sealed::Sealed {
    /// The error of the outer service.
    type Error;

    #[doc(hidden)]
    fn from_inner(error: E) -> Self::Error;

    /// An error of this crate, if the outer service's error can hold it.
    #[doc(hidden)]
    fn from_own(error: impl Error + Send + Sync + 'static) -> Option<Self::Error>;
}

/// Errors are the inner service's own, and cannot report a timeout.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unchanged;

/// Errors are boxed: a timeout as an [`AttemptTimeout`](crate::AttemptTimeout), a rule's failure as a
/// [`RequestFailed`](crate::report::RequestFailed).
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
