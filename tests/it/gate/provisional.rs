//! Refusals whose bodies come late: the gate need not wait for them.

use super::{Answer, Client, SECOND, STACKS, Server, patient};
use http::StatusCode;
use http_retry::policy::{Classify, Scope, Verdict};
use http_retry::{Class, Outcome, Reach, RetryPolicy};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// The time for which each refusal asks.
const ASKED: Duration = Duration::from_secs(300);

/// Knows what a limit affects by the body alone.
struct ByBody;

impl Classify for ByBody {
    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        let status = outcome.status();
        status == Some(StatusCode::TOO_MANY_REQUESTS) || status == Some(StatusCode::BAD_REQUEST)
    }

    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let refused = Verdict::new(Class::Throttled, Reach::Refused);
        Some(match outcome.body()?.text() {
            "account" => refused,
            "route" => refused.scope(Scope::Route),
            "object" => refused.scope(Scope::Request),
            "longer" => refused.at_least(ASKED * 2),
            "broke" => Verdict::new(Class::Permanent, Reach::Answered),
            _ => return None,
        })
    }
}

fn policy() -> RetryPolicy {
    let policy = patient().classifier(ByBody).max_server_delay(None);
    policy.build().unwrap()
}

/// A server that refuses whatever is on `/limited`, and says a second later what it means.
fn limited(body: &'static str) -> Server {
    Server::new(move |path, _| {
        if !path.starts_with("/limited") {
            return Answer::status(200);
        }
        Answer {
            headers: vec![("retry-after", "300")],
            body,
            after: [Duration::ZERO, SECOND],
            ..Answer::status(429)
        }
    })
}

/// Sends so many calls of this path at once, which are not repeated.
fn send(client: &Client, path: &'static str, calls: usize) -> Vec<JoinHandle<Option<u16>>> {
    let send = |_| {
        let client = client.clone();
        tokio::spawn(async move { client.once(path).await })
    };
    (0..calls).map(send).collect()
}

#[tokio::test(start_paused = true)]
async fn a_429_closes_the_gate_before_its_body_is_there() {
    for stack in STACKS {
        let server = limited("account");
        let client = Client::new(stack, policy(), &server);
        let first = send(&client, "/limited", 4);
        sleep(SECOND / 10).await;
        assert_eq!(server.received(), 4);
        // Two of these go as probes.
        let more = send(&client, "/limited", 100);
        sleep(SECOND * 5).await;
        assert!(server.received() <= 6, "{stack:?}: {}", server.received());
        for call in first {
            assert_eq!(call.await.unwrap(), Some(429));
        }
        for call in more {
            call.abort();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_names_one_object_lets_the_others_go() {
    for stack in STACKS {
        for body in ["object", "broke"] {
            let server = limited(body);
            let client = Client::new(stack, policy(), &server);
            let refused = send(&client, "/limited", 5);
            sleep(SECOND / 10).await;
            let begun = Instant::now();
            for call in send(&client, "/others", 40) {
                assert_eq!(call.await.unwrap(), Some(200));
            }
            let waited = begun.elapsed();
            assert!(waited < SECOND * 2, "{stack:?}, {body}: {waited:?}");
            for call in refused {
                assert_eq!(call.await.unwrap(), Some(429));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_names_one_route_stops_its_calls_alone() {
    for stack in STACKS {
        let server = limited("route");
        let client = Client::new(stack, policy(), &server);
        for call in send(&client, "/limited", 4) {
            assert_eq!(call.await.unwrap(), Some(429));
        }
        let begun = Instant::now();
        for call in send(&client, "/others", 40) {
            assert_eq!(call.await.unwrap(), Some(200));
        }
        assert!(begun.elapsed() < SECOND / 10, "{stack:?}");
        // Two probes, and nobody else.
        let more = send(&client, "/limited", 40);
        sleep(SECOND * 9).await;
        assert_eq!(server.received(), 4 + 40 + 2, "{stack:?}");
        for call in more {
            call.abort();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_what_its_head_said() {
    for stack in STACKS {
        let server = limited("object");
        let client = Client::new(stack, policy(), &server);
        let refused = send(&client, "/limited", 4);
        sleep(SECOND / 10).await;
        for call in refused {
            call.abort();
            assert!(call.await.is_err());
        }
        let probes = send(&client, "/limited", 2);
        sleep(SECOND * 2).await;
        let begun = Instant::now();
        assert_eq!(client.once("/others").await, Some(200));
        let waited = begun.elapsed();
        assert!(waited > ASKED - SECOND * 5, "{stack:?}: {waited:?}");
        for call in probes {
            call.abort();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_asks_for_longer_than_its_head_is_heard() {
    for stack in STACKS {
        let server = limited("longer");
        let client = Client::new(stack, policy(), &server);
        // With the probes, so that nobody goes before the end.
        for call in send(&client, "/limited", 4) {
            assert_eq!(call.await.unwrap(), Some(429));
        }
        for call in send(&client, "/limited", 2) {
            assert_eq!(call.await.unwrap(), Some(429));
        }
        let begun = Instant::now();
        assert_eq!(client.once("/others").await, Some(200));
        let waited = begun.elapsed();
        assert!(waited > ASKED * 2 - SECOND * 5, "{stack:?}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_only_the_body_shows_closes_the_gate() {
    for stack in STACKS {
        let server = Server::new(|path, _| match path {
            "/limited" => Answer {
                headers: vec![("retry-after", "300")],
                body: "account",
                ..Answer::status(400)
            },
            _ => Answer::status(200),
        });
        let client = Client::new(stack, policy(), &server);
        // With the probes, so that nobody goes before the end.
        for _ in 0..6 {
            assert_eq!(client.once("/limited").await, Some(400));
        }
        let begun = Instant::now();
        assert_eq!(client.once("/others").await, Some(200));
        let waited = begun.elapsed();
        assert!(waited > ASKED - SECOND * 5, "{stack:?}: {waited:?}");
    }
}
