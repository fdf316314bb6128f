//! How large a document may be: it is counted while it is read, since a reader may make much of a short text.

use std::cell::Cell;

/// Deeper documents are refused, so that reading one takes bounded stack.
const DEEPEST: usize = 64;
/// More values than this are refused.
const MOST_VALUES: usize = 100_000;
/// More bytes of keys and texts than this are refused.
const MOST_TEXT: usize = 1024 * 1024;

/// More brackets than this may not be open at once in a text.
const MOST_OPEN: usize = 128;

/// Whether a reader can be asked to read a text.
pub(in crate::config) fn check_text(text: &str) -> Result<(), String> {
    if text.len() > MOST_TEXT {
        return Err(format!("the text has more than {MOST_TEXT} bytes"));
    }
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open = open.saturating_add(1),
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MOST_OPEN {
            return Err(format!(
                "the text has more than {MOST_OPEN} brackets open at once"
            ));
        }
    }
    Ok(())
}

/// How much there is of a document so far.
#[derive(Debug, Default)]
pub(super) struct Size {
    values: Cell<usize>,
    text: Cell<usize>,
}

impl Size {
    /// A value that stands so many levels below the document.
    pub(super) fn add_value(&self, depth: usize) -> Result<(), String> {
        let values = self.values.get().saturating_add(1);
        self.values.set(values);
        if depth > DEEPEST {
            return Err(format!("is nested more than {DEEPEST} levels deep"));
        }
        if values > MOST_VALUES {
            return Err(format!("holds more than {MOST_VALUES} values"));
        }
        Ok(())
    }

    pub(super) fn add_text(&self, text: &str) -> Result<(), String> {
        let bytes = self.text.get().saturating_add(text.len());
        self.text.set(bytes);
        match bytes > MOST_TEXT {
            true => Err(format!("holds more than {MOST_TEXT} bytes of text")),
            false => Ok(()),
        }
    }
}
