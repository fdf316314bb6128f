//! The nesting depth of a JSON text, followed one byte at a time.

/// The state of a scan of a JSON text: its open brackets, and whether it is inside a string.
#[derive(Default)]
pub(super) struct Depth {
    pub(super) brackets: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Advances past this byte.
    pub(super) fn step(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.brackets = self.brackets.saturating_add(1),
            b'}' | b']' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }

    /// Returns the length of the string, the array or the object that a text begins with.
    pub(super) fn length(text: &[u8]) -> usize {
        let (mut depth, mut at) = (Self::default(), 0_usize);
        while let Some(byte) = text.get(at) {
            depth.step(*byte);
            at = at.saturating_add(1);
            if depth.brackets == 0 && !depth.in_string {
                return at;
            }
            at = at.saturating_add(depth.skipped(text.get(at..).unwrap_or_default()));
        }
        text.len()
    }

    /// Returns the number of bytes at the start of `rest` that change nothing: most of a long string.
    fn skipped(&self, rest: &[u8]) -> usize {
        let matters = |byte: &u8| matches!(byte, b'"' | b'\\');
        if self.in_string && !self.escaped {
            rest.iter().position(matters).unwrap_or(rest.len())
        } else {
            0
        }
    }
}
