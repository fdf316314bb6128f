//! A rule that looks into error bodies leaves every one of them as it was.

use super::super::connections::client::Speaks;
use super::super::schedules::text;
use super::answer::Whole;
use super::replies::{Framing, Reply, ReplyServer, gzip};
use super::stacks::{Kit, STACKS, Stack, get, send_bare};
use crate::in_time::in_time;
use bytes::Bytes;
use http_body_util::BodyExt;
use http_retry::StopReason;
use serde_json::json;

const KIB: usize = 1024;

/// Sizes below, at and above what is read of a body.
const SIZES: [usize; 5] = [0, 1, 64 * KIB, 64 * KIB + 1, 1024 * KIB];

/// A JSON text of so many bytes, whose code stands at its start where there is room for one.
fn json_of(size: usize) -> Bytes {
    let start = br#"{"code": "busy", "message": "Please slow down", "more": ""#;
    let end = br#""}"#;
    match size.checked_sub(start.len() + end.len()) {
        None => vec![b'7'; size].into(),
        Some(fill) => {
            let text = text(b"abcdefghijklmnopqrstuvwxyz", fill);
            [&start[..], &text, end].concat().into()
        }
    }
}

/// Rules that must look into a body to know that they do not hold, and one that holds by what it finds there.
fn looking() -> Kit {
    Kit::new(json!({
        "version": 1,
        "retry": {"max_retries": 0},
        "rules": [
            {"when": {"code": "other"}, "do": "retry"},
            {"when": {"message": "something else"}, "do": "fail"},
            {"name": "slow", "when": {"code": "busy", "message": "SLOW down"}, "do": "accept"},
        ],
    }))
}

/// What the caller gets of a reply with the rules, and what the client below gives without them.
async fn both(stack: Stack, speaks: Speaks, reply: &Reply) -> (Whole, Whole, StopReason) {
    let server = ReplyServer::start(speaks, reply.clone()).await;
    let url = server.url("/a?b=c");
    let bare = send_bare(stack, speaks, get(&url)).await.unwrap();
    let told = looking().speaking(speaks).send(stack, get(&url)).await;
    let stop = told.stop();
    (bare.whole().await, told.whole().await, stop)
}

async fn assert_same(stack: Stack, speaks: Speaks, reply: &Reply, read: &Bytes) {
    let why = format!(
        "{stack:?} {speaks:?} {:?} {} bytes",
        reply.framing,
        read.len()
    );
    let (bare, told, stop) = both(stack, speaks, reply).await;
    assert_eq!(told.body.len(), read.len(), "{why}");
    assert!(
        told == bare && told.body == *read,
        "{why}: {:?}",
        told.headers
    );
    assert_eq!(
        (told.status.as_u16(), &told.broken),
        (reply.status, &None),
        "{why}"
    );
    let said = told.headers.get_all("set-cookie").iter().count();
    assert_eq!((said, told.url.is_some()), (2, stack.is_reqwest()), "{why}");
    let trailers = told.trailers.map_or(0, |trailers| trailers.len());
    assert_eq!(trailers, reply.trailers.len(), "{why}");
    // Accepted by what was read, where there was a code to read.
    let expected = match read.len() {
        0 | 1 => StopReason::AttemptsExhausted,
        _ => StopReason::Accepted,
    };
    assert_eq!(stop, expected, "{why}");
}

#[tokio::test]
async fn bodies_of_every_size_and_framing_stay_whole_over_http1() {
    for stack in STACKS {
        for size in SIZES {
            for framing in [Framing::Length, Framing::Chunked, Framing::Close] {
                let body = json_of(size);
                let reply = Reply {
                    framing,
                    ..Reply::new(400, body.clone())
                };
                assert_same(stack, Speaks::Http1, &reply, &body).await;
            }
        }
    }
}

#[tokio::test]
async fn bodies_of_every_size_stay_whole_over_http2() {
    for stack in STACKS {
        for size in SIZES {
            for framing in [Framing::Length, Framing::Chunked] {
                let body = json_of(size);
                let reply = Reply {
                    framing,
                    ..Reply::new(400, body.clone())
                };
                assert_same(stack, Speaks::Http2, &reply, &body).await;
            }
        }
    }
}

#[tokio::test]
async fn trailers_come_after_the_body() {
    let versions = [Speaks::Http1, Speaks::Http2];
    for (stack, speaks) in STACKS
        .into_iter()
        .flat_map(|stack| versions.map(|speaks| (stack, speaks)))
    {
        for size in SIZES {
            let body = json_of(size);
            let reply = Reply {
                framing: Framing::Chunked,
                trailers: vec![("x-checksum", "7"), ("x-took", "1 ms")],
                ..Reply::new(400, body.clone())
            };
            assert_same(stack, speaks, &reply, &body).await;
        }
    }
}

