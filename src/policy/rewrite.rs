//! A request that must change before it is sent again.

use super::outcome::Outcome;
use http::HeaderMap;

/// Makes another body for the next attempt, where the outcome asks for one.
pub(crate) trait Rewrite: Send + Sync {
    /// How to change the body after this outcome; nothing where the same one may do.
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody>;
}

/// Takes headers and body of the request that was refused; none if there is no better body.
pub(crate) type RewriteBody = Box<dyn Fn(&mut HeaderMap, &[u8]) -> Option<Rewritten> + Send + Sync>;

/// Gets headers and body of a request, changes the ones and gives another for the other.
pub(crate) type RewriteWith<'a> = dyn FnMut(&mut HeaderMap, &[u8]) -> Option<Vec<u8>> + 'a;

/// A body with a text that is shorter than before.
pub(crate) struct Rewritten {
    pub(crate) body: Vec<u8>,
    pub(crate) cut: TextCut,
}

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
    #[cfg(feature = "llm")]
    pub(crate) fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}
