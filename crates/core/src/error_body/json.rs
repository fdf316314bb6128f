//! The JSON of a body: its tokens, and the values at pointers into it.

mod find;
mod keys;
mod unambiguous;
pub(super) mod visitor;

pub(super) use unambiguous::is_unambiguous;

use super::{ErrorBody, Pointer};
use find::{Hits, MAX_POINTERS, find};
use visitor::ValueVisitor;

/// The pointers that classifiers named in advance, and the values at them.
#[derive(Clone, Default)]
pub(super) struct Findings(Vec<Pointer>, Hits);

impl Findings {
    /// Looks up these pointers in one walk. Those beyond [`MAX_POINTERS`] are looked up on demand.
    pub(super) fn find(&mut self, json: &str, pointers: &[Pointer]) {
        let pointers = pointers.get(..MAX_POINTERS).unwrap_or(pointers);
        if !pointers.is_empty() {
            *self = Self(pointers.to_vec(), find(json, pointers));
        }
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
pub(super) fn parsed(text: &str) -> (ErrorBody, bool) {
    let mut body = ErrorBody::default();
    let result = ValueVisitor::whole(&mut body).read(text);
    (body, result.is_err_and(|error| error.is_eof()))
}

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
