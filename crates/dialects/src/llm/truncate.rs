//! Shorter requests: the longest text of a prompt is cut in place, and nothing else of the body changes.

mod headers;
mod scan;
mod shapes;
#[cfg(test)]
mod tests;

pub(crate) use headers::{fix_headers, may_cut};
use scan::{Span, Text};

/// The part of a text that a cut keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Keep {
    #[default]
    Head,
    Tail,
    /// Both ends; if an odd number is kept, the end gets one more character than the beginning.
    Ends,
}

/// A request body with one text cut.
///
/// It has no `Debug`, so that no prompt gets into a log by accident.
pub(crate) struct Cut {
    /// The whole body, ready to send.
    pub(crate) body: Vec<u8>,
    /// Characters of the text before the cut.
    pub(crate) chars_before: usize,
    /// Characters of the text after the cut: at least 1, and fewer than before.
    pub(crate) chars_after: usize,
}

/// The largest body that is cut; larger ones are left alone.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Cuts the longest text that may be cut to `share` of its characters; if several are equally long, the first of them.
///
/// Texts of a user or a tool, and earlier texts of the assistant, may be cut. Never cut are texts of the system or
/// developer, the arguments of a tool call, thinking, images and other data, and the assistant's turn at the end of the
/// conversation (the model continues from there).
///
/// Returns `None` if nothing can be cut: no such text has two characters, the body is not JSON in UTF-8 or is larger
/// than 64 MiB, or an object repeats a member that decides what may be cut (it is unknown which of the two the server
/// reads). A text with an unpaired surrogate is never cut.
pub(crate) fn cut(body: &[u8], keep: Keep, share: Fraction) -> Option<Cut> {
    if body.len() > MAX_BODY_BYTES {
        return None;
    }
    let longest = shapes::longest(Span::of(body)?)?;
    let chars_after = share.of(longest.chars)?;
    let (start, end) = removed(longest.text, longest.chars, chars_after, keep)?;
    let mut shorter = Vec::with_capacity(body.len());
    shorter.extend_from_slice(body.get(..start)?);
    shorter.extend_from_slice(body.get(end..)?);
    Some(Cut {
        body: shorter,
        chars_before: longest.chars,
        chars_after,
    })
}

/// Returns the range of bytes to remove from the body.
fn removed(text: Text<'_>, before: usize, after: usize, keep: Keep) -> Option<(usize, usize)> {
    let gone = before.checked_sub(after)?;
    let first = match keep {
        Keep::Head => after,
        Keep::Tail => 0,
        Keep::Ends => after / 2,
    };
    let start = text.offset(first);
    let end = text.offset(first.saturating_add(gone));
    (start < end).then_some((start, end))
}

/// The share of a text's characters that is kept: a fraction below 1, in whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    kept: u128,
    of: u128,
}

const MILLION: u32 = 1_000_000;

impl Fraction {
    /// Returns the share that fits by the token counts in the error: `limit / actual`, less a tenth, since tokens are
    /// not characters. Counts that contradict the error (nothing is allowed, or the request is below the limit) give
    /// the default.
    pub(crate) fn fitting(limit: u64, actual: u64) -> Self {
        if limit == 0 || limit > actual {
            return Self::default();
        }
        Self {
            kept: u128::from(limit).saturating_mul(9),
            of: u128::from(actual).saturating_mul(10),
        }
    }

    /// Returns a share in millionths; 0, and a million or more, give the default.
    pub(crate) fn millionths(kept: u32) -> Self {
        if kept == 0 || kept >= MILLION {
            return Self::default();
        }
        Self {
            kept: u128::from(kept),
            of: u128::from(MILLION),
        }
    }

    /// Returns the number of characters to keep of `chars`, rounded down, at least one. Returns `None` if `chars` is
    /// less than two.
    fn of(self, chars: usize) -> Option<usize> {
        let most = chars.checked_sub(1).filter(|most| *most > 0)?;
        let kept = u128::try_from(chars)
            .ok()?
            .saturating_mul(self.kept)
            .checked_div(self.of)?;
        Some(usize::try_from(kept).unwrap_or(most).clamp(1, most))
    }
}

impl Default for Fraction {
    /// Three quarters: two such cuts bring a text to 56 %, and a guess that is too small loses text for nothing.
    fn default() -> Self {
        Self { kept: 3, of: 4 }
    }
}
