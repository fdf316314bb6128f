use super::json::visitor::MAX_NESTING;
use super::*;
use std::time::Duration;

fn read(text: &str) -> ErrorBody {
    ErrorBody::read(text.as_bytes())
}

fn codes(text: &str) -> Vec<String> {
    read(text).codes().to_vec()
}

#[test]
fn tokens_under_known_keys_are_read_at_any_depth() {
    let json = r#"{"error": {"message": "too_many", "code": "rate_limited", "details": [{"error_code": 40001}]}}"#;
    assert_eq!(codes(json), ["rate_limited", "40001"]);
    let aws = r#"[{"__type": "com.amazon.coral#ThrottlingException"}]"#;
    assert_eq!(
        codes(aws),
        [
            "ThrottlingException",
            "com.amazon.coral#ThrottlingException"
        ]
    );
    assert_eq!(codes(r#"{"error": "invalid_grant"}"#), ["invalid_grant"]);
}

#[test]
fn prose_and_html_have_no_tokens() {
    assert!(codes(r#"{"error": "try again later"}"#).is_empty());
    assert!(codes("<html>code</html>").is_empty());
    assert!(codes("").is_empty());
}

#[test]
fn json_that_was_cut_off_keeps_the_tokens_before_the_cut() {
    assert_eq!(codes(r#"{"code": "busy", "message": "abc"#), ["busy"]);
}

#[test]
fn a_number_at_the_cut_is_ignored() {
    let json = |text: &str| ErrorBody::read(text.as_bytes()).json("/retry_after").next();
    for text in [
        r#"{"retry_after": 3"#,
        r#"{"retry_after": 3."#,
        r#"{"retry_after":1e"#,
    ] {
        assert_eq!(json(text), None, "{text}");
        assert_eq!(read(text).delay(), None, "{text}");
    }
    for text in [r#"{"retry_after": 3,"#, r#"{"retry_after": 3, "code": 42"#] {
        assert_eq!(json(text).as_deref(), Some("3"));
        assert_eq!(read(text).delay(), Some(Duration::from_secs(3)), "{text}");
    }
    let words = r#"{"message": "try again in 20s, not in 5"#;
    assert_eq!(read(words).delay(), Some(Duration::from_secs(20)));
}

#[test]
fn nesting_and_the_number_of_tokens_are_bounded() {
    let deep = "[".repeat(100_000);
    assert!(codes(&deep).is_empty());
    let many = format!("[{}1]", r#"{"code": "x"},"#.repeat(1_000));
    assert_eq!(codes(&many).len(), 256);
    let long = format!(
        r#"{{"code": "{}", "message": "{}"}}"#,
        "c".repeat(129),
        "é".repeat(99_999)
    );
    let body = read(&long);
    assert!(body.codes().is_empty() && body.labels().is_empty());
    assert!(body.prose().len() <= MAX_PROSE_CHARS && body.prose().len() > MAX_PROSE_CHARS - 3);
}

#[test]
fn a_message_that_was_cut_off_keeps_its_delay() {
    let whole = r#"{"error": {"code": "x", "message": "try again in 20s. \u00e9\\ and"#;
    for end in 54..whole.len() {
        let body = read(&whole[..end]);
        assert_eq!(
            body.delay(),
            Some(Duration::from_secs(20)),
            "{}",
            &whole[..end]
        );
        assert_eq!(body.codes(), ["x"]);
    }
}

#[test]
fn invalid_utf8_does_not_hide_other_members() {
    let body = ErrorBody::read(b"{\"message\": \"caf\xe9, retry in 2s\", \"code\": \"busy\"}");
    assert_eq!(body.codes(), ["busy"]);
    assert_eq!(body.delay(), Some(Duration::from_secs(2)));
}

#[test]
fn json_nested_in_strings_is_read_three_levels_deep() {
    let mut json = r#"{"code": "inner", "message": "retry in 3s"}"#.to_owned();
    for deep in 1..=5 {
        json = serde_json::to_string(&serde_json::json!({ "error": { "message": json } })).unwrap();
        let found = codes(&json) == ["inner"];
        assert_eq!(found, deep <= MAX_NESTING, "{deep}");
    }
    let cut = r#"{"error": {"message": "{\"code\": \"inner\", \"message\": \"abc"#;
    assert_eq!(codes(cut), ["inner"]);
}

#[test]
fn a_string_that_only_begins_like_json_is_prose() {
    let body = read(r#"{"message": "[WARN] retry in 3s"}"#);
    assert_eq!(body.prose(), "[WARN] retry in 3s");
    assert_eq!(read("[WARN] retry in 3s").prose(), "[WARN] retry in 3s");
    assert_eq!(
        read("{'error': 'retry in 3s'}").delay(),
        Some(Duration::from_secs(3))
    );
}

#[test]
fn events_arrays_strings_and_byte_order_marks_are_read() {
    for text in [
        "\u{feff} {\"error\": {\"code\": \"busy\"}}",
        "event: error\ndata: {\"error\": {\"code\": \"busy\"}}\n\n",
        "data: [{\"error\": {\"code\": \"busy\"}}]",
        "[{\"error\": {\"code\": \"busy\"}}]",
    ] {
        let body = read(text);
        assert_eq!(body.codes(), ["busy"], "{text}");
        assert!(body.is_error(), "{text}");
    }
    assert_eq!(read("\"retry in 3s\"").prose(), "retry in 3s");
}

#[test]
fn an_echo_of_the_request_sets_no_label_and_no_delay() {
    let body = read(
        r#"{"detail": [{"type": "missing", "msg": "Field required",
            "input": {"code": "insufficient_quota", "status": 502, "message": "retry in 9s", "retry_after": 9,
                      "text": "{\"type\": \"rate_limit_error\"}"}}]}"#,
    );
    assert_eq!(body.labels(), ["missing"]);
    assert_eq!(body.prose(), "Field required");
    assert_eq!(body.delay(), None);
    assert_eq!(body.codes(), ["missing", "insufficient_quota", "502"]);
}

#[test]
fn delays_are_read_under_the_keys_of_several_providers() {
    for (json, ms) in [
        (
            r#"{"error": {"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "12.5s"}]}}"#,
            12_500,
        ),
        (
            r#"{"error": {"metadata": {"retry_after_seconds": 17, "retry_after_seconds_raw": 16.007}}}"#,
            17_000,
        ),
        (
            r#"{"error": "Model is loading", "estimated_time": 20.25}"#,
            20_250,
        ),
        (
            r#"{"error": {"type": "usage_limit_reached", "resets_in_seconds": 3600}}"#,
            3_600_000,
        ),
        (
            r#"{"retryDelay": "2s", "message": "Please retry in 7s."}"#,
            7_000,
        ),
        (
            r#"{"retryDelay": "9s", "message": "Please retry in 7s."}"#,
            9_000,
        ),
        (r#"{"error": {"retry_after_ms": 1500}}"#, 1_500),
        (r#"{"data": {"rate": {"backoff_seconds": 30}}}"#, 30_000),
        (r#"{"code": "model_cooldown", "reset_seconds": 46}"#, 46_000),
        (r#"{"metadata": {"quotaResetDelay": "539.477ms"}}"#, 540),
        (r#"{"retry_after": 5, "resets_in_seconds": 3600}"#, 5_000),
        (r#"{"retry_after": 1e300}"#, u128::from(u64::MAX) * 1000),
    ] {
        let delay = read(json).delay().map_or(0, |delay| delay.as_millis());
        assert!(
            delay == ms || (ms > 1 << 60 && delay > 1 << 60),
            "{json} {delay}"
        );
    }
    assert_eq!(
        read(r#"{"retryDelay": -5, "retry_after": "soon"}"#).delay(),
        None
    );
}

#[test]
fn a_reset_counts_only_if_nothing_asks_to_come_back() {
    let at = |seconds| RetryTime::At(Duration::from_secs(seconds));
    let after = |seconds| RetryTime::In(Duration::from_secs(seconds));
    let (noon, two) = (1_787_313_600, 1_787_320_800);
    for (json, times) in [
        (
            r#"{"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1787313600000"}}}}"#,
            vec![at(noon)],
        ),
        (
            r#"{"resets_at": 1787313600, "resets_in_seconds": 40}"#,
            vec![after(40), at(noon)],
        ),
        (
            r#"{"reset_at": "2026-08-21T12:00:00Z", "message": "resets at 2026-08-21T14:00:00Z"}"#,
            vec![at(two)],
        ),
        (
            r#"{"retry_after": 5, "message": "resets at 2026-08-21T14:00:00Z"}"#,
            vec![after(5)],
        ),
        (
            r#"{"retry_after": "2026-08-21T14:00:00Z", "reset_after": 7}"#,
            vec![at(two)],
        ),
        (r#"{"retry_after": 0, "reset_after": 7}"#, vec![after(7)]),
        (
            r#"{"request": {"resets_at": 1787313600}, "resets_at": "2026-08-21 14:00:00"}"#,
            vec![],
        ),
    ] {
        assert_eq!(read(json).retry_times(), times, "{json}");
    }
    let asked = |json| read(json).asked_times();
    assert_eq!(
        asked(r#"{"retryDelay": "3s", "resets_in_seconds": 40}"#),
        [after(3)]
    );
    assert_eq!(
        asked(r#"{"resets_in_seconds": 40, "message": "retry in 2s"}"#),
        []
    );
}

#[test]
fn an_error_is_recognized_by_the_shape_of_its_outermost_object() {
    for json in [
        r#"{"error": {"message": "x"}}"#,
        r#"{"error": "x", "code": "y"}"#,
        r#"{"type": "error", "code": "y"}"#,
        r#"{"type": "response.failed", "response": {"error": {"code": "y"}}}"#,
        r#"{"throttlingException": {"message": "x"}}"#,
        r#"{"errors": [{"code": 1}], "success": false}"#,
    ] {
        assert!(read(json).is_error(), "{json}");
    }
    for json in [
        r#"{"error": null, "choices": []}"#,
        r#"{"error": {}, "code": "y"}"#,
        r#"{"error": "", "errors": [], "code": "y"}"#,
        r#"{"choices": [{"message": {"tool_calls": [{"arguments": "{\"error\": \"x\"}"}]}}]}"#,
        r#"{"type": "response.completed", "output": [{"error": {"code": "y"}}]}"#,
        r#"{"message": "error"}"#,
    ] {
        assert!(!read(json).is_error(), "{json}");
    }
}

#[test]
fn pointers_beyond_those_of_one_walk_are_looked_up_too() {
    let pointers: Vec<Pointer> = (0..100)
        .map(|at| Pointer::parse(&format!("/{at}")).unwrap())
        .collect();
    let items: Vec<String> = (0..100).map(|at| format!("\"v{at}\"")).collect();
    let body = read(&format!("[{}]", items.join(","))).with_pointers(&pointers);
    for (at, pointer) in pointers.iter().enumerate() {
        let found = body.at(pointer);
        assert_eq!(found[0].as_ref().unwrap().as_str(), format!("v{at}"));
    }
}

#[test]
fn a_body_that_may_continue_is_not_certain() {
    let pointer = Pointer::parse("/code").unwrap();
    for text in [
        r#"{"code": "BUSY"}"#,
        "no room",
        "<Error><Code>A</Code></Error>",
        "",
    ] {
        let body = || ErrorBody::read(text.as_bytes());
        for (body, certain) in [(body(), true), (body().cut(true), false)] {
            assert_eq!(body.is_certain_at(&pointer), certain, "{text}");
            assert_eq!(body.is_certain_xml("Code"), certain, "{text}");
            assert_eq!(body.is_unambiguous(), certain, "{text}");
        }
    }
}

#[test]
fn tokens_in_a_message_of_broken_json_are_not_certain() {
    for (text, certain) in [
        (r#"{"message": "{\"code\": \"A\"}"}"#, true),
        (r#"{"message": "[no] room"}"#, true),
        (r#"{"message": "{\"code\": \"A\""}"#, false),
        (
            r#"{"message": "{\"code\": \"A\", \"code\": \"B\"}"}"#,
            false,
        ),
        (r#"{"code": "A", "code": "B"}"#, false),
    ] {
        let body = ErrorBody::read(text.as_bytes());
        assert_eq!(body.is_unambiguous(), certain, "{text}");
    }
}

#[test]
fn a_body_is_read_by_the_first_who_looks_at_it_and_once() {
    let json = br#"{"error": {"code": "busy"}, "message": "try again in 3 s"}"#;
    let mut body = ErrorBody::default();
    assert_eq!(work::of(|| body = ErrorBody::read(json)), 0);
    assert!(work::of(|| assert_eq!(body.codes(), ["busy"])) > 0);
    assert_eq!(work::of(|| assert!(!body.labels().is_empty())), 0);
}
