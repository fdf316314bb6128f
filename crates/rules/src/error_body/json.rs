//! The JSON of a body: its tokens, and the values at pointers into it, found in one walk.

mod unambiguous;
pub(super) mod visitor;

pub(super) use unambiguous::is_unambiguous;

use super::{Content, json_in, work};
use http_retry_core::policy::{ErrorBody, Pointer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use visitor::{MAX_NESTING, ValueVisitor};

/// The pointers that classifiers named in advance, and the values at them.
pub(super) struct Findings(Vec<Pointer>, Hits);

impl Findings {
    /// Looks up the pointers in one walk. Those beyond [`MAX_POINTERS`] are looked up on demand.
    pub(super) fn of(body: &ErrorBody) -> Self {
        let pointers = body.pointers();
        let pointers = pointers.get(..MAX_POINTERS).unwrap_or(pointers);
        let hits = if pointers.is_empty() {
            Hits::default()
        } else {
            find(json_in(body.text()), pointers)
        };
        Self(pointers.to_vec(), hits)
    }

    /// Returns the values at a pointer, with `None` for a list, an object and a text that is too long.
    pub(super) fn at(&self, json: &str, pointer: &Pointer) -> Vec<Option<String>> {
        match self.index_of(pointer) {
            Some(index) => {
                let hits = self.1.all.iter().filter(|hit| hit.pointer == index);
                hits.map(|hit| hit.scalar.clone()).collect()
            }
            // Not named in advance, or beyond `MAX_POINTERS`: each costs a walk of its own.
            None => {
                let hits = find(json, std::slice::from_ref(pointer));
                hits.all.into_iter().map(|hit| hit.scalar).collect()
            }
        }
    }

    /// Returns `true` if the values at a pointer depend on how JSON in a string is read.
    pub(super) fn is_doubtful(&self, json: &str, pointer: &Pointer) -> bool {
        match self.index_of(pointer) {
            Some(index) => self.1.is_doubtful(index),
            None => find(json, std::slice::from_ref(pointer)).is_doubtful(0),
        }
    }

    fn index_of(&self, pointer: &Pointer) -> Option<usize> {
        self.0.iter().position(|known| known == pointer)
    }
}

/// Reads the tokens of a text. The second value is `true` if the text ended too early.
pub(super) fn parsed(text: &str) -> (Content, bool) {
    let mut content = Content::default();
    let result = ValueVisitor::whole(&mut content).read(text);
    (content, result.is_err_and(|error| error.is_eof()))
}

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

const MAX_HITS: usize = 256;
const MAX_SCALAR_BYTES: usize = 128;
/// The most pointers of one walk: one bit for each.
const MAX_POINTERS: usize = 64;

/// A value at one of the pointers.
#[derive(Clone)]
struct Hit {
    /// The index of the pointer.
    pointer: usize,
    /// `None` for a list, an object, or a text that is too long.
    scalar: Option<String>,
}

/// The values found by one walk.
#[derive(Clone, Default)]
struct Hits {
    all: Vec<Hit>,
    /// One bit for each pointer into JSON in a string that is cut off or ambiguous.
    doubtful: u64,
}

impl Hits {
    /// Returns `true` if the values at a pointer depend on how JSON in a string is read.
    fn is_doubtful(&self, pointer: usize) -> bool {
        self.doubtful & bit(pointer) != 0
    }
}

/// Returns the values at these pointers, in the order of the text, up to the first error in the JSON.
fn find(text: &str, pointers: &[Pointer]) -> Hits {
    let mut hits = Hits::default();
    let pointers = pointers.get(..MAX_POINTERS).unwrap_or(pointers);
    let active = (0..pointers.len()).fold(0, |bits, at| bits | bit(at));
    let walk = Walk {
        pointers,
        hits: &mut hits,
        active,
        depth: 0,
        nesting: 0,
    };
    // The hits before an error are kept.
    let _ = walk.read(text);
    hits
}

/// A walk at a value that some pointers reach or pass through.
struct Walk<'a> {
    pointers: &'a [Pointer],
    hits: &'a mut Hits,
    /// One bit for each pointer that matches the path to this value.
    active: u64,
    depth: usize,
    nesting: u8,
}