#[tokio::test]
async fn a_body_that_reqwest_decodes_is_read_and_given_decoded() {
    let versions = [Speaks::Http1, Speaks::Http2];
    for (stack, speaks) in [Stack::Middleware, Stack::Direct]
        .into_iter()
        .flat_map(|stack| versions.map(|speaks| (stack, speaks)))
    {
        for size in SIZES {
            let body = json_of(size);
            let mut reply = Reply::new(400, gzip(&body));
            reply.headers.push(("content-encoding", "gzip"));
            assert_same(stack, speaks, &reply, &body).await;
        }
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_gives_its_start_and_then_the_error() {
    let framings = [
        (Speaks::Http1, Framing::Length),
        (Speaks::Http1, Framing::Chunked),
        (Speaks::Http2, Framing::Chunked),
    ];
    for (stack, (speaks, framing)) in STACKS
        .into_iter()
        .flat_map(|stack| framings.map(|framing| (stack, framing)))
    {
        for size in [200, 64 * KIB, 300 * KIB] {
            let why = format!("{stack:?} {speaks:?} {framing:?} {size}");
            let body = json_of(size);
            let reply = Reply {
                framing,
                breaks: true,
                ..Reply::new(400, body.clone())
            };
            let (bare, told, stop) = both(stack, speaks, &reply).await;
            assert!(told.broken.is_some(), "{why}");
            assert_eq!(told.broken, bare.broken, "{why}");
            // A stream that is reset may take with it what the client had not read yet.
            if speaks == Speaks::Http1 {
                assert!(
                    told.body == body && bare.body == body,
                    "{why}: {}",
                    told.body.len()
                );
                assert_eq!(stop, StopReason::Accepted, "{why}");
            }
            assert!(body.starts_with(&told.body), "{why}");
            assert_eq!(
                (told.status, told.headers),
                (bare.status, bare.headers),
                "{why}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_was_read_to_its_end_gives_its_connection_back() {
    let framings = [
        (Speaks::Http1, Framing::Length),
        (Speaks::Http1, Framing::Chunked),
        (Speaks::Http2, Framing::Length),
    ];
    for (stack, (speaks, framing)) in STACKS
        .into_iter()
        .flat_map(|stack| framings.map(|framing| (stack, framing)))
    {
        let reply = Reply {
            framing,
            ..Reply::new(400, json_of(64 * KIB))
        };
        let server = ReplyServer::start(speaks, reply).await;
        let client = looking().speaking(speaks).client(stack);
        for _ in 0..3 {
            let told = in_time(client.send(get(&server.url("/")))).await;
            assert_eq!(told.whole().await.body.len(), 64 * KIB, "{stack:?}");
        }
        assert_eq!(server.connections(), 1, "{stack:?} {speaks:?} {framing:?}");
    }
}

#[tokio::test]
async fn an_answer_to_head_stays_without_a_body() {
    for stack in STACKS {
        let body = json_of(200);
        let mut reply = Reply::new(400, Bytes::new());
        // Such a head tells the length of what is not there.
        reply.headers.push(("content-length", "200"));
        reply.framing = Framing::Close;
        let server = ReplyServer::start(Speaks::Http1, reply).await;
        let head = || {
            http::Request::head(server.url("/"))
                .body(Bytes::new())
                .unwrap()
        };
        let bare = send_bare(stack, Speaks::Http1, head()).await.unwrap();
        let told = looking().send(stack, head()).await;
        let (bare, told) = (bare.whole().await, told.whole().await);
        assert_eq!(told, bare, "{stack:?}");
        let length = told.headers["content-length"].to_str().unwrap();
        assert_eq!(
            (length, told.body.len()),
            (&*body.len().to_string(), 0),
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn a_body_tells_what_is_left_of_it() {
    for stack in STACKS {
        for size in [0, 200, 64 * KIB] {
            let server = ReplyServer::start(Speaks::Http1, Reply::new(400, json_of(size))).await;
            let told = looking().send(stack, get(&server.url("/"))).await;
            let mut body = told.result.unwrap().response.into_body();
            assert_eq!(
                http_body::Body::size_hint(&body).exact(),
                Some(size as u64),
                "{stack:?}"
            );
            let mut left = size;
            while let Some(frame) = in_time(body.frame()).await {
                left -= frame.unwrap().into_data().unwrap().len();
                let hint = http_body::Body::size_hint(&body);
                assert_eq!(hint.exact(), Some(left as u64), "{stack:?}");
            }
            assert_eq!(left, 0, "{stack:?}");
        }
    }
}
