//! The first JSON object of a body that is not an event stream.

use crate::llm::depth::Depth;

/// Collects the first object of a JSON text; of an array, its first element.
///
/// Some servers respond to a request for a stream with a plain JSON body, with one object per line, or with an array
/// that they send element by element. In each case the first object shows whether it is an error.
pub(super) struct Json {
    body: Vec<u8>,
    depth: Depth,
}

impl Json {
    /// Starts with the opening bracket that was read.
    pub(super) fn new(bracket: u8) -> Self {
        let mut json = Self {
            body: Vec::new(),
            depth: Depth::default(),
        };
        if bracket == b'{' {
            json.push(bracket);
        }
        json
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
