//! Documents that are refused, each with its messages, word for word.

mod keys;
mod kinds;
mod limits;
mod meant;
mod names;
mod numbers;
mod services;
mod unused;
mod words;

use super::{document, load};
use http_retry::config::{ConfigErrors, Document, RetryConfig};

/// A document without its version, and all that is said of it.
type Case = (&'static str, &'static [&'static str]);

fn check(cases: &[Case]) {
    for (text, wanted) in cases {
        let errors = refused(&format!("version: 1\n{text}"));
        assert_eq!(messages(&errors), *wanted, "of {text}");
    }
}

fn refused(text: &str) -> ConfigErrors {
    match load(text) {
        Ok(_) => panic!("is not refused: {text}"),
        Err(errors) => errors,
    }
}

fn messages(errors: &ConfigErrors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_document_is_a_map_with_version_1() {
    let cases = [
        ("{}", "version: is missing: write version: 1"),
        ("version: 2", "version: 2 is not known: write version: 1"),
        (
            r#"version: "1""#,
            r#"version: "1" is not known: write version: 1"#,
        ),
        (
            "version: 1.0",
            "version: 1.0 is not known: write version: 1",
        ),
        ("version: 0", "version: 0 is not known: write version: 1"),
        ("version: null", "version: is missing: write version: 1"),
        (
            "version: [1]",
            "version: a list is not known: write version: 1",
        ),
        ("null", "the document: is empty: write version: 1"),
        ("[1, 2]", "the document: a list is not a map"),
        ("text", r#"the document: "text" is not a map"#),
        ("5", "the document: 5 is not a map"),
        ("true", "the document: true is not a map"),
        ("", "the document: is empty: write version: 1"),
        (
            "# nothing yet\n",
            "the document: is empty: write version: 1",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(messages(&refused(text)), [wanted], "of {text:?}");
    }
}

#[test]
fn a_duration_without_a_unit_is_told_both_units() {
    let errors = refused(
        "
version: 1
services:
  openai:
    match: {host: api.openai.com}
    retry: {base: 2000}
",
    );
    let wanted = "services.openai.retry.base: 2000 has no unit: write 2000ms or 2000s";
    assert_eq!(errors.to_string(), wanted);
    let error = errors.iter().next().unwrap();
    assert_eq!(error.field, "services.openai.retry.base");
    assert_eq!(error.given, "2000");
}

/// The message says `write 2.5s`, so that must do.
#[test]
fn what_a_message_says_to_write_is_accepted() {
    for duration in ["2000ms", "2000s", "2.5s", "500ms", "2s", "1h 30m", "30days"] {
        let text = format!("version: 1\nretry: {{base: {duration}, max_delay: none}}");
        assert!(load(&text).is_ok(), "{duration}");
    }
}

#[test]
fn every_problem_of_a_document_is_reported_at_once() {
    let errors = refused(
        "
version: 1
extra: 1
retry: {base: 2, factor: 0.1}
rules: [{when: {status: 99}, do: stop}]
services:
  a:
    match: {host: h}
    budget: none
    retry: {max_attempts: 0}
    routes: [{name: r, match: {path: v1}}]
",
    );
    let wanted = [
        "retry.base: 2 has no unit: write 2ms or 2s",
        "retry.factor: 0.1 is not allowed: must be 1 to 1000",
        "rules[0].when.status: 99 is out of range: must be 100 to 999",
        "extra: is not a known key: known are version, fleet, budgets, policies, retry, rules, otherwise, dialect, header_rules, hedge, inspect_success, dialects, gate, services",
        "services.a.retry.max_attempts: 0 is not allowed: must be a whole number of at least 1",
        r#"services.a.routes[0].match.path: "v1" is not a path: write /v1/*"#,
        r#"services.a.budget: "none" is no budget: there are none"#,
    ];
    assert_eq!(messages(&errors), wanted);
    assert_eq!(errors.to_string(), wanted.join("\n"));
}

#[test]
fn a_long_value_is_cut_in_its_message() {
    let long = "x".repeat(10_000);
    let errors = refused(&format!("version: 1\nretry: {{base: {long}}}"));
    let wanted = format!("\"{}...\" is not a duration", "x".repeat(60));
    assert!(errors.to_string().contains(&wanted), "{errors}");
}

#[test]
fn a_key_that_is_there_twice_is_found_by_the_reader() {
    let twice = "version: 1\nretry: {base: 1s}\nretry: {base: 2s}";
    let error = serde_yaml_ng::from_str::<Document>(twice).unwrap_err();
    assert_eq!(error.to_string(), "retry: duplicate key");
}

#[test]
fn a_config_read_in_one_step_says_the_same() {
    let text = r#"{"version": 1, "retry": {"base": 2000}, "services": {"a": {"budget": "x"}}}"#;
    let error = serde_json::from_str::<RetryConfig>(text).unwrap_err();
    let wanted = refused(text).to_string();
    assert!(error.to_string().starts_with(&wanted), "{error}");
}

#[test]
fn an_infinite_number_of_another_reader_is_refused() {
    for number in ["inf", "nan", "-inf"] {
        let text = format!("version = 1\nretry.factor = {number}");
        let document: Document = toml::from_str(&text).unwrap();
        let errors = RetryConfig::load(&document).unwrap_err();
        let message = errors.to_string();
        assert!(message.starts_with("retry.factor: "), "{message}");
        assert!(
            message.ends_with(" is not allowed: must be 1 to 1000"),
            "{message}"
        );
    }
}

#[test]
fn what_code_named_is_known_and_a_slip_gets_a_hint() {
    let builder = || {
        RetryConfig::builder()
            .dead_letters("letters", |_: &http_retry::report::DeadLetter<'_>| {})
            .backoff("squares", |(): ()| {
                |n| std::time::Duration::from_secs(n.into())
            })
    };
    let slips = [
        (
            "on_exhausted: {dead_letter: leters}",
            r#"retry.on_exhausted: "leters" is no dead letter observer of this program: did you mean letters?"#,
        ),
        (
            "backoff: {custom: sqares}",
            r#"retry.backoff.custom: "sqares" is no custom backoff of this program: did you mean squares?"#,
        ),
    ];
    for (slip, wanted) in slips {
        let slip = document(&format!("version: 1\nretry: {{{slip}}}"));
        let errors = builder().load(&slip).unwrap_err();
        assert_eq!(messages(&errors), [wanted]);
    }
    let right =
        "version: 1\nretry: {on_exhausted: {dead_letter: letters}, backoff: {custom: squares}}";
    assert!(builder().load(&document(right)).is_ok());
}

#[test]
fn unreadable_arguments_of_a_custom_backoff_are_refused() {
    #[derive(serde::Deserialize)]
    struct Squares {
        unit_ms: u64,
    }
    let squares =
        |args: Squares| move |n: u32| std::time::Duration::from_millis(args.unit_ms * u64::from(n));
    let text = "version: 1\nretry: {backoff: {custom: squares, args: {unit_ms: soon}}}";
    let builder = RetryConfig::builder().backoff("squares", squares);
    let errors = builder.load(&document(text)).unwrap_err();
    let wanted = r#"retry.backoff.args: invalid type: string "this text", expected u64"#;
    assert_eq!(messages(&errors), [wanted]);
}

#[test]
fn what_may_be_a_secret_is_not_in_the_given_value_either() {
    let base = "version: 1\nservices: {a: {base_url: \"http://user:hunter2@h\"}}";
    let header = "version: 1\nrules: [{when: {status: 500}, do: retry, set: {headers: {a: \"hunter2\\n\"}}}]";
    for text in [base, header] {
        for error in refused(text).iter() {
            assert!(
                !format!("{error:?}{error}").contains("hunter2"),
                "{error:?}"
            );
        }
    }
}
