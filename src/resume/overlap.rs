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
    /// Expects `skip` bytes again; the last of them are those at hand.
    pub(super) fn expect_again(&mut self, skip: u64) {
        self.skip = skip;
    }

    /// Removes the repeated bytes from the data, and returns the rest with their number. Returns `None` if they differ
    /// from the kept ones.
    pub(super) fn strip(&mut self, mut data: Bytes) -> Option<(Bytes, u64)> {
        if self.skip == 0 {
            return Some((data, 0));
        }
        let dropped = usize::try_from(self.skip).map_or(data.len(), |skip| skip.min(data.len()));
        let dropped = data.split_to(dropped);
        let at_hand = length(&self.tail);
        let unknown = self.skip.saturating_sub(at_hand);
        let unknown = usize::try_from(unknown).map_or(dropped.len(), |u| u.min(dropped.len()));
        let (_, known) = dropped.split_at(unknown);
        let from = at_hand.saturating_sub(self.skip);
        let expected = usize::try_from(from).ok().and_then(|from| {
            let rest = self.tail.get(from..)?;
            rest.get(..known.len())
        });
        let again = length(&dropped);
        self.skip = self.skip.saturating_sub(again);
        (expected == Some(known)).then_some((data, again))
    }

    /// Keeps the last bytes of the data that is handed out now.
    pub(super) fn keep(&mut self, data: &[u8]) {
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

    /// An overlap after `got` bytes, handed out in pieces of this size.
    fn after(got: usize, piece: usize) -> Overlap {
        let mut overlap = Overlap::default();
        bytes(0..got)
            .chunks(piece)
            .for_each(|data| overlap.keep(data));
        overlap
    }

    #[test]
    fn the_last_kibibyte_is_kept_however_it_came() {
        for got in [0, 1, 1023, 1024, 1025, 5000] {
            for piece in [1, 7, 1024, 4096] {
                let tail = after(got, piece).tail;
                assert_eq!(
                    tail,
                    bytes(got.saturating_sub(MAX_OVERLAP_BYTES)..got),
                    "{got} by {piece}"
                );
            }
        }
    }

    #[test]
    fn what_comes_again_is_dropped_however_it_comes() {
        for (got, from) in [
            (10, 0),
            (1024, 0),
            (3000, 3000 - MAX_OVERLAP_BYTES),
            (3000, 0),
            (3000, 17),
        ] {
            for piece in [1, 100, 1024, 5000] {
                let mut overlap = after(got, 512);
                overlap.expect_again((got - from) as u64);
                let (mut rest, mut twice) = (Vec::new(), 0);
                for data in bytes(from..4000).chunks(piece) {
                    let (data, again) = overlap.strip(Bytes::copy_from_slice(data)).unwrap();
                    rest.extend_from_slice(&data);
                    twice += again;
                }
                assert_eq!(
                    (rest, twice),
                    (bytes(got..4000).to_vec(), (got - from) as u64)
                );
            }
        }
    }

    #[test]
    fn each_byte_of_the_last_kibibyte_is_compared() {
        for wrong in [0, 1, 500, MAX_OVERLAP_BYTES - 1] {
            for piece in [1, 300, 2048] {
                let mut overlap = after(3000, 512);
                overlap.expect_again(2000);
                let mut again = bytes(1000..3000).to_vec();
                again[2000 - MAX_OVERLAP_BYTES + wrong] ^= 1;
                let mut pieces = again.chunks(piece);
                let differs = |data| overlap.strip(Bytes::copy_from_slice(data)).is_none();
                assert!(pieces.any(differs), "{wrong} by {piece}");
            }
        }
    }
}
