//! The headers of a request in one allocation, which are turned into a header map only when a retry is sent.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The maximum number of headers that are packed. A map with more is cloned instead: building one anew could fail if
/// many names share a hash.
const MAX_PACKED_HEADERS: usize = 4_096;
/// Each header is preceded by a number: a bit that is set if its value is sensitive, and the lengths of name and value.
const NUMBER_BYTES: usize = size_of::<u32>();
const SENSITIVE: u32 = 1 << 31;
const NAME_SHIFT: u32 = 21;
const MAX_NAME_BYTES: u32 = (SENSITIVE >> NAME_SHIFT) - 1;
const MAX_VALUE_BYTES: u32 = (1 << NAME_SHIFT) - 1;
/// The size of a buffer that is large enough for most requests. Their headers are measured while they are packed.
const INLINE_BYTES: usize = 512;

/// All headers of a request, in their order.
#[derive(Clone)]
pub(crate) enum SavedHeaders {
    /// For each header its number, its name and its value.
    Packed(Box<[u8]>),
    Whole(Box<HeaderMap>),
}

impl SavedHeaders {
    #[inline]
    pub(super) fn new(headers: &HeaderMap) -> Self {
        if headers.is_empty() {
            // The buffer that others are packed in takes time to clear.
            return Self::Packed(Box::default());
        }
        Self::of_some(headers)
    }

    fn of_some(headers: &HeaderMap) -> Self {
        pack(headers).map_or_else(|| Self::Whole(Box::new(headers.clone())), Self::Packed)
    }

    /// Returns the same headers as a map, in the same order and with the same bytes, sensitive values included.
    pub(super) fn into_map(self) -> HeaderMap {
        let packed = match self {
            Self::Packed(packed) => Bytes::from(packed),
            Self::Whole(map) => return *map,
        };
        let mut map = HeaderMap::with_capacity(lines(&packed).count());
        for line in lines(&packed) {
            let name = HeaderName::from_bytes(line.name);
            // The values share the one allocation.
            let value = HeaderValue::from_maybe_shared(packed.slice_ref(line.value));
            // Both come from a map, which holds only what these accept.
            if let (Ok(name), Ok(mut value)) = (name, value) {
                value.set_sensitive(line.is_sensitive);
                add_header(&mut map, name, value);
            }
        }
        map
    }

    /// Returns the first value of a header, by its name in lower case.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        match self {
            Self::Packed(packed) => lines(packed)
                .find(|line| line.name == name.as_bytes())
                .map(|line| line.value),
            Self::Whole(map) => map.get(name).map(HeaderValue::as_bytes),
        }
    }
}

/// Adds a value of a header, if there is room for it.
#[inline(never)]
pub(crate) fn add_header(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    let _ = headers.try_append(name, value);
}

/// Packs the headers into one buffer. Returns `None` if there are too many, or if one is too long.
#[inline]
fn pack(headers: &HeaderMap) -> Option<Box<[u8]>> {
    // Measuring the headers first would cost as much as packing them, so most are packed on the stack and copied once.
    let mut buffer = [0; INLINE_BYTES];
    match pack_into(&mut buffer, headers) {
        Some(left) => buffer.get(..INLINE_BYTES.checked_sub(left)?).map(Box::from),
        None => pack_many(headers),
    }
}

#[cold]
fn pack_many(headers: &HeaderMap) -> Option<Box<[u8]>> {
    if headers.len() > MAX_PACKED_HEADERS {
        return None;
    }
    let bytes = headers.iter().fold(0_usize, |bytes, (name, value)| {
        bytes
            .saturating_add(NUMBER_BYTES)
            .saturating_add(name.as_str().len())
            .saturating_add(value.len())
    });
    let mut packed = vec![0; bytes].into_boxed_slice();
    pack_into(&mut packed, headers).map(|_| packed)
}

/// Fills a buffer from its start. Returns the number of bytes left, or `None` if there is no room.
#[inline(always)]
fn pack_into(buffer: &mut [u8], headers: &HeaderMap) -> Option<usize> {
    let mut free = buffer;
    for (name, value) in headers {
        let name = name.as_str().as_bytes();
        let number = number(name, value)?;
        let (slot, rest) = free.split_first_chunk_mut::<NUMBER_BYTES>()?;
        *slot = number.to_le_bytes();
        let (slot, rest) = rest.split_at_mut_checked(name.len())?;
        slot.copy_from_slice(name);
        let (slot, rest) = rest.split_at_mut_checked(value.len())?;
        slot.copy_from_slice(value.as_bytes());
        free = rest;
    }
    Some(free.len())
}

#[inline(always)]
fn number(name: &[u8], value: &HeaderValue) -> Option<u32> {
    let name = u32::try_from(name.len()).ok()?;
    let length = u32::try_from(value.len()).ok()?;
    if name > MAX_NAME_BYTES || length > MAX_VALUE_BYTES {
        return None;
    }
    let sensitive = if value.is_sensitive() { SENSITIVE } else { 0 };
    Some(sensitive | name << NAME_SHIFT | length)
}

