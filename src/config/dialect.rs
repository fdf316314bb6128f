//! DIALECT: what a service means by its answers, as a document says it.

use super::answer::pointer;
use super::block::Node;
use super::fields::{Type, block, checked, object, table, told, word_or_map};
use super::given::Given;
use super::headers::header_name;
use super::schema::{list, one_or_more};
use super::types::{name, name_schema, truth, word};
use super::value::Value;
use super::when::when;
use super::words::{Words, words};
use crate::dialect::{At, Row};
use crate::policy::{Class, Condition, Pointer, Reach, Reason, Scope, Unit};
use http::HeaderName;
use std::sync::Arc;

/// Which dialects speak at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Speaks {
    Nobody,
    /// The built-in dialects, each for its hosts.
    ByHost,
    /// These, the first that has a row for an answer.
    These(Vec<Arc<str>>),
}

/// `none`, `by_host`, the name of a dialect, or a list of names.
pub(super) fn speaks() -> Type<Speaks> {
    Type {
        read: |node| match node.value {
            Value::Text(text) if text == "none" => Some(Speaks::Nobody),
            Value::Text(text) if text == "by_host" => Some(Speaks::ByHost),
            _ => {
                let nodes = node.one_or_more();
                let names = nodes.iter().filter_map(|node| node.name().map(Arc::from));
                Some(Speaks::These(names.collect()))
            }
        },
        schema: |defs| {
            let about = "none, by_host (the built-in dialects, each for its hosts), the name of a dialect of this document or \
                of a built-in one, or a list, of which the first that has a row for an answer speaks.";
            defs.named("speaks", ["DIALECT", about], |defs| {
                one_or_more("a dialect", name_schema(defs))
            })
        },
    }
}

table! {
    /// A dialect of one's own: rows, of which the first that holds speaks.
    DialectMap("dialect", "A dialect") {
        /// Other dialects, whose rows come after these.
        from: Given<Speaks> = told(speaks());
        /// The header in which the service takes a key of idempotency, besides Idempotency-Key.
        key_header: HeaderName = header_name();
        /// Whether a key of idempotency that the program's layer makes is sent in quotes, as the draft has it. Default false.
        quoted_keys: bool = truth();
        /// What answers mean. At most 64 rows and 16 places of a JSON body.
        rows: Vec<Row> = rows();
    }
}

