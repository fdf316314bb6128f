//! What was cut from a request.

/// A cut in a request's text, so that the next attempt fits into the model's context: the one text that was cut, measured
/// in characters (`char`), not in tokens or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextCut {
    /// Its characters before the cut.
    pub before: usize,
    /// Its characters after the cut.
    pub after: usize,
}

impl TextCut {
    /// A cut from so many characters to so many.
    #[must_use]
    pub fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}