struct Line<'a> {
    name: &'a [u8],
    value: &'a [u8],
    is_sensitive: bool,
}

fn lines(mut packed: &[u8]) -> impl Iterator<Item = Line<'_>> {
    std::iter::from_fn(move || {
        let (number, rest) = packed.split_first_chunk::<NUMBER_BYTES>()?;
        let number = u32::from_le_bytes(*number);
        let name = (number & !SENSITIVE) >> NAME_SHIFT;
        let value = number & MAX_VALUE_BYTES;
        let (name, rest) = rest.split_at_checked(usize::try_from(name).ok()?)?;
        let (value, rest) = rest.split_at_checked(usize::try_from(value).ok()?)?;
        packed = rest;
        Some(Line {
            name,
            value,
            is_sensitive: number & SENSITIVE != 0,
        })
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Random numbers from a seed.
    pub(in crate::client) struct Random(u64);

    impl Random {
        pub(in crate::client) fn new(seed: u64) -> Self {
            Self(seed)
        }

        pub(in crate::client) fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % end
        }

        pub(in crate::client) fn bytes(&mut self, alphabet: &[u8], most: usize) -> Vec<u8> {
            let length = self.below(most);
            (0..length)
                .map(|_| alphabet[self.below(alphabet.len())])
                .collect()
        }

        fn name(&mut self) -> HeaderName {
            let known = ["accept", "host", "cookie", "authorization", "x-a"];
            if self.below(3) == 0 {
                return HeaderName::from_static(known[self.below(known.len())]);
            }
            let rest = self.bytes(b"abcxyz0189!#$%&'*+-.^_`|~", 40);
            HeaderName::from_bytes(&[b"x".as_slice(), &rest].concat()).unwrap()
        }

        fn value(&mut self) -> HeaderValue {
            let bytes = self.bytes(b"\t az09~\x80\xfe\xff", 60);
            let mut value = HeaderValue::from_bytes(&bytes).unwrap();
            value.set_sensitive(self.below(4) == 0);
            value
        }

        /// Builds a map as a program does: it adds, replaces and removes headers.
        pub(in crate::client) fn map(&mut self) -> HeaderMap {
            let mut map = HeaderMap::new();
            for _ in 0..self.below(30) {
                let (name, value) = (self.name(), self.value());
                match self.below(6) {
                    0 => drop(map.insert(name, value)),
                    1 => drop(map.remove(name)),
                    _ => drop(map.append(name, value)),
                }
            }
            map
        }
    }

    /// Returns the names and values of a map in order, and `true` for each that is sensitive.
    pub(in crate::client) fn entries(map: &HeaderMap) -> Vec<(&str, &[u8], bool)> {
        map.iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes(), value.is_sensitive()))
            .collect()
    }

    #[test]
    fn restored_headers_equal_a_clone_of_the_map() {
        for seed in 0..10_000 {
            let mut random = Random::new(seed);
            let map = random.map();
            let saved = SavedHeaders::new(&map);
            assert!(matches!(saved, SavedHeaders::Packed(_)));
            let (restored, clone) = (saved.clone().into_map(), map.clone());
            assert_eq!(entries(&restored), entries(&clone), "{seed}");
            assert_eq!(restored.keys_len(), clone.keys_len());
            let name = random.name();
            let first = map.get(&name).map(HeaderValue::as_bytes);
            assert_eq!(saved.value(name.as_str()), first, "{seed}");
        }
    }

    #[test]
    fn more_headers_than_the_limit_are_restored_too() {
        for most in [MAX_PACKED_HEADERS, MAX_PACKED_HEADERS + 1] {
            let mut map = HeaderMap::new();
            for n in 0..most {
                map.append(HeaderName::try_from(format!("x-{n}")).unwrap(), n.into());
            }
            let saved = SavedHeaders::new(&map);
            assert_eq!(
                matches!(saved, SavedHeaders::Packed(_)),
                most == MAX_PACKED_HEADERS
            );
            assert_eq!(entries(&saved.clone().into_map()), entries(&map));
            assert_eq!(saved.value("x-7"), Some(&b"7"[..]));
        }
    }

    #[test]
    fn headers_of_any_length_are_restored_too() {
        let (name, value) = (MAX_NAME_BYTES as usize, MAX_VALUE_BYTES as usize);
        for (name, value, packed) in [
            (1, INLINE_BYTES - NUMBER_BYTES - 1, true),
            (1, INLINE_BYTES - NUMBER_BYTES, true),
            (name, value, true),
            (name + 1, 1, false),
            (1, value + 1, false),
        ] {
            let (name, value) = ("x".repeat(name), "7".repeat(value));
            let mut map = HeaderMap::new();
            let mut sent = HeaderValue::from_str(&value).unwrap();
            sent.set_sensitive(true);
            map.append(HeaderName::try_from(&name).unwrap(), sent);
            let saved = SavedHeaders::new(&map);
            assert_eq!(matches!(saved, SavedHeaders::Packed(_)), packed);
            assert_eq!(entries(&saved.clone().into_map()), entries(&map));
            assert_eq!(saved.value(&name), Some(value.as_bytes()));
        }
    }
}
