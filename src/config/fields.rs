//! The table of each block of a document: a key's name, type, bounds, default and meaning stand once, in [`table!`].
//!
//! The reader, the names of "did you mean", the merge of layers, `explain`, the JSON Schema and the check of the
//! reference page all come from it.
//!
//! # To add a key
//!
//! 1. Add a row to the block's table (`grep -rnE "^(table|place_keys|meaning_keys)!" -A4 src/config` lists them):
//!    `document.rs` (the document), `document/service.rs` (service, route), `document/place.rs` (what these three have in
//!    common), `gating.rs` (gate), `budget.rs`, `retry.rs` (RETRY) and `retry/` (the maps in it), `rule.rs` (rule, wait),
//!    `headers.rs` (set), `when.rs`, `matching.rs`.
//!
//!    ```text
//!    /// What it means, as the JSON Schema describes it.
//!    first_step: Given<u32> = told(count::<0, 1>()), default(&0);
//!    ^ the key   ^ what it is read as  ^ its type    ^ options, see `Row`
//!    ```
//!
//!    A key that is no Rust name is written `matching as "match"`. A field of RETRY, which other layers lie below, is
//!    `Given<T>` and [`told`]; a field of another block is the plain `T`. The types are in `types.rs` and `headers.rs`.
//! 2. Use `block.first_step`, an `Option`, where it takes effect; for RETRY that is `resolve.rs`.
//! 3. `UPDATE_SCHEMA=1 cargo test --all-features --lib -- schema docs` writes `src/docs/config.schema.json` and says which
//!    rows `src/docs/config.md` and the list of keys in `src/docs/guide.md` lack.
//! 4. Add the key to `tests/it/worked_documents/schema/generated.rs`, so that the schema is held against the loader, and a
//!    refused value to `tests/it/config/refused/`.
//!
//! A set of words is `words! { Type: "word" => value, .. }`, and its type `word::<Type>()`. A key that takes a word or a map
//! is a block with a row for the word, as in `retry/delays.rs`.

use super::block::{Block, Node};
use super::given::Given;
use super::row::Row;
use super::schema::{Defs, forms, property, with};
use super::words::{Words, words_of};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::sync::Arc;

/// A type of a value: how it is read, and its JSON Schema.
pub(super) struct Type<T> {
    pub(super) read: fn(&Node<'_>) -> Option<T>,
    pub(super) schema: fn(&mut Defs) -> Json,
}

/// What a key's value is read as.
pub(super) trait Reads {
    type Value;
    fn read(&self, node: &Node<'_>) -> Option<Self::Value>;
    fn schema(&self, defs: &mut Defs) -> Json;
}

impl<T> Reads for Type<T> {
    type Value = T;

    fn read(&self, node: &Node<'_>) -> Option<T> {
        (self.read)(node)
    }

    fn schema(&self, defs: &mut Defs) -> Json {
        (self.schema)(defs)
    }
}

/// A value that is read with its text and its place, for `explain`.
pub(super) struct Told<T>(Type<T>, Option<fn(&T) -> String>);

/// A value that `explain` shows as it is written.
pub(super) const fn told<T>(of: Type<T>) -> Told<T> {
    Told(of, None)
}

/// A value that `explain` shows in these words.
pub(super) const fn told_as<T>(of: Type<T>, words: fn(&T) -> String) -> Told<T> {
    Told(of, Some(words))
}

impl<T> Reads for Told<T> {
    type Value = Given<T>;

    fn read(&self, node: &Node<'_>) -> Option<Given<T>> {
        let given = Given::at(node, (self.0.read)(node)?);
        Some(match self.1 {
            Some(words) => {
                let text = words(&given.value);
                given.in_words(text)
            }
            None => given,
        })
    }

    fn schema(&self, defs: &mut Defs) -> Json {
        (self.0.schema)(defs)
    }
}

/// A block of the document with a table of its keys.
pub(super) trait Fields: Sized {
    /// Its name in the JSON Schema.
    const DEF: &'static str;
    const TITLE: &'static str;
    const ABOUT: &'static str;

