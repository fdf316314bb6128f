//! Sets of words and their values.

use super::problems::{hint, nearest};
use super::value::Value;

/// A set of words.
pub(super) trait Words: Clone + 'static {
    const WORDS: &'static [(&'static str, Self)];
    /// Words that are not values themselves, and the form to write instead.
    const FORMS: &'static [(&'static str, &'static str)] = &[];
    /// Synonyms from elsewhere, and the word to write instead.
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

/// Defines the words of a type: `words! { Type: "word" => value, ..; "other word" => "form to write", .. }`.
macro_rules! words {
    ($type:ty: $($word:literal => $value:expr),+ $(; $($other:literal => $form:literal),+)?) => {
        impl crate::words::Words for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
            $(const FORMS: &'static [(&'static str, &'static str)] = &[$(($other, $form)),+];)?
        }
    };
}

pub(super) use words;

/// Parses a word. An error names the nearest one, or the form to write instead.
pub(super) fn word<T: Words>(value: &Value) -> Result<T, String> {
    let known: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
    let forms = T::FORMS.iter().map(|(_, form)| *form);
    let all: Vec<&str> = known.iter().copied().chain(forms).collect();
    let text = match value {
        Value::Text(text) => text.as_str(),
        // YAML 1.1 reads on and off as truth values.
        Value::Bool(true) if known.contains(&"on") => "on",
        Value::Bool(false) if known.contains(&"off") => "off",
        _ => return Err(format!("{value} is not one of {}", all.join(", "))),
    };
    if let Some((_, value)) = T::WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(value.clone());
    }
    let among = |pairs: &[(&str, &'static str)]| {
        let pair = pairs.iter().find(|(word, _)| *word == text);
        pair.map(|(_, write)| *write)
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
    let entry = T::WORDS.iter().find(|(_, known)| known == value);
    entry.map_or("", |(word, _)| word)
}
