//! What a header, a place of a JSON body or an element of an XML one must hold.

use super::block::Node;
use super::fields::{Fields, Type, object, table};
use super::headers::{map_of, name_of};
use super::matching::patterns;
use super::schema::{Defs, forms, list, one_or_more, text_like};
use super::types::{name, read_texts, texts, truth};
use super::value::Value;
use crate::policy::Pointer;
use crate::policy::rules::{HeadTest, JsonTest, Wanted, XmlTest, plain};
use crate::route::matching;
use http::HeaderName;
use serde_json::{Value as Json, json};
use std::sync::Arc;

table! {
    /// What a value must be; exactly one of is, name, starts, has and number.
    Compared("value_map", "A value") {
        /// One of these texts: in a header whatever the case, in a body written just so.
        is: Vec<String> = texts();
        /// One of these names, which may have a namespace that ends in # before it and an address that starts with :
        /// behind it, as AWS writes the names of its errors.
        name: Vec<String> = texts();
        /// It starts with one of these texts, in any case.
        starts: Vec<String> = texts();
        /// It has one of these texts in it, both in lower case and without _, -, . and blanks.
        has: Vec<String> = texts();
        /// It begins with this whole number, or one of a list: 0 stands for 0, 0.0 and 0;w=60.
        number: Vec<u64> = numbers();
        /// Whether it must be a number, not below 0: true.
        any_number: bool = truth();
        /// Of a header of several parts the one of this name: left of used=3, left=2.
        part: Arc<str> = name();
    }
}

fn numbers() -> Type<Vec<u64>> {
    Type {
        read: |node| {
            let read = |node: &Node<'_>| {
                let number = match node.value {
                    Value::Integer(number) => u64::try_from(*number).ok(),
                    _ => None,
                };
                if number.is_none() {
                    node.not("a whole number, not below 0");
                }
                number
            };
            Some(node.one_or_more().iter().filter_map(read).collect())
        },
        schema: |_| {
            let number = json!({"type": "integer", "minimum": 0});
            one_or_more("a number", number)
        },
    }
}

/// What a value must be, and of which part of it.
fn compared(node: &Node<'_>) -> Option<(Option<Arc<str>>, Wanted)> {
    match node.value {
        Value::Bool(true) => return Some((None, Wanted::There)),
        Value::Map(_) => {}
        _ => return read_texts(node).map(|texts| (None, Wanted::Is(texts))),
    }
    let mut block = node.block()?;
    let read = Compared::take(&mut block);
    let lower = |texts: Vec<String>| texts.iter().map(|text| text.to_lowercase()).collect();
    let bare = |texts: Vec<String>| texts.iter().map(|text| plain(text)).collect();
    let found = [
        read.is.map(Wanted::Is),
        read.name.map(Wanted::Name),
        read.starts.map(lower).map(Wanted::Starts),
        read.has.map(bare).map(Wanted::Has),
        read.number.map(Wanted::Number),
        read.any_number
            .filter(|any| *any)
            .map(|_| Wanted::AnyNumber),
    ];
    let mut found = found.into_iter().flatten();
    let wanted = match (found.next(), found.next(), &read.part) {
        (Some(wanted), None, _) => Some(wanted),
        (None, None, Some(_)) => Some(Wanted::There),
        _ => None,
    };
    let one = "must hold exactly one of is, name, starts, has, number and any_number";
    block.end_or(wanted.is_none().then_some(one));
    Some((read.part, wanted?))
}

fn compared_schema(defs: &mut Defs) -> Json {
    forms([
        ("it is there", json!({"const": true})),
        ("it has this value", (texts().schema)(defs)),
        ("a map of one way to compare", object::<Compared>(defs)),
    ])
}

