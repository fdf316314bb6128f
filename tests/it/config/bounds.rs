//! No document takes memory or work without bound, and none makes anything panic.

use super::load;
use allocation_counter::measure;
use http_retry::config::{ConfigErrors, Document, RetryConfig};

const MIB: usize = 1024 * 1024;

fn refused(text: &str) -> ConfigErrors {
    load(text)
        .err()
        .unwrap_or_else(|| panic!("is not refused: {text:.99}"))
}

/// What a document says of services 0 to n, each by its number.
fn services(n: u32, each: impl Fn(u32) -> String) -> String {
    let all: Vec<String> = (0..n).map(|n| format!("s{n}: {}", each(n))).collect();
    format!("version: 1\nservices: {{{}}}", all.join(", "))
}

#[test]
fn twenty_problems_are_told_and_the_others_counted() {
    let keys: Vec<String> = (0..500).map(|n| format!("key{n}: 1")).collect();
    let errors = refused(&format!("version: 1\n{}", keys.join("\n")));
    assert_eq!((errors.iter().count(), errors.more()), (20, 480));
    let text = errors.to_string();
    assert_eq!(text.lines().count(), 21);
    assert!(text.ends_with("\nand 480 more"), "{text}");
    let errors = refused("version: 1\nkey: 1");
    assert_eq!((errors.iter().count(), errors.more()), (1, 0));
}

/// A problem of the document is found again at every service, and told once.
#[test]
fn a_problem_that_every_service_has_is_one_problem() {
    let many = services(200, |_| "{}".to_owned());
    let errors = refused(&format!(
        "{many}\nrules: [{{when: 500, failover: nowhere}}]"
    ));
    assert_eq!((errors.iter().count(), errors.more()), (1, 0));
    let many: Vec<String> = (0..100)
        .map(|n| format!("{{when: 500, failover: n{n}}}"))
        .collect();
    let rules = format!("rules: [{}]", many.join(", "));
    let errors = refused(&format!("{}\n{rules}", services(100, |_| "{}".to_owned())));
    assert_eq!((errors.iter().count(), errors.more()), (20, 80));
}

#[test]
fn names_that_are_not_there_make_a_short_text() {
    let many = services(4_000, |n| {
        format!("{{base_url: \"http://h\", retry: {{on_exhausted: {{failover: x{n}}}}}}}")
    });
    let errors = refused(&many);
    assert_eq!(errors.more(), 4_000 - 20);
    let text = errors.to_string();
    assert!(text.len() < 20_000, "{}", text.len());
}

#[test]
fn what_is_known_is_listed_up_to_a_bound() {
    let many = services(4_000, |n| match n {
        0 => "{budget: zzzz, retry: {on_exhausted: {failover: zzzz}}}".to_owned(),
        _ => "{}".to_owned(),
    });
    let text = refused(&many).to_string();
    assert!(
        text.contains("known are s0, s1, s10, s100, s1000, "),
        "{text}"
    );
    assert!(
        text.contains(" more\n") || text.ends_with(" more"),
        "{text}"
    );
    assert!(text.len() < 2_000, "{}", text.len());
}

/// A name that is too long, at every place of one.
const LONG_NAMES: [&str; 20] = [
    r#""LONG": 1"#,
    r#""retry": "LONG""#,
    r#""retry": {"use": "LONG"}"#,
    r#""retry": {"LONG": 1}"#,
    r#""retry": {"budget": "LONG"}"#,
    r#""retry": {"backoff": "LONG"}"#,
    r#""retry": {"backoff": {"custom": "LONG"}}"#,
    r#""retry": {"on_exhausted": {"failover": "LONG"}}"#,
    r#""retry": {"on_exhausted": {"dead_letter": "LONG"}}"#,
    r#""rules": [{"do": "LONG"}]"#,
    r#""rules": [{"when": {"error": "LONG"}, "do": "stop"}]"#,
    r#""rules": [{"when": {"LONG": 1}, "do": "stop"}]"#,
    r#""rules": [{"name": "LONG", "do": "stop"}]"#,
    r#""rules": [{"when": {"header": "LONG"}, "do": "stop"}]"#,
    r#""rules": [{"when": 500, "do": "retry", "set": {"headers": {"LONG": "x"}}}]"#,
    r#""budgets": {"LONG": {}}"#,
    r#""policies": {"LONG": {}}"#,
    r#""services": {"LONG": {}}"#,
    r#""services": {"a": {"LONG": 1}}"#,
    r#""services": {"a": {"routes": [{"name": "LONG", "match": {"method": "GET"}}]}}"#,
];

/// To compare two long names takes their product, and copies each letter.
#[test]
fn a_long_name_is_refused_before_it_is_compared() {
    let long = "x".repeat(256 * 1024);
    for text in LONG_NAMES {
        let text = text.replace("LONG", &long);
        let document: Document =
            serde_json::from_str(&format!("{{\"version\": 1, {text}}}")).unwrap();
        let cost = measure(|| {
            let errors = RetryConfig::load(&document).unwrap_err();
            assert!(errors.to_string().len() < 1_000, "of {text:.40}");
        });
        // The document is copied once.
        assert!(
            cost.bytes_total < MIB as u64,
            "{} of {text:.40}",
            cost.bytes_total
        );
    }
}

/// A map of headers panics at 32,768 places, of which it fills three quarters.
#[test]
fn more_headers_than_a_request_has_are_refused() {
    for (many, is_refused) in [(100, false), (101, true), (24_577, true), (40_000, true)] {
        let names: Vec<String> = (0..many).map(|n| format!("\"x-{n}\": \"v\"")).collect();
        let values = vec!["\"v\""; many].join(", ");
        for headers in [
            format!("{{{}}}", names.join(", ")),
            format!("{{\"x\": [{values}]}}"),
        ] {
            let respond = format!(
                r#"{{"version": 1, "retry": {{"on_exhausted": {{"respond": {{"status": 503, "headers": {headers}}}}}}}}}"#
            );
            let set = format!(
                r#"{{"version": 1, "rules": [{{"when": 500, "do": "retry", "set": {{"headers": {headers}}}}}]}}"#
            );
            for text in [respond, set] {
                let document: Document = serde_json::from_str(&text).unwrap();
                let refused = RetryConfig::load(&document)
                    .err()
                    .map(|errors| errors.to_string());
                assert_eq!(refused.is_some(), is_refused);
                let what = "headers: holds more than 100 headers";
                assert!(refused.is_none_or(|text| text.contains(what)));
            }
        }
    }
}
