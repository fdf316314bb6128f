//! The bytes that arrive twice, which are compared with those handed out and dropped.

use super::mark::OVERLAP;
use bytes::Bytes;

/// The last bytes that were handed out, and the number of bytes that will arrive again.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    tail: Vec<u8>,
    skip: u64,
}

#[expect(clippy::cast_possible_truncation, reason = "1 KiB")]
const MAX_OVERLAP_BYTES: usize = OVERLAP as usize;

impl Overlap {
    /// Expects `skip` bytes again, which end with those in `tail`.
    pub(super) fn expect_again(&mut self, skip: u64) {
        self.skip = skip;
    }

    /// Removes the repeated bytes from the data, and returns the rest with their number. Returns `None` if they differ
    /// from the tail.
    pub(super) fn strip(&mut self, mut data: Bytes) -> Option<(Bytes, u64)> {
        if self.skip == 0 {
            return Some((data, 0));
        }
        let dropped = usize::try_from(self.skip).map_or(data.len(), |skip| skip.min(data.len()));
        let dropped = data.split_to(dropped);
        let at_hand = length(&self.tail);
        // If the server sends the whole file again, the bytes before the tail are unknown, and cannot be compared.
        let unknown = self.skip.saturating_sub(at_hand);
        let unknown = usize::try_from(unknown).map_or(dropped.len(), |u| u.min(dropped.len()));
        let (_, known) = dropped.split_at(unknown);
        let from = at_hand.saturating_sub(self.skip);
        let expected = usize::try_from(from).ok().and_then(|from| {
            let rest = self.tail.get(from..)?;
            rest.get(..known.len())
        });
        let repeated = length(&dropped);
        self.skip = self.skip.saturating_sub(repeated);
        (expected == Some(known)).then_some((data, repeated))
    }

    /// Remembers the last bytes of the data that is handed out now.
    pub(super) fn remember(&mut self, data: &[u8]) {
        let new = data.len().min(MAX_OVERLAP_BYTES);
        let room = MAX_OVERLAP_BYTES.saturating_sub(new);
        let old = self.tail.len().saturating_sub(room);
        self.tail.drain(..old);
        let (_, last) = data.split_at(data.len().saturating_sub(new));
        self.tail.extend_from_slice(last);
    }
}

fn length(data: &[u8]) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes that repeat only after 251.
    fn bytes(range: std::ops::Range<usize>) -> Bytes {
        range.map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    /// Returns the overlap after `received` bytes, handed out in chunks of this size.
    fn after(received: usize, chunk: usize) -> Overlap {
        let mut overlap = Overlap::default();
        bytes(0..received)
            .chunks(chunk)
            .for_each(|data| overlap.remember(data));
        overlap
    }

    #[test]
    fn the_last_kibibyte_is_remembered_for_any_size_of_chunks() {
        for received in [0, 1, 1023, 1024, 1025, 5000] {
            for chunk in [1, 7, 1024, 4096] {
                let tail = after(received, chunk).tail;
                assert_eq!(
                    tail,
                    bytes(received.saturating_sub(MAX_OVERLAP_BYTES)..received),
                    "{received} by {chunk}"
                );
            }
        }
    }

    #[test]
    fn repeated_bytes_are_dropped_for_any_size_of_chunks() {
        for (received, from) in [
            (10, 0),
            (1024, 0),
            (3000, 3000 - MAX_OVERLAP_BYTES),
            (3000, 0),
            (3000, 17),
        ] {
            for chunk in [1, 100, 1024, 5000] {
                let mut overlap = after(received, 512);
                overlap.expect_again((received - from) as u64);
                let (mut rest, mut twice) = (Vec::new(), 0);
                for data in bytes(from..4000).chunks(chunk) {
                    let (data, repeated) = overlap.strip(Bytes::copy_from_slice(data)).unwrap();
                    rest.extend_from_slice(&data);
                    twice += repeated;
                }
                assert_eq!(
                    (rest, twice),
                    (bytes(received..4000).to_vec(), (received - from) as u64)
                );
            }
        }
    }

    #[test]
    fn each_byte_of_the_last_kibibyte_is_compared() {
        for wrong in [0, 1, 500, MAX_OVERLAP_BYTES - 1] {
            for chunk in [1, 300, 2048] {
                let mut overlap = after(3000, 512);
                overlap.expect_again(2000);
                let mut again = bytes(1000..3000).to_vec();
                again[2000 - MAX_OVERLAP_BYTES + wrong] ^= 1;
                let mut chunks = again.chunks(chunk);
                let differs = |data| overlap.strip(Bytes::copy_from_slice(data)).is_none();
                assert!(chunks.any(differs), "{wrong} by {chunk}");
            }
        }
    }
}
