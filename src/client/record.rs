//! Received bytes, in memory of their own.

use bytes::Bytes;

/// The bytes that were read, from the first on.
///
/// They are copied: a frame may be one byte of a large buffer, and keeping the frame keeps the buffer. A full buffer
/// doubles, so this holds less than twice the bytes that were read, whatever their frames were cut from. A copy costs
/// little compared with sending or receiving the same bytes.
#[derive(Default)]
pub(super) struct Record {
    /// Blocks that were given out, which can grow no more.
    blocks: Vec<Bytes>,
    open: Vec<u8>,
}

impl Record {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.open.extend_from_slice(data);
    }

    /// Returns the bytes at hand from a position on, or `None` at the end. There may be more after them.
    pub(super) fn after(&mut self, mut position: usize) -> Option<Bytes> {
        // Bytes that were given out are shared with a client, so their block can grow no more.
        if !self.open.is_empty() {
            self.blocks.push(std::mem::take(&mut self.open).into());
        }
        for block in &self.blocks {
            if position < block.len() {
                return Some(block.slice(position..));
            }
            position = position.saturating_sub(block.len());
        }
        None
    }

    /// Returns all bytes in one buffer.
    pub(super) fn whole(&self) -> Vec<u8> {
        let blocks = self.blocks.iter().map(|block| &block[..]);
        let parts: Vec<&[u8]> = blocks.chain([&self.open[..]]).collect();
        parts.concat()
    }
}

impl From<Vec<u8>> for Record {
    fn from(open: Vec<u8>) -> Self {
        let blocks = Vec::new();
        Self { blocks, open }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Large buffers, counted for as long as a part of one is kept.
    #[derive(Default)]
    pub(in crate::client) struct Buffers(Arc<AtomicUsize>);

    struct Buffer(Vec<u8>, Arc<AtomicUsize>);

    impl Buffers {
        /// Returns one byte of a new buffer.
        pub(in crate::client) fn slice(&self) -> Bytes {
            self.0.fetch_add(1, Relaxed);
            let buffer = Buffer(vec![b'x'; 64 * 1024], Arc::clone(&self.0));
            Bytes::from_owner(buffer).slice(7..8)
        }

        pub(in crate::client) fn kept(&self) -> usize {
            self.0.load(Relaxed)
        }
    }

    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Buffer {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Relaxed);
        }
    }

    #[test]
    fn a_record_is_read_from_any_position_and_grows() {
        let mut record = Record::default();
        assert_eq!(record.after(0), None);
        record.push(b"ab");
        record.push(b"c");
        assert_eq!(record.after(1).unwrap(), "bc");
        record.push(b"de");
        assert_eq!(record.after(0).unwrap(), "abc");
        assert_eq!(record.after(3).unwrap(), "de");
        assert_eq!(record.after(4).unwrap(), "e");
        assert_eq!(record.after(5), None);
        record.push(b"f");
        assert_eq!(record.whole(), b"abcdef");
    }

    #[test]
    fn a_record_takes_less_than_twice_its_bytes() {
        let mut record = Record::default();
        let mut position = 0;
        for length in (0..200).chain([3_000, 1, 1, 70_000, 1]) {
            record.push(&vec![b'x'; length]);
            let held = record.open.len().max(8);
            assert!(record.open.capacity() < 2 * held, "{length}");
            if length % 50 == 0 {
                position += record.after(position).map_or(0, |data| data.len());
            }
        }
    }
}
