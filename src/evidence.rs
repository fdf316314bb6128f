//! What can be read of an outcome beyond its head: an error body's text and tokens, or an error's words.

#[cfg(feature = "serde")]
mod json;

use crate::policy::Evidence;
#[cfg(feature = "serde")]
use json::codes;

/// How much of an error body is read.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// The start of an error body, cut off or not.
pub(crate) fn of_body(start: &[u8]) -> Evidence {
    Evidence {
        text: String::from_utf8_lossy(start).to_lowercase(),
        codes: codes(start),
    }
}

/// An error's words.
pub(crate) fn of_error(words: &str) -> Evidence {
    Evidence {
        text: words.to_lowercase(),
        codes: Vec::new(),
    }
}

#[cfg(not(feature = "serde"))]
fn codes(_: &[u8]) -> Vec<String> {
    Vec::new()
}
