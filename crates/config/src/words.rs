//! Sets of words, each with what it means.

use super::problems::{hint, nearest};
use super::value::Value;

/// A set of words.
pub(super) trait Words: Clone + 'static {
    const WORDS: &'static [(&'static str, Self)];
    /// Other forms of a value, and the word for each.
    const FORMS: &'static [(&'static str, &'static str)] = &[];
    /// Words of others, and which one is meant.
    const SYNONYMS: &'static [(&'static str, &'static str)] = &[];
}

/// One of a set of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Value", bound = "T: Words")]
pub(super) struct Word<T>(pub(super) T);

impl<T: Words> TryFrom<Value> for Word<T> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        word(&value).map(Self)
    }
}

/// Gives a type its words: `words! { Type: "word" => value, ..; "what is no word" => "how it is written", .. }`.
macro_rules! words {
    ($type:ty: $($word:literal => $value:expr),+ $(; $($other:literal => $form:literal),+)?) => {
        impl crate::words::Words for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
            $(const FORMS: &'static [(&'static str, &'static str)] = &[$(($other, $form)),+];)?
        }
    };
}

pub(super) use words;

/// Reads a word. An error says the nearest one, or what to write instead.
pub(super) fn word<T: Words>(value: &Value) -> Result<T, String> {
    let known: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
    let forms = T::FORMS.iter().map(|(_, form)| *form);
    let all: Vec<&str> = known.iter().copied().chain(forms).collect();
    let text = match value {
        Value::Text(text) => text.as_str(),
        // YAML 1.1 writes on and off as truth values.
        Value::Bool(true) if known.contains(&"on") => "on",
        Value::Bool(false) if known.contains(&"off") => "off",
        _ => return Err(format!("{value} is not one of {}", all.join(", "))),
    };
    if let Some((_, meant)) = T::WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(meant.clone());
    }
    let among = |pairs: &[(&str, &'static str)]| {
        let found = pairs.iter().find(|(word, _)| *word == text);
        found.map(|(_, write)| *write)
    };
    Err(if let Some(word) = among(T::SYNONYMS) {
        format!("{value} is not known: write {word}")
    } else if let Some(form) = among(T::FORMS) {
        format!("{value} does not stand alone: write {form}")
    } else if nearest(text, &known).is_some() {
        format!("{value} is not known: {}", hint(text, &known))
    } else {
        format!("{value} is not known: {}", hint(text, &all))
    })
}

/// Returns the word for a value.
pub(super) fn word_for<T: Words + PartialEq>(value: &T) -> &'static str {
    let found = T::WORDS.iter().find(|(_, of)| of == value);
    found.map_or("", |(word, _)| word)
}
