use super::{document, run_with, shown};
use serde_json::Value;

const OUT_OF_CREDIT: &str = "\
    HTTP/1.1 503 Service Unavailable\r\n\r\nsorry\n---\n\
    HTTP/1.1 429 Too Many Requests\nRetry-After: 3\nx-secret: hush\n\n\
    {\"error\": {\"code\": \"insufficient_quota\"}}\n---\n\
    HTTP/1.1 200 OK\n\nhush\n---\n\
    HTTP/1.1 200 OK\n";

#[test]
fn each_response_has_its_decision() {
    let arguments = [
        "replay",
        &shown("three_apis"),
        "--service",
        "model",
        "--format",
        "json",
    ];
    let outcome = run_with(&arguments, OUT_OF_CREDIT);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let json = outcome.json();
    let attempts = json["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3);
    assert_eq!(
        (&attempts[0]["status"], &attempts[0]["delay_source"]),
        (&503.into(), &"own".into())
    );
    assert!(attempts[0]["retry_in_ms"].as_u64().unwrap() <= 1_000);
    assert_eq!(
        (&attempts[1]["rule"], &attempts[1]["class"]),
        (&"out_of_credit".into(), &"permanent".into())
    );
    assert_eq!(
        (&attempts[1]["host"], &attempts[2]["host"]),
        (&"model.example.com".into(), &"backup.example.com".into())
    );
    assert_eq!(
        (&json["stop"], &json["unused_responses"]),
        (&"succeeded".into(), &1.into())
    );
    assert!(!outcome.stdout.contains("hush"));
}

#[test]
fn a_failover_names_the_host() {
    let arguments = ["replay", &shown("three_apis"), "--service", "model"];
    let outcome = run_with(&arguments, OUT_OF_CREDIT);
    let line = outcome
        .stdout
        .lines()
        .find(|line| line.starts_with("2 "))
        .unwrap();
    assert!(
        line.ends_with("fail over to backup.example.com in 0s"),
        "{line}"
    );
}

#[test]
fn a_server_that_asks_for_a_wait_gets_it() {
    let arguments = [
        "replay",
        &document("good.yaml"),
        "--url",
        "http://orders.example.com/a",
    ];
    let outcome = run_with(
        &arguments,
        "HTTP/1.1 503 x\nretry-after: 4\n---\nHTTP/1.1 200 OK\n",
    );
    let line = outcome
        .stdout
        .lines()
        .find(|line| line.starts_with("1 "))
        .unwrap();
    assert!(
        line.contains("503") && line.contains("4s") && line.contains("retry in 4"),
        "{line}"
    );
    assert!(line.ends_with("(server)"), "{line}");
}

#[test]
fn a_date_counts_from_the_date_of_its_response() {
    let arguments = ["replay", &document("good.yaml"), "--format", "json"];
    let response = "HTTP/1.1 503 x\nDate: Tue, 06 Jan 2015 10:00:00 GMT\nRetry-After: Tue, 06 Jan 2015 10:00:07 GMT\n";
    let json = run_with(&arguments, response).json();
    assert_eq!(json["attempts"][0]["asked_ms"], 7_000);
}

#[test]
fn a_recording_that_ends_early_leaves_the_call_open() {
    let arguments = ["replay", &document("good.yaml")];
    let outcome = run_with(&arguments, "error: timeout\n");
    assert_eq!(outcome.code, 0);
    assert!(outcome.stdout.contains("timeout"), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("another attempt would be sent"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_post_is_not_repeated_after_a_503() {
    let arguments = [
        "replay",
        &document("good.yaml"),
        "--method",
        "POST",
        "--format",
        "json",
    ];
    let json = run_with(&arguments, "HTTP/1.1 503 x\n---\nHTTP/1.1 200 OK\n").json();
    assert_eq!(
        (&json["stop"], &json["unused_responses"]),
        (&"not_idempotent".into(), &1.into())
    );
}

const REPLAYED: &str = "HTTP/1.1 503 x\nidempotent-replayed: true\n";

#[test]
fn the_end_says_by_what_the_call_stopped() {
    let file = document("stops.yaml");
    for (service, place) in [
        ("orders", "services.orders.retry.stop_on"),
        ("accounts", "services.accounts.retry.retry_on"),
        ("models", "services.models.rules[0]"),
        ("shop", "dialects.ours.rows[0]"),
        ("pay", "stripe[0]"),
    ] {
        let arguments = ["replay", &file, "--service", service];
        let text = run_with(&arguments, REPLAYED).stdout;
        let end = text.lines().last().unwrap();
        assert!(end.contains(place) && !end.contains("as far as"), "{text}");
        let arguments = [&arguments[..], &["--format", "json"]].concat();
        let json = run_with(&arguments, REPLAYED).json();
        assert_eq!(json["stopped_by"], place);
    }
    let arguments = ["replay", &file, "--format", "json"];
    let json = run_with(&arguments, "HTTP/1.1 404 x\n").json();
    assert_eq!(
        (&json["stop"], &json["stopped_by"]),
        (&"not_retryable".into(), &Value::Null)
    );
}

#[test]
fn the_seed_chooses_the_waits() {
    let file = document("good.yaml");
    let wait = |seed: &str| {
        let arguments = ["replay", &file, "--seed", seed, "--format", "json"];
        let json = run_with(&arguments, "HTTP/1.1 503 x\n").json();
        json["attempts"][0]["retry_in_ms"].as_u64().unwrap()
    };
    assert_eq!(wait("7"), wait("7"));
    let waits: std::collections::BTreeSet<u64> = ["1", "2", "3", "4"].map(wait).into();
    assert!(waits.len() > 1, "{waits:?}");
}

#[test]
fn the_service_and_what_its_caller_gets_are_told() {
    let file = document("exhausted.yaml");
    for (service, gets, json) in [
        (
            "canned",
            "504, a response of the document (on_exhausted: ",
            serde_json::json!({"response": null, "status": 504}),
        ),
        ("failed", "the error ", Value::Null),
        (
            "kept",
            "response 1, 503 (on_exhausted: ",
            serde_json::json!({"response": 1, "status": 503}),
        ),
    ] {
        let arguments = [
            "replay",
            &file,
            "--service",
            service,
            "--dead-letter",
            "failed",
        ];
        let text = run_with(&arguments, "HTTP/1.1 503 x\n").stdout;
        assert!(text.contains(&format!("\nservice: {service}\n")), "{text}");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("the caller gets: "));
        assert!(line.unwrap().starts_with(gets), "{text}");
        let found = run_with(
            &[&arguments[..], &["--format", "json"]].concat(),
            "HTTP/1.1 503 x\n",
        )
        .json();
        assert_eq!(found["service"], service);
        if json.is_null() {
            assert!(found["caller_gets"]["error"].is_string(), "{found:#}");
        } else {
            assert_eq!(found["caller_gets"], json);
        }
    }
    let open = run_with(
        &[
            "replay",
            &file,
            "--format",
            "json",
            "--dead-letter",
            "failed",
        ],
        "HTTP/1.1 503 x\n",
    )
    .json();
    assert_eq!(
        (&open["service"], &open["caller_gets"]["status"]),
        (&Value::Null, &503.into())
    );
}
