//! How deep a place of a JSON text is, one byte at a time.

/// Follows the strings and the brackets of a JSON text.
#[derive(Default)]
pub(super) struct Depth {
    pub(super) brackets: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Goes past this byte.
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

    /// The length of the string, the array or the object that a text begins with.
    pub(super) fn length(text: &[u8]) -> usize {
        let mut depth = Self::default();
        let end = text.iter().position(|byte| {
            depth.step(*byte);
            depth.brackets == 0 && !depth.in_string
        });
        end.map_or(text.len(), |end| end.saturating_add(1))
    }
}
