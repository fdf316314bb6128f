//! Looking into the beginning of a streamed answer, to know when its bytes may be handed on.
//!
//! A streamed answer begins with status 200 before the model has said anything, and an overloaded server says so only
//! in the first events. As long as nothing but such preliminaries came, the caller has seen nothing and the request can
//! be sent again; from the first output on, it cannot.

mod frame;
mod json;
mod reader;
#[cfg(test)]
mod tests;
mod work;

use frame::Frame;
use reader::{Reader, StreamItem};

/// What is known once some more bytes were looked at.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Peeked {
    /// Nothing of the answer yet: keep the bytes back.
    Hold,
    /// Output, the end of an answer, or something unknown: hand on everything, and look no further.
    Output,
    /// An error came before any output; this is its JSON, in the form in which an error body has it.
    Error(Vec<u8>),
    /// The stream ended, or is taken as ended, before any output and before it said that it is complete.
    Incomplete,
}

/// Reads the beginning of a stream of server-sent events, in pieces of any size.
///
/// The first answer other than [`Peeked::Hold`] is the last: it is repeated from then on. How the bytes are cut into pieces
/// changes nothing. At most 64 KiB are held back; past that everything is handed on. The body must not be encoded
/// (`content-encoding`); bytes that are no text at all are handed on at once.
///
/// # Source
///
/// The event stream format of the HTML standard, section 9.2.6; what counts as output, the documented streams of
/// OpenAI (chat completions and responses), Anthropic, Gemini, Bedrock, Cohere, Azure, Groq and OpenRouter.
pub(crate) struct Peek {
    reader: Reader,
    taken: usize,
    decided: Option<Peeked>,
}

/// Bytes that are held back at most.
const MAX_HOLD_BYTES: usize = 64 * 1024;

impl Peek {
    pub(crate) fn new() -> Self {
        Self {
            reader: Reader::default(),
            taken: 0,
            decided: None,
        }
    }

    /// Looks at the next bytes.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Peeked {
        if self.decided.is_none() {
            self.decided = self.read(chunk);
        }
        self.decided.clone().unwrap_or(Peeked::Hold)
    }

    /// Says that no more bytes come, or that nobody waits for them any longer. Never [`Peeked::Hold`].
    pub(crate) fn end(&mut self) -> Peeked {
        if let Some(decided) = &self.decided {
            return decided.clone();
        }
        let mut seen = None;
        while let (None, Some(piece)) = (&seen, self.reader.finish()) {
            seen = self.interpret(&piece);
        }
        self.decided
            .insert(seen.unwrap_or(Peeked::Incomplete))
            .clone()
    }

    fn read(&mut self, chunk: &[u8]) -> Option<Peeked> {
        for byte in chunk {
            if self.taken >= MAX_HOLD_BYTES {
                return Some(Peeked::Output);
            }
            self.taken = self.taken.saturating_add(1);
            let piece = self.reader.push(*byte);
            let seen = piece.and_then(|piece| self.interpret(&piece));
            if seen.is_some() {
                return seen;
            }
        }
        None
    }

    fn interpret(&mut self, piece: &StreamItem) -> Option<Peeked> {
        let frame = match piece {
            StreamItem::Event { name, data } => {
                work::add(data.as_bytes());
                frame::judge(name, data)
            }
            StreamItem::Json(body) => {
                work::add(body.as_bytes());
                frame::judge_body(body)
            }
            StreamItem::Alien => Frame::Output,
        };
        match frame {
            Frame::Quiet => None,
            Frame::Output => Some(Peeked::Output),
            Frame::Error(error) => Some(Peeked::Error(error)),
        }
    }
}
