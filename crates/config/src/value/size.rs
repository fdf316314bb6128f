//! The limits on a document's size, counted while it is read: an alias in a short text can expand to a large document.

use std::cell::Cell;

/// The deepest nesting of a document, so that reading one takes bounded stack.
const MAX_DEPTH: usize = 64;
/// The most values of a document.
const MAX_VALUES: usize = 100_000;
/// The most bytes of keys and texts.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// The most brackets that may be open at once in a text.
const MAX_OPEN: usize = 128;

/// Checks that a text is short enough to be read.
pub(crate) fn check_text(text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("the text has more than {MAX_TEXT_BYTES} bytes"));
    }
    // Brackets in texts and comments count too: only a parser could tell them apart.
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open = open.saturating_add(1),
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN {
            return Err(format!(
                "the text has more than {MAX_OPEN} brackets open at once"
            ));
        }
    }
    Ok(())
}

/// The remaining size that a document may have.
#[derive(Debug)]
pub(super) struct Size {
    values: Cell<usize>,
    text: Cell<usize>,
}

impl Default for Size {
    fn default() -> Self {
        Self::up_to(MAX_VALUES, MAX_TEXT_BYTES)
    }
}

impl Size {
    pub(super) fn up_to(values: usize, text: usize) -> Self {
        Self {
            values: Cell::new(values),
            text: Cell::new(text),
        }
    }

    /// Counts a value at this depth below the document.
    pub(super) fn add_value(&self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("is nested more than {MAX_DEPTH} levels deep"));
        }
        take(&self.values, 1).ok_or_else(|| format!("holds more than {MAX_VALUES} values"))
    }

    pub(super) fn add_text(&self, text: &str) -> Result<(), String> {
        take(&self.text, text.len())
            .ok_or_else(|| format!("holds more than {MAX_TEXT_BYTES} bytes of text"))
    }
}

fn take(left: &Cell<usize>, amount: usize) -> Option<()> {
    left.set(left.get().checked_sub(amount)?);
    Some(())
}
