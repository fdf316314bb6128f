//! The standard tables, and the pages that show them.

use super::*;
use std::collections::BTreeMap;

fn standard(status: u16, invited: bool) -> (Class, Reach) {
    standard_status(StatusCode::from_u16(status).unwrap(), || invited)
}

#[test]
fn a_named_time_makes_413_unprocessed_and_503_only_throttled() {
    assert_eq!(standard(413, false), (Class::Permanent, Reach::Answered));
    assert_eq!(standard(413, true), (Class::Throttled, Reach::Refused));
    assert_eq!(standard(503, false), (Class::Transient, Reach::Answered));
    assert_eq!(standard(503, true), (Class::Throttled, Reach::Answered));
}

#[test]
fn a_named_time_changes_no_other_status() {
    for status in (100..=999).filter(|status| ![413, 503].contains(status)) {
        assert_eq!(standard(status, true), standard(status, false), "{status}");
    }
}

/// `UPDATE_TABLES=1` rewrites the pages; their diff shows what changes for a user.
#[test]
fn the_pages_show_the_tables() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/policy/classify");
    for (page, table) in [("statuses.md", statuses()), ("errors.md", errors())] {
        let path = format!("{folder}/{page}");
        if std::env::var_os("UPDATE_TABLES").is_some() {
            std::fs::write(&path, &table).unwrap();
        }
        let shown = std::fs::read_to_string(&path).unwrap();
        assert_eq!(shown, table, "write {page} anew with UPDATE_TABLES=1");
    }
}

/// Returns the table of statuses: equal ones share a row, and the majority of a hundred is "every other".
fn statuses() -> String {
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for hundred in (100..1000).step_by(100) {
        let all = hundred..hundred + 100;
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for status in all.clone() {
            *count.entry(meaning(standard(status, false))).or_default() += 1;
        }
        let (most, _) = count.iter().max_by_key(|(_, count)| **count).unwrap();
        let every = if count.len() > 1 { "every other " } else { "" };
        let other = format!("{every}{}xx", hundred / 100);
        others.entry(most.clone()).or_default().push(other);
        for (key, named) in count.keys().filter(|key| *key != most).map(|key| {
            let same = |status: &u16| meaning(standard(*status, false)) == *key;
            (key, range_texts(all.clone().filter(same)))
        }) {
            rows.entry(key.clone()).or_default().extend(named);
        }
        for status in all.filter(|status| standard(*status, true) != standard(*status, false)) {
            let named = format!("{status} with a time to come back");
            rows.entry(meaning(standard(status, true)))
                .or_default()
                .push(named);
        }
    }
    for (key, other) in others {
        rows.entry(key).or_default().extend(other);
    }
    let misdirected = format!("{}, once", meaning(MISDIRECTED));
    let named = "421 on a connection that can be left".to_owned();
    rows.entry(misdirected).or_default().push(named);
    page("status | class | repeated for", rows)
}

/// Returns the table of errors.
fn errors() -> String {
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in ErrorKind::ALL.iter().copied() {
        let (class, reach) = kind.standard();
        let key = format!("`{class:?}` | `{reach:?}` | {}", repeated_for(class, reach));
        rows.entry(key).or_default().push(format!("`{kind:?}`"));
    }
    page("kind | class | reach | repeated for", rows)
}

fn page(head: &str, rows: BTreeMap<String, Vec<String>>) -> String {
    let rule = "|---".repeat(head.split('|').count());
    let rows = rows.into_iter().rev();
    let rows = rows.map(|(key, cells)| format!("| {} | {key} |\n", cells.join(", ")));
    format!("| {head} |\n{rule}|\n{}", rows.collect::<String>())
}

fn meaning((class, reach): (Class, Reach)) -> String {
    format!("`{class:?}` | {}", repeated_for(class, reach))
}

fn repeated_for(class: Class, reach: Reach) -> &'static str {
    match class {
        Class::Success | Class::Permanent => "never",
        _ if reach.is_unprocessed() => "every method",
        _ => "idempotent requests",
    }
}

/// Returns statuses as text: `501`, `505 to 508`, `510`, `511`.
fn range_texts(statuses: impl Iterator<Item = u16>) -> Vec<String> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for status in statuses {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == status => *last = status,
            _ => ranges.push((status, status)),
        }
    }
    let texts = ranges
        .into_iter()
        .flat_map(|(first, last)| match last - first {
            0 => vec![first.to_string()],
            1 => vec![first.to_string(), last.to_string()],
            _ => vec![format!("{first} to {last}")],
        });
    texts.collect()
}

#[test]
fn every_5xx_is_repeated() {
    for status in 500..=599 {
        let class = match status {
            529 => Class::Throttled,
            _ => Class::Transient,
        };
        assert_eq!(
            standard(status, false),
            (class, Reach::Answered),
            "{status}"
        );
    }
}

#[test]
fn only_408_425_and_429_are_repeated_for_every_method() {
    let safe: Vec<u16> = (100..=999)
        .filter(|s| standard(*s, false).1.is_unprocessed())
        .collect();
    assert_eq!(safe, [408, 425, 429]);
}

/// Holds a list of all variants: one that is missing here does not compile.
macro_rules! all_are {
    ($type:ident: $($variant:ident)*) => {{
        let _: fn($type) = |value| match value {
            $($type::$variant => (),)*
        };
        assert_eq!($type::ALL, [$($type::$variant),*]);
    }};
}

#[test]
fn each_list_of_all_variants_is_complete() {
    use crate::policy::{DelaySource, StopReason};
    all_are!(Class: Success Transient Throttled Permanent);
    all_are!(Reach: Unsent Refused Ambiguous Answered);
    all_are!(DelaySource: Own Server Gate);
    all_are!(
        ErrorKind: Dns Connect ConnectTimeout Tls Certificate Proxy NotProcessed Timeout Reset Incomplete
        Http2 Request Redirect Body Protocol Decode Other
    );
    all_are!(
        StopReason: Succeeded AttemptsExhausted NotRetryable BodyNotReplayable NotIdempotent RedirectsUnknown RequestsUnknown
        ServerDelayTooLong DeadlineExceeded BudgetExhausted NotReady Disabled Nested Accepted Failed
        Stopped WaitsExhausted
    );
}
