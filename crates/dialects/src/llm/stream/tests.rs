mod frames;
mod linear;
mod properties;

use super::*;
use serde_json::{Value, json};

/// The decision about a whole stream, and whether its end had to be seen first.
fn decide(bytes: &[u8]) -> (Peeked, bool) {
    let mut peek = Peek::new();
    match peek.feed(bytes) {
        Peeked::Hold => (peek.end(), true),
        seen => (seen, false),
    }
}

fn seen(bytes: &str) -> Peeked {
    decide(bytes.as_bytes()).0
}

fn error(value: &Value) -> Peeked {
    Peeked::Error(value.to_string().into_bytes())
}

/// An error compared as JSON, not as text.
fn same(seen: &Peeked, wanted: &Value) -> bool {
    let Peeked::Error(error) = seen else {
        return false;
    };
    serde_json::from_slice::<Value>(error).is_ok_and(|error| error == *wanted)
}

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const FAIL: &str = "data: {\"error\":{\"type\":\"server_error\"}}\n\n";

fn failure() -> Peeked {
    error(&json!({"error": {"type": "server_error"}}))
}

#[test]
fn line_ends_are_of_three_kinds() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!(": hello{end}{end}id: 1{end}data: {{\"choices\":[]}}{end}{end}{FAIL}");
        assert_eq!(seen(&stream), failure(), "{end:?}");
        let two = format!("event: x{end}data: {{\"error\":{end}data: \"busy\"}}{end}{end}");
        assert!(same(&seen(&two), &json!({"error": "busy"})), "{end:?}");
    }
}

#[test]
fn a_return_ends_a_line_before_its_feed_is_there() {
    let mut peek = Peek::new();
    assert_eq!(
        peek.feed(b"data: {\"choices\":[{\"text\":\"a\"}]}\r"),
        Peeked::Hold
    );
    assert_eq!(peek.feed(b"\n\r"), Peeked::Output);
}

#[test]
fn a_mark_of_byte_order_is_passed_over_at_the_start_alone() {
    let later = "data: {\"error\":\"\u{feff}b\"}\n\n";
    assert_eq!(seen(later), error(&json!({"error": "\u{feff}b"})));
    assert_eq!(seen(&format!("\u{feff}{FAIL}")), failure());
    assert_eq!(
        seen("\u{feff}{\"error\":\"busy\"}"),
        error(&json!({"error": "busy"}))
    );
}

#[test]
fn fields_are_read_as_the_format_says() {
    assert_eq!(
        seen("data:{\"error\":\"a\"}\n\n"),
        error(&json!({"error": "a"}))
    );
    assert_eq!(
        seen("retry: 3000\nid\nfoo: bar\ndata\n\n"),
        Peeked::Incomplete
    );
    assert_eq!(seen(" data: {\"error\":\"a\"}\n\n"), Peeked::Incomplete);
    assert_eq!(seen("event: error\n\n"), Peeked::Incomplete);
    assert_eq!(seen("event: error\n\ndata: [DONE]\n\n"), Peeked::Output);
    assert_eq!(
        seen("event:error\ndata:{\"message\":\"m\"}\n\n"),
        error(&json!({"message": "m"}))
    );
}

#[test]
fn what_says_nothing_is_held_however_much_of_it_comes() {
    let mut peek = Peek::new();
    for quiet in [
        ": keep-alive\n\n",
        ":\n\n",
        "retry: 100\n\n",
        "id: 7\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "data: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n",
        "data:\n\n",
        ": OPENROUTER PROCESSING\n\n",
        "event: ping\ndata: 2026-08-21\n\n",
        "data: {\"choices\":",
        "[]}\n\n",
    ] {
        assert_eq!(peek.feed(quiet.as_bytes()), Peeked::Hold, "{quiet}");
    }
    assert_eq!(peek.end(), Peeked::Incomplete);
}

#[test]
fn a_decision_is_final() {
    let mut peek = Peek::new();
    assert_eq!(
        peek.feed(format!("{HELLO}{FAIL}").as_bytes()),
        Peeked::Output
    );
    assert_eq!(peek.feed(FAIL.as_bytes()), Peeked::Output);
    assert_eq!(peek.end(), Peeked::Output);
    let mut peek = Peek::new();
    assert_eq!(peek.feed(format!("{FAIL}{HELLO}").as_bytes()), failure());
    assert_eq!(peek.feed(HELLO.as_bytes()), failure());
    assert_eq!(peek.end(), failure());
    let mut peek = Peek::new();
    assert_eq!(peek.end(), Peeked::Incomplete);
    assert_eq!(peek.feed(HELLO.as_bytes()), Peeked::Incomplete);
}

#[test]
fn an_end_without_the_last_blank_line_still_ends_an_event() {
    for cut in [
        "data: {\"error\":\"a\"}",
        "data: {\"error\":\"a\"}\n",
        "data: {\"error\":\"a\"}\r\n",
    ] {
        assert_eq!(seen(cut), error(&json!({"error": "a"})), "{cut}");
    }
    assert_eq!(seen("data: [DONE]"), Peeked::Output);
    assert_eq!(decide(b"data: plain words"), (Peeked::Output, true));
}

