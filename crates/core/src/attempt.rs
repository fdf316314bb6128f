//! The attempt under way.

pub(crate) mod mark;
