use super::{BROUGHT, SHOWN, document, run, shown};

#[test]
fn a_request_is_explained_by_the_service_that_it_matches() {
    let file = shown("three_apis");
    let url = "https://me:secret@pay.example.com/cards?token=secret";
    let outcome = run(&["explain", &file, "--method", "POST", "--url", url]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome
            .stdout
            .starts_with("POST https://pay.example.com/cards\n\npayments\n")
    );
    for line in [
        "budget: payments, 5 of 5 tokens",
        "worst case, failovers included: 5 attempts, 20s",
        "  before attempt 2: 250ms to 500ms",
        "  before attempt 3: 500ms to 1s",
        "  rule declined: accept",
        "  jitter: equal (from services.payments.retry.jitter)",
    ] {
        assert!(
            outcome.stdout.lines().any(|found| found == line),
            "{line}: {}",
            outcome.stdout
        );
    }
    assert!(!outcome.stdout.contains("secret"));
    assert!(
        outcome.stdout.contains("  rule declined: accept\n    if "),
        "{}",
        outcome.stdout
    );
}

#[test]
fn the_waits_are_listed_once_and_in_the_units_of_documents() {
    for name in SHOWN {
        let text = run(&[&["explain", &shown(name)][..], &BROUGHT].concat()).stdout;
        assert!(!text.contains(": after at most "), "{text}");
        let has_unit = |unit: &str| {
            text.split(' ').any(|word| {
                word.trim_end().ends_with(unit) && word.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        assert!(!has_unit("min") && !has_unit("day"), "{text}");
    }
}

#[test]
fn the_lists_of_a_document_are_shown() {
    let file = document("stops.yaml");
    for (service, line) in [
        ("orders", "  stop_on: never status 503"),
        (
            "accounts",
            "  retry_on: only status 500, whatever the class",
        ),
        ("models", "    if status 503"),
    ] {
        let text = run(&["explain", &file, "--service", service]).stdout;
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn a_route_goes_before_its_service() {
    let file = shown("three_apis");
    let url = "https://model.example.com/v1/embeddings";
    let explained = |method: &str| {
        let outcome = run(&[
            "explain", &file, "--format", "json", "--method", method, "--url", url,
        ]);
        let json = outcome.json();
        (
            json["entry"]["route"].clone(),
            json["entry"]["waits"].as_array().unwrap().len(),
        )
    };
    assert_eq!(explained("POST"), ("embeddings".into(), 5));
    assert_eq!(explained("GET"), (serde_json::Value::Null, 2));
}

#[test]
fn a_request_of_no_service_meets_what_is_left() {
    let outcome = run(&[
        "explain",
        &document("good.yaml"),
        "--url",
        "http://other.example/",
    ]);
    assert!(
        outcome.stdout.contains("\n(all others)\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn without_a_request_every_entry_is_explained() {
    let json = run(&["explain", &shown("three_apis"), "--format", "json"]).json();
    let entries = json["entries"].as_array().unwrap();
    let names: Vec<_> = entries
        .iter()
        .map(|entry| entry["service"].as_str())
        .collect();
    let services = [
        "model",
        "model",
        "model",
        "model_backup",
        "payments",
        "search",
    ]
    .map(Some);
    assert_eq!(names[..6], services);
    assert_eq!(names[6], None);
}