/// What answers that look like this mean.
macro_rules! meaning_keys {
    ($(#[doc = $about:literal])+ $name:ident($($head:tt)*) { $($first:tt)* }) => {
        table! {
            $(#[doc = $about])+
            $name($($head)*) {
                $($first)*
                /// Whether the server may have done what was asked: answered (it may), or refused (it has not; say so only if
                /// the service says so). Default refused for throttled, answered for the others.
                reach: crate::policy::Reach = crate::config::types::word::<crate::policy::Reach>();
                /// Where the answer says when to come back: {header, part, json or prose, unit}, or a list, of which the
                /// latest time counts. Retry-After and its kin go before it.
                delay_from: Vec<(crate::dialect::At, crate::policy::Unit)> = crate::config::dialect::delays();
                /// The shortest wait, whatever the answer says. It doubles with each repetition, up to max_delay.
                at_least: std::time::Duration = crate::config::types::duration();
                /// Whom the limit stops: account (the default: all who share a gate), route (this path), method_route,
                /// request (nobody else), or {header} or {json}: those whose answers name the same limit there.
                scope_from: crate::config::dialect::ScopeFrom = crate::config::dialect::scope_from();
                /// Why, for reports and metrics: rate_limited, quota_exhausted, overloaded, and so on.
                reason: crate::policy::Reason = crate::config::types::word::<crate::policy::Reason>();
            }
        }

        impl $name {
            /// What the answer means, if that is said.
            pub(in crate::config) fn meaning(&self) -> Option<crate::dialect::Meaning> {
                use crate::config::dialect::ScopeFrom;
                use crate::dialect::Meaning;
                use crate::policy::Reach;
                let meaning = Meaning::of(self.class?);
                let meaning = match self.reach {
                    Some(Reach::Refused) => meaning.refused(),
                    Some(_) => meaning.answered(),
                    None => meaning,
                };
                let delays = self.delay_from.iter().flatten().cloned();
                let meaning = delays.fold(meaning, |meaning, (at, unit)| meaning.delay(at, unit));
                let meaning = self.at_least.into_iter().fold(meaning, Meaning::at_least);
                let meaning = match self.scope_from.clone() {
                    Some(ScopeFrom::This(scope)) => meaning.scope(scope),
                    Some(ScopeFrom::Named(at)) => meaning.scope_from(at),
                    None => meaning,
                };
                Some(self.reason.into_iter().fold(meaning, Meaning::because))
            }
        }
    };
}

pub(super) use meaning_keys;

meaning_keys! {
    /// When an answer looks like this, it means that.
    RowMap("row", "ROW") {
        /// What the answer looks like.
        when: Condition = when(), write("when: {status: 403}");
        /// What it means: success, transient (it failed, and may succeed a moment later), throttled (the server asks for
        /// less), permanent (repeating cannot help).
        class as "as": Class = word::<Class>(), write("as: throttled");
    }
}

table! {
    /// Where an answer says when to come back: exactly one of header, json and prose.
    DelayMap("delay_from", "Where a delay stands") {
        /// In this header.
        header: HeaderName = header_name();
        /// Of a header of several parts in the one of this name.
        part: Arc<str> = name();
        /// At this place of a JSON body: a pointer of RFC 6901, in which * stands for any member or item.
        json: Pointer = pointer();
        /// In the words of the body: "try again in 20 s", or a date of ISO 8601 behind "after".
        prose: bool = truth();
        /// What a number or a date counts in: s, ms, min, unix, unix_ms, iso, http_date, or auto (default: a number by its
        /// size, else a date).
        unit: Unit = word::<Unit>(), default(&"auto");
    }
}

table! {
    /// Where an answer names the limit that was met.
    ScopeMap("scope_from_map", "Where a limit is named") {
        /// In this header.
        header: HeaderName = header_name();
        /// At this place of a JSON body.
        json: Pointer = pointer();
    }
}

#[derive(Debug, Clone)]
pub(super) enum ScopeFrom {
    This(Scope),
    Named(At),
}

fn rows() -> Type<Vec<Row>> {
    Type {
        read: |node| Some(node.items().iter().filter_map(row).collect()),
        schema: |defs| list(&object::<RowMap>(defs)),
    }
}

fn row(node: &Node<'_>) -> Option<Row> {
    let read = (block::<RowMap>().read)(node)?;
    let row = Row::on(read.when.clone()?).is(read.meaning()?);
    if let Err(refused) = row.check() {
        let path = node.path.key("when");
        node.problems.add(&path, &"", refused.allowed().to_owned());
    }
    Some(row)
}

/// One place of a delay, or a list.
pub(super) fn delays() -> Type<Vec<(At, Unit)>> {
    Type {
        read: |node| Some(node.one_or_more().iter().filter_map(delay).collect()),
        schema: |defs| one_or_more("a place", object::<DelayMap>(defs)),
    }
}

fn delay(node: &Node<'_>) -> Option<(At, Unit)> {
    let one = "must hold exactly one of header, json and prose";
    let read = checked(node, |read: &DelayMap, _| {
        read.at().is_none().then_some(one)
    })?;
    Some((read.at()?, read.unit.unwrap_or(Unit::Auto)))
}

impl DelayMap {
    /// The one place that it names.
    fn at(&self) -> Option<At> {
        let prose = self.prose == Some(true);
        match (&self.header, &self.json, &self.part, prose) {
            (Some(name), None, Some(part), false) => Some(At::head_part(name.as_str(), part)),
            (None, None, _, true) => Some(At::prose()),
            (header, json, _, false) => place(header.as_ref(), json.as_ref()),
            _ => None,
        }
    }
}

/// The one of a header and a place of a JSON body that is given.
fn place(header: Option<&HeaderName>, json: Option<&Pointer>) -> Option<At> {
    match (header, json) {
        (Some(name), None) => Some(At::head(name.as_str())),
        (None, Some(pointer)) => Some(At::json(&pointer.to_string())),
        _ => None,
    }
}

/// Whom a limit stops: a word, or where the answer names the limit.
pub(super) fn scope_from() -> Type<ScopeFrom> {
    Type {
        read: |node| {
            if !matches!(node.value, Value::Map(_)) {
                return node.word::<Scope>().map(ScopeFrom::This);
            }
            let at = |map: &ScopeMap| place(map.header.as_ref(), map.json.as_ref());
            let one = "must hold exactly one of header and json";
            let map = checked(node, |map, _| at(map).is_none().then_some(one))?;
            at(&map).map(ScopeFrom::Named)
        },
        schema: |defs| word_or_map::<Scope, ScopeMap>("where it is named", defs),
    }
}

words! { Class:
    "success" => Class::Success, "transient" => Class::Transient, "throttled" => Class::Throttled,
    "permanent" => Class::Permanent
}

words! { Reach:
    "answered" => Reach::Answered, "refused" => Reach::Refused
}

words! { Scope:
    "account" => Scope::Account, "route" => Scope::Route, "method_route" => Scope::MethodRoute,
    "request" => Scope::Request
}

impl Words for Unit {
    const WORDS: &'static [(&'static str, Self)] = &Self::NAMES;
}

impl Words for Reason {
    const WORDS: &'static [(&'static str, Self)] = &Self::NAMES;
}
