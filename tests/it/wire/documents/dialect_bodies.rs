//! A success whose body a dialect looks at reaches its caller whole, whatever its length, on real sockets.

use super::super::server::{Act, Answer, FaultServer};
use super::clock::Clock;
use super::stacks::{Kit, STACKS};
use crate::in_time::in_time;
use bytes::Bytes;
use http::{Method, Request};
use http_retry::StopReason;
use serde_json::json;

/// As much of a success is read.
const LIMIT: usize = 64 * 1024;
const SIZES: [usize; 6] = [64, LIMIT - 1, LIMIT, LIMIT + 1, 2 * LIMIT, 1024 * 1024 + 7];

/// A dialect that looks at successes, the request that it looks at, and the error that it knows.
struct Looks {
    dialect: &'static str,
    method: Method,
    path: &'static str,
    kind: &'static str,
    error: &'static str,
    /// What stands before and behind the text of a true success.
    around: (&'static str, &'static str),
}

fn looks() -> [Looks; 2] {
    let shopify = Looks {
        dialect: "shopify",
        method: Method::POST,
        path: "/admin/api/2024-01/graphql.json",
        kind: "application/json",
        error: r#"{"errors": [{"extensions": {"code": "THROTTLED"}}]}"#,
        around: (r#"{"data": {"shop": ""#, r#""}}"#),
    };
    let s3 = Looks {
        dialect: "s3",
        method: Method::PUT,
        path: "/bucket/copy",
        kind: "application/xml",
        error: "<Error><Code>SlowDown</Code></Error>",
        around: ("<CopyObjectResult><ETag>", "</ETag></CopyObjectResult>"),
    };
    [shopify, s3]
}

impl Looks {
    /// A success of so many bytes, no two parts of which are alike.
    fn success(&self, size: usize) -> Vec<u8> {
        let (before, behind) = self.around;
        let room = size.saturating_sub(before.len() + behind.len());
        let text = (0..).flat_map(|n: u32| format!("{n} ").into_bytes());
        let text = text.take(room);
        let before = before.bytes();
        before.chain(text).chain(behind.bytes()).collect()
    }

    fn answer(&self, body: impl Into<Vec<u8>>, chunked: bool) -> Act {
        let answer = Answer::new(200).header("content-type", self.kind);
        let answer = answer.body(body);
        Act::Answer(if chunked { answer.chunked() } else { answer })
    }

    fn kit(&self) -> Kit {
        let kit = Kit::new(json!({
            "version": 1,
            "gate": "off",
            "retry": {"max_attempts": 3, "jitter": "none", "base": "3s"},
            "dialect": self.dialect,
        }));
        kit.on(Clock::of_any_length())
    }

    fn request(&self, server: &FaultServer) -> Request<Bytes> {
        let request = Request::builder().method(self.method.clone());
        let request = request.uri(server.url(self.path));
        request.body(Bytes::from("order")).unwrap()
    }
}

#[tokio::test]
async fn every_byte_of_a_success_that_was_looked_at_arrives() {
    for looks in looks() {
        for stack in STACKS {
            let kit = looks.kit();
            for (size, chunked) in SIZES
                .into_iter()
                .flat_map(|size| [(size, false), (size, true)])
            {
                let what = format!("{} {stack:?} {size} {chunked}", looks.dialect);
                let body = looks.success(size);
                let server = FaultServer::start([looks.answer(body.clone(), chunked)]).await;
                let told = kit.send(stack, looks.request(&server)).await;
                assert_eq!(told.status(), 200, "{what}");
                let whole = in_time(told.whole()).await;
                assert!(whole.broken.is_none(), "{what}");
                assert!(whole.body == body, "{what}: {} bytes", whole.body.len());
                assert_eq!(server.received().len(), 1, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_in_a_success_is_repeated_and_then_arrives_whole() {
    for looks in looks() {
        for stack in STACKS {
            for chunked in [false, true] {
                let what = format!("{} {stack:?} {chunked}", looks.dialect);
                let body = looks.success(3 * LIMIT);
                let acts = [
                    looks.answer(looks.error, chunked),
                    looks.answer(body.clone(), chunked),
                ];
                let server = FaultServer::start(acts).await;
                let told = looks.kit().send(stack, looks.request(&server)).await;
                assert_eq!(told.stop(), StopReason::Succeeded, "{what}");
                assert!(in_time(told.whole()).await.body == body, "{what}");
                assert_eq!(server.received().len(), 2, "{what}");
            }
        }
    }
}

/// What is longer than the look, or is still under way when its time is up, is a success as its status says.
#[tokio::test]
async fn an_error_that_is_longer_than_the_look_is_a_success() {
    for looks in looks() {
        for stack in STACKS {
            for chunked in [false, true] {
                let what = format!("{} {stack:?} {chunked}", looks.dialect);
                let error = looks.error.bytes().chain([b' '; 2 * LIMIT]);
                let error: Vec<u8> = error.collect();
                let server = FaultServer::start([looks.answer(error.clone(), chunked)]).await;
                let told = looks.kit().send(stack, looks.request(&server)).await;
                assert_eq!(told.status(), 200, "{what}");
                assert!(in_time(told.whole()).await.body == error, "{what}");
                assert_eq!(server.received().len(), 1, "{what}");
            }
        }
    }
}
