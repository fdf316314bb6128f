//! Keeps public traits from being implemented outside of this crate, so that methods can be added to them.

/// A type for which this crate implements a public trait.
pub trait Sealed {}
