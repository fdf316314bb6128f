//! Cuts of a request's text.

/// A cut of one text in a request, so that the next attempt fits into the model's context. It is measured in characters
/// (`char`), not in tokens or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextCut {
    /// The number of characters before the cut.
    pub before: usize,
    /// The number of characters after the cut.
    pub after: usize,
}

impl TextCut {
    /// Creates a cut from `before` to `after` characters.
    #[must_use]
    pub fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}
