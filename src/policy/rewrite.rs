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

/// Another body, in which one text has changed.
pub(crate) struct Rewritten {
    pub(crate) body: Vec<u8>,
    /// The characters of that text before.
    pub(crate) before: usize,
    /// The characters of that text now.
    pub(crate) after: usize,
}
