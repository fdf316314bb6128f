//! What was cut from a request.

/// A cut in a request's text, in characters: of the one text that was cut, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextCut {
    /// Its characters before the cut.
    pub before: usize,
    /// Its characters after the cut.
    pub after: usize,
}

impl TextCut {
    pub(crate) fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}
