use super::{document, run, shown};
use serde_json::Value;

fn change(json: &Value, place: Option<&str>, field: &str) -> (Value, Value) {
    let changes = json["changes"].as_array().unwrap();
    let found = changes
        .iter()
        .find(|change| change["place"].as_str() == place && change["field"] == field);
    assert!(found.is_some(), "{field} in {json:#}");
    let found = found.unwrap();
    (found["old"].clone(), found["new"].clone())
}

#[test]
fn the_same_values_in_another_syntax_are_no_change() {
    let yaml = shown("three_apis");
    for end in ["toml", "json"] {
        let outcome = run(&["diff", &yaml, &yaml.replace("yaml", end)]);
        assert_eq!(
            (outcome.code, &*outcome.stdout),
            (0, "no change\n"),
            "{end}"
        );
    }
}

#[test]
fn a_change_is_told_by_service_and_field() {
    let (old, new) = (document("good.yaml"), document("twenty_attempts.yaml"));
    let json = run(&["diff", "--format", "json", &old, &new]).json();
    let orders = Some("orders");
    assert_eq!(
        change(&json, orders, "max_retries"),
        ("3".into(), "19".into())
    );
    assert_eq!(
        change(&json, orders, "attempts, worst case"),
        ("4".into(), "20".into())
    );
    let budget = change(&json, orders, "budget");
    assert_eq!(budget.1, "endless, 1000000 of 1000000 tokens");
    assert_eq!(
        change(&json, None, "budgets.endless.capacity"),
        (Value::Null, "1000000".into())
    );
    // The others keep theirs.
    let changes = json["changes"].as_array().unwrap();
    assert!(
        changes
            .iter()
            .all(|change| change["place"] != "(all others)")
    );
    let text = run(&["diff", &old, &new]).stdout;
    assert!(text.contains("\n  max_retries: 3 -> 19\n"), "{text}");
}

#[test]
fn services_come_and_go() {
    let outcome = run(&[
        "diff",
        &document("good.yaml"),
        &shown("three_apis"),
        "--format",
        "json",
    ]);
    let json = outcome.json();
    assert_eq!(json["removed"][0], "orders");
    assert!(
        json["added"]
            .as_array()
            .unwrap()
            .contains(&"payments".into())
    );
}

#[test]
fn a_changed_body_or_header_is_told_but_not_shown() {
    let folder = std::env::temp_dir().join(format!("http-retry-diff-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, secret: &str| {
        let file = folder.join(name);
        let rule = format!(
            "{{name: a, when: {{status: 401}}, retry: {{max_attempts: 2}}, set: {{headers: {{x-key: {secret}}}}}}}"
        );
        let text = format!(
            "version: 1\nservices:\n  orders:\n    match: {{host: a.example}}\n    rules: [{rule}]\n"
        );
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (old, new) = (write("old.yaml", "hush-one"), write("new.yaml", "hush-two"));
    let outcome = run(&["diff", &old, &new]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome
            .stdout
            .contains("services.orders.rules.a.set.headers.x-key: changed"),
        "{}",
        outcome.stdout
    );
    assert!(!outcome.stdout.contains("hush"));
}

#[test]
fn the_exit_code_says_if_anything_changes() {
    let (old, new) = (document("good.yaml"), document("twenty_attempts.yaml"));
    let same = run(&["diff", "--exit-code", &old, &old]);
    assert_eq!((same.code, &*same.stderr), (0, ""));
    for form in ["text", "json"] {
        let outcome = run(&["diff", "--exit-code", &old, &new, "--format", form]);
        assert_eq!(outcome.code, 1);
        let start = format!("http-retry: {new}: ");
        assert!(
            outcome.stderr.starts_with(&start) && outcome.stderr.ends_with(" changes\n"),
            "{}",
            outcome.stderr
        );
    }
    assert_eq!(run(&["diff", &old, &new]).code, 0);
}