#[test]
fn blank_lines_between_events_may_be_missing() {
    let start = "data: {\"type\":\"message_start\"}\n";
    let hello = HELLO.trim_end();
    for stream in [
        format!("{start}{hello}\ndata: [DONE]\n"),
        format!("{start}{hello}\n"),
        format!("{start}data: [DONE]"),
        format!("{hello}\ndata: {{\"choices\":[]}}"),
    ] {
        assert_eq!(seen(&stream), Peeked::Output, "{stream}");
    }
    assert_eq!(seen(&format!("{start}{FAIL}")), failure());
    assert_eq!(seen(&format!("{start}{start}")), Peeked::Incomplete);
    let named = "event: ping\ndata: {}\nevent: error\ndata: {\"code\":\"busy\"}\n";
    assert_eq!(seen(named), error(&json!({"code": "busy"})));
    let name_last = "data: {\"code\":\"busy\"}\nevent: error\n\n";
    assert_eq!(seen(name_last), error(&json!({"code": "busy"})));
}

#[test]
fn an_end_in_the_middle_of_an_event_is_no_answer() {
    for cut in [
        "",
        "\n\n",
        "dat",
        "data:",
        "data: [DON",
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi",
        "event: error\ndata: {\"type\":\"err",
        "event: error",
        ": comment",
        "{\"error\":{\"message\":\"Ove",
        "[",
        "<html>Bad gateway</html>",
        "upstream connect error",
    ] {
        assert_eq!(decide(cut.as_bytes()), (Peeked::Incomplete, true), "{cut}");
    }
    assert_eq!(decide(b"data: \"caf\xc3").0, Peeked::Incomplete);
}

#[test]
fn no_more_than_64_kib_are_held_back() {
    let comment = format!(":{}\n", "x".repeat(62));
    let mut held = comment.repeat(MAX_HOLD_BYTES / comment.len()).into_bytes();
    assert_eq!(held.len(), MAX_HOLD_BYTES);
    let mut peek = Peek::new();
    assert_eq!(peek.feed(&held), Peeked::Hold);
    assert_eq!(peek.feed(b":"), Peeked::Output);
    let place = MAX_HOLD_BYTES - FAIL.len() - 1;
    held.truncate(place);
    held.push(b'\n');
    assert_eq!(decide(&[&held, FAIL.as_bytes()].concat()).0, failure());
    held.push(b'\n');
    assert_eq!(decide(&[&held, FAIL.as_bytes()].concat()).0, Peeked::Output);
}

#[test]
fn an_endless_line_is_let_go() {
    for start in ["data: {\"error\":\"", ": ", "x", "{\"error\":\"", "event: "] {
        let stream = format!("{start}{}", "y".repeat(MAX_HOLD_BYTES));
        assert_eq!(
            decide(stream.as_bytes()),
            (Peeked::Output, false),
            "{start}"
        );
    }
}

#[test]
fn what_is_no_text_is_let_go_at_once() {
    for bytes in [
        &b"\x00\x00\x00\x7c\x00\x00\x00\x57"[..],
        b"\x1f\x8b\x08\x00",
        b"data: \xff\xfe\n",
        b"\x28\xb5\x2f\xfd\n",
        b"{\"a\":\"\xff\"}",
    ] {
        assert_eq!(decide(bytes), (Peeked::Output, false), "{bytes:?}");
    }
    assert_eq!(decide(b"\x28\xb5\x2f\xfd").0, Peeked::Output);
}

#[test]
fn a_json_body_is_an_error_or_the_answer() {
    let unavailable = json!({"code": "The service is currently unavailable", "error": "busy"});
    let failed =
        json!({"id": "r", "object": "response", "status": "failed", "error": {"code": "x"}});
    for body in [&unavailable, &failed] {
        assert!(same(&seen(&body.to_string()), body));
        assert!(same(&seen(&format!("\n  {body:#}\n")), body));
        assert!(same(&seen(&format!("[{body}]")), body));
        assert!(same(&seen(&format!(" [ {body} , {{}}")), body));
        assert!(same(&seen(&format!(": wait\n\n{body}")), body));
    }
    for answer in [
        r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{}}"#,
        r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#,
        r#"{"error":null,"output":[]}"#,
        r#"[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}"#,
        "{\"response\":\"\",\"done\":false}\n",
        "{}",
        "[]",
        "[1,2]",
        "{]",
        "[DONE]",
    ] {
        assert_eq!(
            decide(answer.as_bytes()),
            (Peeked::Output, false),
            "{answer}"
        );
    }
}

#[test]
fn braces_in_strings_do_not_end_a_body() {
    let body = json!({"error": {"message": "}}]\"\\{[", "n": [{"a": "\\"}]}});
    assert!(same(&seen(&body.to_string()), &body));
}

#[test]
fn a_brace_inside_an_event_is_not_a_body() {
    let stream = format!("data: {{\"choices\":[]}}\n{{\"error\":\"x\"}}\n\n{HELLO}");
    assert_eq!(seen(&stream), Peeked::Output);
}
