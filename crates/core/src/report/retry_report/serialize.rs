//! Reports as maps, for a log or a store.

use super::{AttemptReport, RetryReport};
use crate::policy::Scope;
use crate::policy::moment::millis;
use serde::ser::{Serialize, SerializeMap, Serializer};

impl Serialize for RetryReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stopped_by = self.stopped_by.as_deref();
        let tokens_left = self.tokens_left.map(|tokens| tokens.to_string());
        let tokens_left = tokens_left.and_then(|tokens| tokens.parse::<f64>().ok());
        let known = [
            stopped_by.is_some(),
            tokens_left.is_some(),
            self.budget.is_some(),
            self.unknown_service.is_some(),
        ];
        let mut map = serializer.serialize_map(Some(count(7, &known)))?;
        map.serialize_entry("attempt_count", &self.attempt_count)?;
        map.serialize_entry("retries", &self.retries())?;
        map.serialize_entry("waited_ms", &millis(self.waited))?;
        map.serialize_entry("stop", &self.stop)?;
        map.serialize_entry("explanation", &self.stop.explain_by(stopped_by))?;
        add_known(&mut map, "stopped_by", stopped_by)?;
        add_known(&mut map, "tokens_left", tokens_left)?;
        add_known(&mut map, "budget", self.budget.as_deref())?;
        add_known(&mut map, "unknown_service", self.unknown_service.as_deref())?;
        map.serialize_entry("from_elsewhere", &self.from_elsewhere)?;
        map.serialize_entry("attempts", &self.attempts)?;
        map.end()
    }
}

impl Serialize for AttemptReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unreadable: Vec<_> = self.unreadable().collect();
        let copies = Some(self.copies).filter(|copies| *copies > 1);
        let known = [
            self.delay_source.is_some(),
            self.status.is_some(),
            self.error.is_some(),
            self.error_type.is_some(),
            self.asked.is_some(),
            !unreadable.is_empty(),
            self.reason.is_some(),
            self.rule.is_some(),
            self.row.is_some(),
            self.scope.is_some(),
            self.cut.is_some(),
            copies.is_some(),
        ];
        let mut map = serializer.serialize_map(Some(count(6, &known)))?;
        map.serialize_entry("number", &self.number)?;
        map.serialize_entry("started_ms", &millis(self.started))?;
        map.serialize_entry("took_ms", &millis(self.took))?;
        map.serialize_entry("delay_ms", &millis(self.delay))?;
        add_known(&mut map, "delay_source", self.delay_source)?;
        add_known(
            &mut map,
            "status",
            self.status.map(|status| status.as_u16()),
        )?;
        add_known(&mut map, "error", self.error)?;
        add_known(&mut map, "error_type", self.error_type)?;
        map.serialize_entry("class", &self.class)?;
        map.serialize_entry("reach", &self.reach)?;
        add_known(&mut map, "asked_ms", self.asked.map(millis))?;
        add_known(
            &mut map,
            "unreadable",
            Some(unreadable).filter(|all| !all.is_empty()),
        )?;
        add_known(&mut map, "reason", self.reason)?;
        add_known(&mut map, "rule", self.rule.as_deref())?;
        add_known(&mut map, "row", self.row.as_deref())?;
        add_known(&mut map, "scope", self.scope.map(scope_name))?;
        add_known(&mut map, "cut", self.cut)?;
        add_known(&mut map, "copies", copies)?;
        map.end()
    }
}

/// Returns the number of entries, of which so many are always known. Some formats, such as postcard, write it first.
fn count(always: usize, known: &[bool]) -> usize {
    let known = known.iter().filter(|known| **known).count();
    always.saturating_add(known)
}

/// Adds an entry to a map, unless its value is not known.
fn add_known<M: SerializeMap>(
    map: &mut M,
    name: &str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(name, &value),
        None => Ok(()),
    }
}

/// Returns the kind of a scope. The hash of a named one differs from process to process.
fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Account => "account",
        Scope::Route => "route",
        Scope::MethodRoute => "method_route",
        Scope::Named(_) => "named",
        Scope::Request => "request",
    }
}
