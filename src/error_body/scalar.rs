//! One value of a JSON text.

use std::fmt;

/// A text, a number or a truth value of a JSON body, as text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scalar(Box<str>);

impl Scalar {
    #[cfg_attr(
        not(feature = "dialects"),
        expect(dead_code, reason = "only this feature reads JSON")
    )]
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// A text without its quotes, the digits of a number, `true` or `false`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Scalar {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Scalar {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl PartialEq<Scalar> for &str {
    fn eq(&self, other: &Scalar) -> bool {
        *self == &*other.0
    }
}

/// What a server wrote is nobody else's to read.
impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scalar").finish_non_exhaustive()
    }
}