/// A name that must be there, a list of such names, or a map of names and what they must hold.
pub(super) fn header_tests() -> Type<Vec<HeadTest>> {
    Type {
        read: |node| Some(read_headers(node)),
        schema: |defs| {
            let name = super::headers::name_schema(defs);
            let values = compared_schema(defs);
            forms([
                ("the name of a header", name.clone()),
                ("a list of names", list(&name)),
                ("a map of names and values", map_of(&values)),
            ])
        },
    }
}

fn read_headers(node: &Node<'_>) -> Vec<HeadTest> {
    if let Value::Map(_) = node.value {
        return named(node, "header", |name, entry| {
            let name: HeaderName = name_of(name, node)?;
            let (part, wanted) = compared(entry)?;
            let part = part.map(|part| part.to_string());
            Some(HeadTest { name, part, wanted })
        });
    }
    let name = |node: &Node<'_>| {
        let name = name_of(node.text()?, node)?;
        Some(HeadTest::new(name, Wanted::There))
    };
    node.one_or_more().iter().filter_map(name).collect()
}

/// The entries of a map that must not be empty.
fn named<T>(node: &Node<'_>, what: &str, of: impl Fn(&str, &Node<'_>) -> Option<T>) -> Vec<T> {
    if matches!(node.value, Value::Map(map) if map.is_empty()) {
        node.wrong(format!(
            "is empty: give at least one {what}, or leave the key out"
        ));
    }
    let entries = node.entries();
    let read = entries.iter().map(|(name, entry)| of(name, entry));
    read.flatten().collect()
}

/// A pointer, where being there is enough, a list of such pointers, or a map of pointers and what stands there.
pub(super) fn json_tests() -> Type<Vec<JsonTest>> {
    Type {
        read: |node| Some(read_json(node)),
        schema: |defs| {
            let values = compared_schema(defs);
            let map = json!({"type": "object", "minProperties": 1, "additionalProperties": values});
            forms([
                ("a pointer", pointer_schema()),
                ("a list of pointers", list(&pointer_schema())),
                ("a map of pointers and values", map),
            ])
        },
    }
}

fn pointer_schema() -> Json {
    json!({"type": "string", "pattern": "^(?:/.*)?$"})
}

fn read_json(node: &Node<'_>) -> Vec<JsonTest> {
    if let Value::Map(_) = node.value {
        return named(node, "pointer", |text, entry| {
            let pointer = pointer_of(text, node)?;
            let (part, wanted) = compared(entry)?;
            if part.is_some() {
                entry.wrong("part is for headers");
            }
            Some(JsonTest { pointer, wanted })
        });
    }
    let there = |node: &Node<'_>| {
        Some(JsonTest {
            pointer: pointer_of(node.text()?, node)?,
            wanted: Wanted::There,
        })
    };
    node.one_or_more().iter().filter_map(there).collect()
}

fn pointer_of(text: &str, node: &Node<'_>) -> Option<Pointer> {
    let read = Pointer::parse(text);
    if let Err(error) = &read {
        let cause = format!("holds no pointer: {}", error.allowed());
        node.wrong_unseen(cause);
    }
    read.ok()
}

/// A place of a JSON body.
pub(super) fn pointer() -> Type<Pointer> {
    Type {
        read: |node| pointer_of(node.text()?, node),
        schema: |_| pointer_schema(),
    }
}

/// Elements and what they hold.
pub(super) fn xml_tests() -> Type<Vec<XmlTest>> {
    Type {
        read: |node| {
            Some(named(node, "element", |tag, entry| {
                let texts = read_texts(entry)?;
                let tag = tag.to_owned();
                Some(XmlTest { tag, texts })
            }))
        },
        schema: |defs| {
            let values = (texts().schema)(defs);
            json!({"type": "object", "minProperties": 1, "additionalProperties": values})
        },
    }
}

/// Patterns of paths.
pub(super) fn paths() -> Type<Vec<String>> {
    Type {
        read: |node| Some(patterns(node, matching::path, matching::PATH)),
        schema: |_| one_or_more("a path", text_like("^[/*][^?#]*$")),
    }
}
