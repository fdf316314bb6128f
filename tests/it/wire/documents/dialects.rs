//! Services that say in their own words what an answer means, on real sockets.

use super::super::server::{Act, Answer, FaultServer};
use super::clock::Clock;
use super::stacks::{Kit, STACKS, Stack, Told};
use crate::in_time::in_time;
use bytes::Bytes;
use http::Request;
use http_retry::StopReason;
use serde_json::{Value, json};
use std::time::Duration;

/// Every service is on this machine: a document says which one it is.
fn kit(dialect: &str) -> Kit {
    let kit = Kit::new(json!({
        "version": 1,
        "gate": "off",
        "retry": {"max_attempts": 3, "jitter": "none", "base": "3s"},
        "dialect": dialect,
    }));
    kit.on(Clock::of_any_length())
}

fn post(url: &str) -> Request<Bytes> {
    Request::post(url).body(Bytes::from("order")).unwrap()
}

fn said(status: u16, headers: &[(&'static str, &str)], body: &Value) -> Act {
    let answer = Answer::new(status).header("content-type", "application/json");
    let answer = headers
        .iter()
        .fold(answer, |answer, (name, value)| answer.header(name, *value));
    Act::Answer(answer.body(body.to_string()))
}

async fn told(stack: Stack, dialect: &str, path: &str, acts: Vec<Act>) -> (Told, usize) {
    let server = FaultServer::start(acts).await;
    let told = kit(dialect).send(stack, post(&server.url(path))).await;
    (told, server.received().len())
}

fn rows(told: &Told) -> Vec<Option<String>> {
    let report = told.report.as_ref().unwrap();
    let attempts = report.attempts.iter();
    attempts
        .map(|attempt| attempt.row.as_deref().map(str::to_owned))
        .collect()
}

fn waits(told: &Told) -> Vec<Duration> {
    let report = told.report.as_ref().unwrap();
    report
        .attempts
        .iter()
        .skip(1)
        .map(|attempt| attempt.delay)
        .collect()
}

#[tokio::test]
async fn github_refuses_with_403_and_says_when() {
    for stack in STACKS {
        let secondary = json!({"message": "You have exceeded a secondary rate limit."});
        let primary = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "20")];
        let acts = vec![
            said(403, &[], &secondary),
            said(429, &primary, &json!({})),
            said(201, &[], &json!({"id": 1})),
        ];
        let (told, sent) = told(stack, "github", "/repos/a/b/issues", acts).await;
        assert_eq!(sent, 3, "{stack:?}");
        assert_eq!(rows(&told)[0].as_deref(), Some("github[1]"), "{stack:?}");
        assert!(waits(&told)[0] >= Duration::from_secs(60), "{stack:?}");
        let whole = told.whole().await;
        assert_eq!(whole.body, r#"{"id":1}"#, "{stack:?}");
    }
}

#[tokio::test]
async fn a_403_without_the_words_is_handed_over_whole() {
    for stack in STACKS {
        let denied = json!({"message": "Resource not accessible by integration"});
        let (told, sent) = told(stack, "github", "/", vec![said(403, &[], &denied)]).await;
        assert_eq!(
            (sent, told.stop()),
            (1, StopReason::NotRetryable),
            "{stack:?}"
        );
        assert_eq!(told.whole().await.body, denied.to_string(), "{stack:?}");
    }
}

#[tokio::test]
async fn aws_throttles_with_400_in_its_body() {
    for stack in STACKS {
        let busy = json!({"__type": "com.amazonaws#ThrottlingException"});
        let wrong = json!({"__type": "com.amazonaws#ValidationException"});
        let acts = vec![said(400, &[], &busy), said(400, &[], &wrong)];
        let (told, sent) = told(stack, "aws", "/", acts).await;
        assert_eq!(
            (sent, told.stop()),
            (2, StopReason::NotRetryable),
            "{stack:?}"
        );
        assert_eq!(told.whole().await.body, wrong.to_string(), "{stack:?}");
    }
}

#[tokio::test]
async fn shopify_throttles_in_a_200() {
    let path = "/admin/api/2024-01/graphql.json";
    for stack in STACKS {
        let slow = json!({"errors": [{"extensions": {"code": "THROTTLED"}}]});
        let done = json!({"data": {"order": {"extensions": {"code": "THROTTLED"}}}});
        let acts = vec![said(200, &[], &slow), said(200, &[], &done)];
        let (told, sent) = told(stack, "shopify", path, acts).await;
        assert_eq!((sent, told.stop()), (2, StopReason::Succeeded), "{stack:?}");
        assert_eq!(told.whole().await.body, done.to_string(), "{stack:?}");
    }
}

#[tokio::test]
async fn stripe_makes_one_order_of_two_attempts() {
    for stack in STACKS {
        let busy = json!({"error": {"code": "idempotency_key_in_use"}});
        let server = FaultServer::start([said(409, &[], &busy), said(201, &[], &json!({}))]).await;
        let request = Request::post(server.url("/v1/orders")).header("idempotency-key", "k");
        let request = request.body(Bytes::from("order")).unwrap();
        let told = kit("stripe").send(stack, request).await;
        assert_eq!(told.stop(), StopReason::Succeeded, "{stack:?}");
        let received = server.received();
        let keys = received
            .iter()
            .filter(|one| one.head.contains("idempotency-key: k"));
        assert_eq!(keys.count(), 2, "{stack:?}");
    }
}

#[tokio::test]
async fn a_grpc_answer_without_a_body_is_a_failure() {
    let head = |status: &'static str, more: &[(&'static str, &str)]| {
        let answer = Answer::new(200).header("content-type", "application/grpc");
        let answer = answer.header("grpc-status", status).body("");
        let more = more.iter();
        Act::Answer(more.fold(answer, |answer, (name, value)| answer.header(name, *value)))
    };
    for stack in STACKS {
        let pushed = || head("14", &[("grpc-retry-pushback-ms", "5000")]);
        let acts = vec![pushed(), head("3", &[])];
        let (told, sent) = told(stack, "grpc", "/pkg.Service/Set", acts).await;
        assert_eq!(
            (sent, told.stop()),
            (2, StopReason::NotRetryable),
            "{stack:?}"
        );
        assert!(waits(&told)[0] >= Duration::from_secs(5), "{stack:?}");

        let server = FaultServer::start([pushed(), pushed(), head("0", &[])]).await;
        let request = post(&server.url("/pkg.Service/Set"));
        let request = with_header(request, "content-type", "application/grpc+proto");
        let told = kit("grpc").send(stack, request).await;
        assert_eq!(told.stop(), StopReason::Succeeded, "{stack:?}");
        assert_eq!(attempts_before(&server), ["", "1", "2"], "{stack:?}");
    }
}

