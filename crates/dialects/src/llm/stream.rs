//! Inspection of the beginning of a streamed response, to find out when its bytes may be passed on.
//!
//! A streamed response has status 200 before the model has produced anything, and an overloaded server reports this
//! only in the first events. While nothing but such preliminaries has arrived, the caller has seen nothing and the
//! request can be sent again; from the first output on, it cannot.

mod frame;
mod reader;
#[cfg(test)]
mod tests;

use reader::{Reader, StreamItem};

/// The state after some more bytes were inspected.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Peeked {
    /// No output yet: hold the bytes back.
    Hold,
    /// Output, the end of the stream, or something unknown: pass everything on, and stop inspecting.
    Output,
    /// An error before any output; its JSON, in the form of an error body.
    Error(Vec<u8>),
    /// The stream ended, or is taken as ended, before any output and without a sign that it is complete.
    Incomplete,
}

/// Inspects the beginning of a stream of server-sent events, in chunks of any size.
///
/// The first result other than [`Peeked::Hold`] is final and is repeated from then on. It does not depend on the chunk
/// boundaries. At most 64 KiB are held back; after that everything is passed on. The body must not be encoded
/// (`content-encoding`); bytes that are not text are passed on at once.
///
/// # Source
///
/// The event stream format of the HTML standard, section 9.2.6; events that count as output: the documented streams of
/// OpenAI (chat completions and responses), Anthropic, Gemini, Bedrock, Cohere, Azure, Groq and OpenRouter.
pub(crate) struct Peek {
    reader: Reader,
    taken: usize,
    decided: Option<Peeked>,
}

/// The most bytes that are held back.
const MAX_HOLD_BYTES: usize = 64 * 1024;

impl Peek {
    pub(crate) fn new() -> Self {
        Self {
            reader: Reader::default(),
            taken: 0,
            decided: None,
        }
    }

    /// Inspects the next bytes.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Peeked {
        if self.decided.is_none() {
            self.decided = self.read(chunk);
        }
        self.decided.clone().unwrap_or(Peeked::Hold)
    }

    /// Ends the inspection: no more bytes come, or nobody waits for them any longer. Never returns [`Peeked::Hold`].
    pub(crate) fn end(&mut self) -> Peeked {
        if let Some(decided) = &self.decided {
            return decided.clone();
        }
        let mut seen = None;
        // The end can complete two events: one whose blank line was missing, and the one after it.
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
        let seen = match piece {
            StreamItem::Event { name, data } => {
                work::add(data.as_bytes());
                frame::judge(name, data)
            }
            StreamItem::Json(body) => {
                work::add(body.as_bytes());
                frame::judge_body(body)
            }
            StreamItem::Alien => Peeked::Output,
        };
        Some(seen).filter(|seen| *seen != Peeked::Hold)
    }
}

/// Bytes that the stream reader processes, counted in tests alone: the count must be linear in the length of the stream.
mod work {
    #[cfg(not(test))]
    #[inline]
    pub(super) fn add(_: &[u8]) {}

    #[cfg(test)]
    pub(super) use counted::{add, of};

    #[cfg(test)]
    mod counted {
        use std::cell::Cell;

        thread_local! {
            static BYTES: Cell<usize> = const { Cell::new(0) };
        }

        /// Counts bytes that are processed once more.
        pub(in super::super) fn add(bytes: &[u8]) {
            BYTES.set(BYTES.get() + bytes.len());
        }

        /// Returns the number of bytes that are processed once more during this call.
        pub(in super::super) fn of(meanwhile: impl FnOnce()) -> usize {
            let before = BYTES.get();
            meanwhile();
            BYTES.get() - before
        }
    }
}
