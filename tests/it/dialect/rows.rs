//! Each row is needed, and takes no more than it should.

use super::answers::cases;
use http_retry::dialect::Dialect;
use std::collections::BTreeSet;

#[test]
fn each_row_has_a_case_that_it_speaks_of() {
    let mut seen = BTreeSet::new();
    for (case, _) in cases() {
        let (_, row) = case.meant(case.dialect());
        assert_eq!(row.as_ref(), Some(&case.row));
        seen.insert(case.row.clone());
    }
    for dialect in Dialect::all() {
        assert!(!dialect.source().is_empty(), "{}", dialect.name());
        for place in 0..dialect.len() {
            let row = format!("{}[{place}]", dialect.name());
            assert!(seen.contains(&row), "{row} has no case");
        }
    }
}

#[test]
fn each_row_has_a_case_that_it_does_not_speak_of() {
    for (_, other) in cases() {
        let (_, row) = other.meant(other.dialect());
        assert_ne!(row.as_ref(), Some(&other.row));
    }
}

#[test]
fn without_a_row_its_case_means_something_else() {
    for (case, _) in cases() {
        let (with, _) = case.meant(case.dialect());
        let (without, _) = case.meant(case.dialect().without(case.place()));
        assert_ne!(with, without, "{} is not needed", case.row);
    }
}

#[test]
fn an_unknown_name_is_told_the_nearest() {
    assert_eq!(Dialect::get("big-query").unwrap_err().field, "dialect");
    let error = Dialect::get("git_hub").unwrap_err();
    assert!(error.allowed.contains("gitlab") || error.allowed.contains("github"));
    assert_eq!(Dialect::get("bigquery").unwrap().name(), "google");
    assert_eq!(Dialect::get("azure-cosmos").unwrap().name(), "azure");
    for (alias, name) in [
        ("Meta", "facebook"),
        ("oracle-cloud", "oci"),
        ("riot-games", "riot"),
    ] {
        assert_eq!(Dialect::get(alias).unwrap().name(), name);
    }
    for dialect in Dialect::all() {
        assert_eq!(Dialect::get(dialect.name()).unwrap().name(), dialect.name());
    }
}