fn bit(at: usize) -> u64 {
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    1_u64.checked_shl(at).unwrap_or_default()
}

impl Walk<'_> {
    fn read(self, text: &str) -> serde_json::Result<()> {
        work::add(text.len());
        let mut reader = serde_json::Deserializer::from_str(text);
        self.deserialize(&mut reader)
    }

    fn active(&self) -> impl Iterator<Item = (usize, &Pointer)> {
        let all = self.pointers.iter().enumerate();
        all.filter(|(at, _)| self.active & bit(*at) != 0)
    }

    /// Records a value for the pointers that end here.
    fn record(&mut self, scalar: Option<&str>) {
        // Collected, since `active` borrows `self`.
        let ending: Vec<usize> = self
            .active()
            .filter(|(_, pointer)| pointer.tokens().len() == self.depth)
            .map(|(at, _)| at)
            .collect();
        let scalar = scalar.filter(|text| text.len() <= MAX_SCALAR_BYTES);
        for pointer in ending {
            if self.hits.all.len() < MAX_HITS {
                self.hits.all.push(Hit {
                    pointer,
                    scalar: scalar.map(str::to_owned),
                });
            }
        }
    }

    /// Returns the pointers that continue into this member or item.
    fn leading_into(&self, key: &str) -> u64 {
        work::add(self.pointers.len());
        let leading = self
            .active()
            .filter(|(_, pointer)| leads_into(pointer, self.depth, key));
        leading.fold(0, |bits, (at, _)| bits | bit(at))
    }

    fn below(&mut self, active: u64) -> Walk<'_> {
        Walk {
            pointers: self.pointers,
            hits: self.hits,
            active,
            depth: self.depth.saturating_add(1),
            nesting: self.nesting,
        }
    }
}

/// Returns `true` if the token at this depth matches this member or item.
fn leads_into(pointer: &Pointer, depth: usize, key: &str) -> bool {
    let token = pointer.tokens().get(depth);
    token.is_some_and(|token| &**token == "*" || &**token == key)
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.record(Some(if value { "true" } else { "false" }));
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.record(Some(&number.to_string()));
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.record(Some(&number.to_string()));
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.record(Some(&number.to_string()));
        Ok(())
    }

    /// Reads a string, which in some services holds JSON.
    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.record(Some(text));
        let inner = text.trim_start();
        // Only a pointer that leads further needs the JSON inside. Each level reads its text again, so they are
        // bounded.
        let leading = self
            .active()
            .filter(|(_, to)| to.tokens().len() > self.depth);
        let leading = leading.fold(0, |bits, (at, _)| bits | bit(at));
        if leading != 0 && self.nesting < MAX_NESTING && inner.starts_with(['{', '[']) {
            let nesting = self.nesting.saturating_add(1);
            if !is_unambiguous(inner) {
                self.hits.doubtful |= leading;
            }
            // The hits before an error are kept.
            let _ = Walk { nesting, ..self }.read(inner);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.record(None);
        let mut at = 0_usize;
        loop {
            let active = self.leading_into(&at.to_string());
            let more = match active {
                // Skips without an allocation.
                0 => seq.next_element::<IgnoredAny>()?.is_some(),
                active => seq.next_element_seed(self.below(active))?.is_some(),
            };
            if !more {
                return Ok(());
            }
            at = at.saturating_add(1);
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.record(None);
        while let Some(key) = map.next_key::<String>()? {
            match self.leading_into(&key) {
                0 => {
                    map.next_value::<IgnoredAny>()?;
                }
                active => map.next_value_seed(self.below(active))?,
            }
        }
        Ok(())
    }
}
