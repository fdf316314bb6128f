//! The parts of the JSON Schema of a document.

use super::row::Row;
use serde_json::{Map, Value as Json, json};

/// The parts of a schema that have a name.
#[derive(Default)]
pub(super) struct Defs(Map<String, Json>);

impl Defs {
    /// A reference to a part with a title and a description. It is made once, and may refer to itself.
    pub(super) fn named(
        &mut self,
        name: &str,
        [title, about]: [&str; 2],
        make: impl FnOnce(&mut Self) -> Json,
    ) -> Json {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Json::Null);
            let made = make(self);
            let made = with(made, json!({"title": title, "description": about}));
            self.0.insert(name.to_owned(), made);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    /// The whole schema, whose root is the part of this name.
    pub(super) fn rooted(mut self, name: &str) -> Json {
        let mut root = self.0.remove(name).unwrap_or_default();
        if let Some(Json::Object(keys)) = root.get_mut("properties") {
            let about = "Where an editor finds this schema; the loader does not look at it.";
            keys.insert("$schema".to_owned(), json!({"description": about}));
        }
        let draft = "https://json-schema.org/draft/2020-12/schema";
        with(root, json!({"$schema": draft, "$defs": self.0}))
    }
}

/// The schema of a key, by its row.
pub(super) fn property(row: Row, of: Json) -> Json {
    let schema = match row.is_required {
        true => of,
        false => or_nothing(of),
    };
    let schema = with(schema, json!({"description": row.about.trim()}));
    match row.default {
        None => schema,
        Some(default) => {
            let default: Option<Json> = serde_json::from_str(&format!("{default:?}")).ok();
            with(schema, json!({"default": default}))
        }
    }
}

/// A schema with more keys.
pub(super) fn with(mut schema: Json, mut more: Json) -> Json {
    if let (Json::Object(keys), Json::Object(more)) = (&mut schema, &mut more) {
        keys.append(more);
    }
    schema
}

/// The same, or no value, which counts as absent.
fn or_nothing(mut schema: Json) -> Json {
    let nothing = json!({"title": "left out", "type": "null"});
    if let Some(Json::Array(forms)) = schema.get_mut("anyOf") {
        forms.push(nothing);
        return schema;
    }
    if let Some(Json::Array(words)) = schema.get_mut("enum") {
        words.push(Json::Null);
    }
    if let Some(kind) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
        return schema;
    }
    let part = schema.get("$ref").and_then(Json::as_str);
    let Some((_, name)) = part.and_then(|part| part.rsplit_once('/')) else {
        return json!({});
    };
    let title = json!({"title": name.replace('_', " ")});
    json!({"anyOf": [with(schema, title), nothing]})
}

/// One of several forms, each with a title that a message can name.
pub(super) fn forms<const N: usize>(forms: [(&str, Json); N]) -> Json {
    let forms = forms.into_iter();
    let titled = forms.map(|(title, form)| with(form, json!({"title": title})));
    json!({"anyOf": titled.collect::<Vec<_>>()})
}

/// One value, or a list of them that is not empty.
pub(super) fn one_or_more(title: &str, one: Json) -> Json {
    let list = list(&one);
    forms([(title, one), (&format!("{title}: a list"), list)])
}

pub(super) fn list(items: &Json) -> Json {
    json!({"type": "array", "minItems": 1, "items": items})
}

pub(super) fn text_like(pattern: &str) -> Json {
    json!({"type": "string", "pattern": pattern})
}

/// The key is there, with a value.
fn given(key: &str) -> Json {
    json!({"title": key, "required": [key], "properties": {key: {"not": {"type": "null"}}}})
}

pub(super) fn any_given(keys: &[&str]) -> Json {
    let given: Vec<Json> = keys.iter().map(|key| given(key)).collect();
    json!({"title": keys.join(" or "), "anyOf": given})
}

pub(super) fn exactly_one(keys: &[&str]) -> Json {
    let given: Vec<Json> = keys.iter().map(|key| given(key)).collect();
    json!({"oneOf": given})
}

/// Not both keys.
pub(super) fn not_both(one: &str, other: &str) -> Json {
    let title = format!("{one} or {other}, not both");
    json!({"title": title, "not": {"allOf": [given(one), given(other)]}})
}

/// A key that has no effect without another one.
pub(super) fn only_with(key: &str, others: &[&str]) -> Json {
    let title = format!("{key} only with {}", others.join(" or "));
    json!({"title": title, "if": given(key), "then": any_given(others)})
}

/// A key that has no effect beside this one, unless that says one of these words.
pub(super) fn only_if(key: &str, other: &str, words: &[&str]) -> Json {
    let title = format!("{key} only where {other} is {}", words.join(" or "));
    let words: Vec<Json> = words
        .iter()
        .map(|word| json!(word))
        .chain([Json::Null])
        .collect();
    json!({"title": title, "if": given(key), "then": {"properties": {other: {"enum": words}}}})
}

#[cfg(test)]
mod tests;
