//! The server by itself, on real sockets.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LIMIT: Duration = Duration::from_secs(30);
const HELLO: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello you"}]}"#;
const HELLO_STREAMED: &str =
    r#"{"stream":true,"messages":[{"role":"user","content":"hello you"}]}"#;

/// The head and the body of the answer; of a longer one, what has come once there are so many bytes.
async fn ask(server: &LlmServer, key: &str, body: &str, most: usize) -> (String, String) {
    let address = server.url().strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/v1").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    let mut answer = Vec::new();
    let asked = async {
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server may have heard enough.
        let _ = stream.write_all(body.as_bytes()).await;
        while answer.len() < most && stream.read_buf(&mut answer).await.is_ok_and(|n| n > 0) {}
    };
    timeout(LIMIT, asked).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

async fn said(server: &LlmServer, body: &str) -> (String, String) {
    ask(server, "k", body, usize::MAX).await
}

async fn in_trouble(trouble: Trouble) -> LlmServer {
    let rules = Rules {
        trouble: chosen([(1, trouble)]),
        ..Rules::default()
    };
    LlmServer::start(rules).await.unwrap()
}

#[tokio::test]
async fn a_completion_says_back_what_was_said_whole_and_in_pieces() {
    let server = LlmServer::start(Rules::default()).await.unwrap();
    let (head, body) = said(&server, HELLO).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        body.contains(r#""content":"You said: hello you""#),
        "{body}"
    );
    let (head, body) = said(&server, HELLO_STREAMED).await;
    assert!(head.contains("text/event-stream"), "{head}");
    assert!(body.contains(r#"{"content":"hello "}"#), "{body}");
    assert!(body.contains("data: [DONE]"), "{body}");
    assert_eq!(
        server.served("k").iter().map(|s| s.accepted).sum::<u32>(),
        2
    );
}

#[tokio::test]
async fn each_key_has_a_quota_of_its_own_and_is_told_of_it() {
    let server = LlmServer::start(Rules {
        quota: Some(Quota {
            requests: 1,
            window: Duration::from_secs(600),
        }),
        quota_headers: true,
        ..Rules::default()
    })
    .await
    .unwrap();
    let status = async |key| ask(&server, key, HELLO, usize::MAX).await.0;
    assert!(
        status("a")
            .await
            .contains("x-ratelimit-remaining-requests: 0")
    );
    let refused = status("a").await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("retry-after: 600") || refused.contains("retry-after: 59"));
    assert!(refused.contains("x-ratelimit-reset-requests: 9m5") || refused.contains(": 10m"));
    assert!(status("b").await.starts_with("HTTP/1.1 200"));
    let counted = server.served("a");
    let sum = |of: fn(&Second) -> u32| counted.iter().map(of).sum::<u32>();
    assert_eq!((sum(|s| s.accepted), sum(|s| s.rejected)), (1, 1));
}

#[tokio::test]
async fn each_trouble_has_its_answer() {
    let wait = Duration::from_millis(1_234);
    for (trouble, body, expected) in [
        (Trouble::RateLimited(wait), HELLO, ["429", "retry-after: 2"]),
        (
            Trouble::InsufficientQuota,
            HELLO,
            ["429", "insufficient_quota"],
        ),
        (Trouble::Unavailable, HELLO, ["503", "server_error"]),
        (Trouble::Overloaded, HELLO, ["529", "overloaded_error"]),
        (
            Trouble::StreamOverloaded,
            HELLO,
            ["529", "overloaded_error"],
        ),
        (
            Trouble::StreamOverloaded,
            HELLO_STREAMED,
            ["200", "event: error"],
        ),
    ] {
        let server = in_trouble(trouble).await;
        let (head, told) = said(&server, body).await;
        let answer = format!("{head}\n{told}");
        assert!(
            head.starts_with(&format!("HTTP/1.1 {}", expected[0])),
            "{answer}"
        );
        assert!(answer.contains(expected[1]), "{answer}");
        assert!(said(&server, HELLO).await.0.starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn a_delay_can_be_said_in_every_way() {
    for (hint, expected) in [
        (Hint::Seconds, "retry-after: 2\r"),
        (Hint::Millis, "retry-after-ms: 1234\r"),
        (Hint::Prose, "Please try again in 1.234s."),
        (Hint::Silent, "Rate limit reached for requests.\""),
    ] {
        let trouble = Trouble::RateLimited(Duration::from_millis(1_234));
        let rules = Rules {
            hint,
            trouble: chosen([(1, trouble)]),
            ..Rules::default()
        };
        let (head, body) = said(&LlmServer::start(rules).await.unwrap(), HELLO).await;
        let answer = format!("{head}\r\n{body}");
        assert!(answer.contains(expected), "{answer}");
        let others = answer.matches("retry-after").count() + answer.matches("again in").count();
        assert_eq!(others, usize::from(hint != Hint::Silent), "{answer}");
    }
}

#[tokio::test]
async fn an_error_body_need_not_end() {
    let server = in_trouble(Trouble::Endless(500)).await;
    let (head, body) = ask(&server, "k", HELLO, 1 << 20).await;
    assert!(head.starts_with("HTTP/1.1 500") && body.len() > 1 << 19);
    assert!(server.endless_bytes() >= 1 << 19);
    let server = in_trouble(Trouble::Stalled(429)).await;
    let (head, body) = ask(&server, "k", HELLO, 150).await;
    assert!(head.starts_with("HTTP/1.1 429") && body.contains("server_error"));
}

#[tokio::test]
async fn what_is_too_long_or_wrong_is_refused() {
    let rules = Rules {
        context: Some(10),
        ..Rules::default()
    };
    let server = LlmServer::start(rules).await.unwrap();
    let huge = format!(
        r#"{{"messages":[{{"content":"{}"}}]}}"#,
        "a".repeat(MOST_BODY)
    );
    assert!(said(&server, &huge).await.0.starts_with("HTTP/1.1 413"));
    let (head, body) = said(&server, &HELLO.replace("hello you", &"a".repeat(44))).await;
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    assert!(body.contains("context_length_exceeded"), "{body}");
    assert!(
        body.contains("maximum context length is 10 tokens"),
        "{body}"
    );
    assert!(body.contains("resulted in 11 tokens"), "{body}");
    let (head, _) = ask(&server, "", HELLO, usize::MAX).await;
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    assert!(said(&server, "no").await.0.starts_with("HTTP/1.1 400"));
}

#[test]
fn trouble_comes_as_often_as_it_should_for_the_same_calls() {
    let plan = sometimes(100, 7, Trouble::Overloaded);
    let struck = |plan: &Plan| {
        (1..=10_000)
            .filter(|n| plan(*n).is_some())
            .collect::<Vec<_>>()
    };
    assert!((900..=1_100).contains(&struck(&plan).len()));
    assert_eq!(
        struck(&plan),
        struck(&sometimes(100, 7, Trouble::Overloaded))
    );
}
