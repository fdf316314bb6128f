//! Sets of words, each with what it means.

use serde_json::{Value as Json, json};

/// A set of words, each with what it means.
pub(super) trait Words: Clone + 'static {
    const WORDS: &'static [(&'static str, Self)];
    /// What stands in the place of a word, and the word that people write for it.
    const FORMS: &'static [(&'static str, &'static str)] = &[];
    /// Words of others, and which one is meant.
    const MEANT: &'static [(&'static str, &'static str)] = &[];
}

/// The words that YAML 1.1 writes as truth values.
pub(super) const ON: &str = "on";
pub(super) const OFF: &str = "off";

/// The word for a value.
pub(super) fn word_for<T: Words + PartialEq>(value: &T) -> &'static str {
    let found = T::WORDS.iter().find(|(_, of)| of == value);
    found.map_or("", |(word, _)| word)
}

/// A word of the set, as the JSON Schema has it.
pub(super) fn words_of<T: Words>() -> Json {
    let words = T::WORDS.iter().map(|(word, _)| *word);
    let truths = [(ON, true), (OFF, false)].into_iter();
    let truths = truths.filter(|(truth, _)| T::WORDS.iter().any(|(word, _)| word == truth));
    let all = words.map(Json::from);
    let all: Vec<Json> = all.chain(truths.map(|(_, truth)| truth.into())).collect();
    if all.iter().all(Json::is_string) {
        json!({"type": "string", "enum": all})
    } else {
        json!({"enum": all})
    }
}

/// Gives a type its words: `words! { Type: "word" => value, ..; "what is no word" => "how it is written", .. }`.
macro_rules! words {
    ($type:ty: $($word:literal => $value:expr),+ $(; $($other:literal => $form:literal),+)?) => {
        impl crate::config::words::Words for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
            $(const FORMS: &'static [(&'static str, &'static str)] = &[$(($other, $form)),+];)?
        }
    };
}

pub(super) use words;
