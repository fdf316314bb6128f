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

/// The word for a value.
pub(super) fn word_for<T: Words + PartialEq>(value: &T) -> &'static str {
    let found = T::WORDS.iter().find(|(_, of)| of == value);
    found.map_or("", |(word, _)| word)
}

/// A word of the set, as the JSON Schema has it.
pub(super) fn words_of<T: Words>() -> Json {
    let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
    json!({"type": "string", "enum": words})
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