#[tokio::test]
async fn a_pushback_below_nothing_stops_a_grpc_call() {
    for stack in STACKS {
        for pushback in ["-1", "soon"] {
            let answer = Answer::new(200).header("content-type", "application/grpc");
            let answer = answer.header("grpc-status", "14").body("");
            let answer = answer.header("grpc-retry-pushback-ms", pushback);
            let acts = vec![Act::Answer(answer)];
            let (told, sent) = told(stack, "grpc", "/pkg.Service/Set", acts).await;
            assert_eq!(
                (sent, told.stop()),
                (1, StopReason::NotRetryable),
                "{stack:?} {pushback}"
            );
        }
    }
}

#[tokio::test]
async fn only_a_grpc_request_says_how_often_it_was_sent() {
    for stack in STACKS {
        let server = FaultServer::start([said(429, &[], &json!({})), said(201, &[], &json!({}))]);
        let server = server.await;
        let told = kit("none").send(stack, post(&server.url("/orders"))).await;
        assert_eq!(told.stop(), StopReason::Succeeded, "{stack:?}");
        assert_eq!(attempts_before(&server), ["", ""], "{stack:?}");
    }
}

fn with_header(mut request: Request<Bytes>, name: &'static str, value: &str) -> Request<Bytes> {
    let value = value.parse().unwrap();
    request.headers_mut().insert(name, value);
    request
}

/// What each request that a server has seen says of those before it.
fn attempts_before(server: &FaultServer) -> Vec<String> {
    let received = server.received();
    let said = received.iter().map(|request| {
        let lines = request.head.lines();
        let mut said = lines.filter_map(|line| line.strip_prefix("grpc-previous-rpc-attempts: "));
        said.next().unwrap_or_default().to_owned()
    });
    said.collect()
}

/// A gate for the bucket that an answer names: the routes that share it wait together, and no other does.
#[tokio::test]
async fn discord_closes_the_bucket_that_it_names() {
    let full = |wait: &'static str| {
        let head = [("x-ratelimit-bucket", "b"), ("retry-after", wait)];
        said(429, &head, &json!({"retry_after": 20, "global": false}))
    };
    let done = || said(200, &[], &json!({}));
    let document = json!({
        "version": 1,
        "gate": "on",
        "retry": {"max_attempts": 3, "jitter": "none", "base": "3s"},
        "dialect": "discord",
    });
    for stack in STACKS {
        let kit = Kit::new(document.clone()).on(Clock::of_any_length());
        let client = kit.client(stack);
        let (one, other) = (
            [full("20"), done(), done()],
            [full("30"), done(), done(), done()],
        );
        let server = FaultServer::start(one.into_iter().chain(other)).await;
        let send = async |path: &str| {
            let told = in_time(client.send(post(&server.url(path)))).await;
            let answer = told.result.unwrap();
            assert_eq!(answer.response.status(), 200, "{stack:?} {path}");
            kit.clock.waits().len()
        };
        // The first route meets the limit, and waits for it.
        let before = send("/channels/1").await;
        assert!(before > 0, "{stack:?}");
        // A route of another bucket is free.
        assert_eq!(send("/guilds/1").await, before, "{stack:?}");
        // Another route meets the same bucket, which is still nothing to the first one.
        let after = send("/channels/2").await;
        assert!(after > before, "{stack:?}");
        assert_eq!(send("/guilds/1").await, after, "{stack:?}");
    }
}