    /// Takes every key of the table out of a map.
    fn take(block: &mut Block<'_>) -> Self;

    fn rows(defs: &mut Defs) -> Vec<(Row, Json)>;

    /// What the keys must be together, as a part of the JSON Schema.
    fn together() -> Json;
}

/// A block that is right whenever its keys are.
pub(super) fn block<B: Fields>() -> Type<B> {
    Type {
        read: |node| checked(node, |_: &B, _| None),
        schema: object::<B>,
    }
}

/// Reads a block, and says what is wrong with it as a whole, unless something in it is.
pub(super) fn checked<B: Fields>(
    node: &Node<'_>,
    wrong: impl FnOnce(&B, &Block<'_>) -> Option<&'static str>,
) -> Option<B> {
    let mut block = node.block()?;
    let read = B::take(&mut block);
    let wrong = wrong(&read, &block);
    block.end_or(wrong);
    Some(read)
}

impl Block<'_> {
    /// The value of a row of the block's table.
    pub(super) fn read<R: Reads>(&mut self, row: Row, reads: &R) -> Option<R::Value> {
        if row.is_unsaid {
            return None;
        }
        let node = self.take(row.key);
        if let (None, Some(write)) = (&node, row.missing) {
            let cause = format!("is missing: write {write}");
            self.wrong_at(row.key, &"", cause);
        }
        reads.read(&node?)
    }
}

/// A block of the document.
pub(super) fn object<B: Fields>(defs: &mut Defs) -> Json {
    defs.named(B::DEF, [B::TITLE, B::ABOUT.trim()], |defs| {
        let mut rows = B::rows(defs);
        rows.retain(|(row, _)| !row.is_unsaid);
        let required = rows.iter().filter(|(row, _)| row.is_required);
        let required: Vec<&str> = required.map(|(row, _)| row.key).collect();
        let properties = rows
            .into_iter()
            .map(|(row, of)| (row.key.to_owned(), property(row, of)));
        let properties: Map<String, Json> = properties.collect();
        let object =
            json!({"type": "object", "additionalProperties": false, "properties": properties});
        let needs = match required.is_empty() {
            true => json!({}),
            false => json!({"required": required}),
        };
        with(with(object, needs), B::together())
    })
}

/// A word, or a block in its place.
pub(super) fn word_or_map<W: Words, B: Fields>(map: &str, defs: &mut Defs) -> Json {
    forms([("a word", words_of::<W>()), (map, object::<B>(defs))])
}

/// What may lie upon another one: a field, or a block of fields.
pub(super) trait Layer: Clone {
    /// Fills what is not given here from below.
    fn lay_on(&mut self, below: &Self);

    /// Tells each given field under its name.
    fn tell(&self, name: Cow<'static, str>, told: &mut Vec<crate::policy::Origin>);
}

impl<T: Clone> Layer for Given<T> {
    fn lay_on(&mut self, _: &Self) {}

    fn tell(&self, field: Cow<'static, str>, told: &mut Vec<crate::policy::Origin>) {
        told.push(crate::policy::Origin {
            field,
            value: Arc::clone(&self.text),
            from: self.from.clone(),
        });
    }
}

pub(super) fn lay<L: Layer>(above: &mut Option<L>, below: Option<&L>) {
    match (above, below) {
        (Some(above), Some(below)) => above.lay_on(below),
        (above, Some(below)) => *above = Some(below.clone()),
        (_, None) => {}
    }
}

/// The name of a field inside of a block; the block's own word has no name of its own.
pub(super) fn inside(block: &str, key: &'static str) -> Cow<'static, str> {
    match (block, key) {
        ("", key) => key.into(),
        (block, "") => block.to_owned().into(),
        (block, key) => format!("{block}.{key}").into(),
    }
}

/// The table of a block: `Name("its name in the schema", "its title")`, then a row for each key. After the title may
/// stand what the keys must be together. `layered` before it makes it a [`Layer`].
macro_rules! table {
    (layered $($table:tt)+) => {
        table! { $($table)+ }
        table! { @layer $($table)+ }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@layer $(#[doc = $about:literal])+ $(#[derive($($derive:ident),+)])? $name:ident($($head:tt)*) {
        $($(#[doc = $doc:literal])+ $field:ident $(as $key:literal)?: $value:ty = $type:expr $(, $option:ident($($arg:expr)?))*;)+
    }) => {
        impl crate::config::fields::Layer for $name {
            fn lay_on(&mut self, below: &Self) {
                $(crate::config::fields::lay(&mut self.$field, below.$field.as_ref());)+
            }

            fn tell(&self, name: std::borrow::Cow<'static, str>, told: &mut Vec<crate::policy::Origin>) {
                $(if let Some(field) = &self.$field {
                    field.tell(crate::config::fields::inside(&name, table!(@key $field $($key)?)), told);
                })+
            }
        }
    };
    ($(#[doc = $about:literal])+ $(#[derive($($derive:ident),+)])? $name:ident($def:literal, $title:literal $(, $together:expr)?) {
        $($(#[doc = $doc:literal])+ $field:ident $(as $key:literal)?: $value:ty = $type:expr $(, $option:ident($($arg:expr)?))*;)+
    }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Default $($(, $derive)+)?)]
        pub(in crate::config) struct $name {
            $($(#[doc = $doc])+ pub(in crate::config) $field: Option<$value>,)+
        }

        impl crate::config::fields::Fields for $name {
            const DEF: &'static str = $def;
            const TITLE: &'static str = $title;
            const ABOUT: &'static str = concat!($($about),+);

            fn take(block: &mut crate::config::block::Block<'_>) -> Self {
                use crate::config::row::Row;
                Self {
                    $($field: block.read(Row::new(table!(@key $field $($key)?), "")$(.$option($($arg)?))*, &$type),)+
                }
            }

            fn rows(defs: &mut crate::config::schema::Defs) -> Vec<(crate::config::row::Row, serde_json::Value)> {
                use crate::config::fields::Reads;
                use crate::config::row::Row;
                vec![$({
                    let row = Row::new(table!(@key $field $($key)?), concat!($($doc),+));
                    (row$(.$option($($arg)?))*, $type.schema(defs))
                }),+]
            }

            fn together() -> serde_json::Value {
                let together = serde_json::Value::Null;
                $(let together = { let _ = together; $together };)?
                together
            }
        }
    };
}

pub(super) use table;
