//! Keeps the traits for adapters from being implemented for other types, so that methods can be added to them.

/// A type of this crate with a trait for adapters.
pub trait Sealed {}
