//! Scans of JSON texts, one byte at a time: their nesting depth, and the first object of a body.

/// The state of a scan of a JSON text: its open brackets, and whether it is inside a string.
#[derive(Default)]
pub(super) struct Depth {
    brackets: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Advances past this byte.
    fn step(&mut self, byte: u8) {
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

/// Collects the first object of a JSON text; of an array, its first element.
///
/// Some servers respond to a request for a stream with a plain JSON body, with one object per line, or with an array
/// that they send element by element. In each case the first object shows whether it is an error.
pub(super) struct FirstObject {
    body: Vec<u8>,
    depth: Depth,
}

impl FirstObject {
    /// Starts with the opening bracket that was read.
    pub(super) fn new(bracket: u8) -> Self {
        let mut object = Self {
            body: Vec::new(),
            depth: Depth::default(),
        };
        if bracket == b'{' {
            object.push(bracket);
        }
        object
    }

    /// Returns the object once this byte completes it. Anything else ends at its first byte.
    pub(super) fn push(&mut self, byte: u8) -> Option<Vec<u8>> {
        let blank = byte.is_ascii_whitespace();
        if self.body.is_empty() && blank {
            return None;
        }
        self.body.push(byte);
        self.depth.step(byte);
        (self.depth.brackets == 0).then(|| std::mem::take(&mut self.body))
    }
}
