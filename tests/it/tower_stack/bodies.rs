//! What is sent again, and what comes back.

use super::stack::*;
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use http_retry::testing::Script;
use http_retry::{Replay, ReplayBody, StopReason};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tower::{BoxError, Layer, ServiceExt, service_fn};

#[test]
fn a_string_is_sent_whole_every_time() {
    let received = received(String::from("all of it"), |body| body);
    assert_eq!(received, ["all of it"; 3]);
}

#[test]
fn a_full_body_is_sent_whole_every_time() {
    let received = received(Full::<Bytes>::from("all of it"), read_whole);
    assert_eq!(received, ["all of it"; 3]);
}

#[test]
fn an_empty_body_is_sent_every_time() {
    let received = received(Empty::<Bytes>::new(), read_whole);
    assert_eq!(received, [""; 3]);
}

#[test]
fn a_stream_within_its_limit_is_sent_whole_every_time() {
    let received = received(ReplayBody::new(stream()), read_whole);
    assert_eq!(received, ["all of it"; 3]);
}

#[test]
fn a_stream_over_its_limit_is_sent_whole_and_once() {
    let received = received(ReplayBody::with_limit(stream(), 8), read_whole);
    assert_eq!(received, ["all of it"]);
}

#[test]
fn the_report_says_that_a_stream_cannot_be_sent_twice() {
    for method in ["PUT", "POST"] {
        let request = || {
            http::Request::builder()
                .method(method)
                .body(ReplayBody::with_limit(stream(), 0))
                .unwrap()
        };
        for request in [request(), with_slot(request()).0] {
            let client = Script::new().status(500).body("sorry");
            let sent = layer().layer(client.clone()).oneshot(request);
            let response = sent.now_or_never().unwrap().unwrap();
            assert_eq!(client.calls().len(), 1);
            assert_eq!(report(&response).stop, StopReason::BodyNotReplayable);
            assert_eq!(body_of(response), "sorry");
        }
    }
}

#[test]
fn every_attempt_has_the_same_head() {
    let mut stack = Stack::new(policy());
    let request = || {
        http::Request::put("http://api.example/a?b=c")
            .header("x-trace", "7")
            .version(http::Version::HTTP_10)
            .body(String::from("d"))
            .unwrap()
    };
    let mut call = stack.start(request());
    for _ in 0..2 {
        assert_same_head(&stack.received_and_answered(status(503)), &request());
        stack.next_retry(&mut call);
    }
    assert_same_head(&stack.received_and_answered(status(200)), &request());
    assert_eq!(call.end().unwrap().status(), 200);
}

#[test]
fn the_body_of_a_success_after_a_failure_is_the_servers() {
    let client = Script::new()
        .status(503)
        .body("sorry")
        .status(200)
        .body("done");
    let response = sent_through(layer(), &client, get()).unwrap();
    assert_eq!(body_of(response), "done");
}

#[test]
fn the_body_of_the_last_failure_is_the_servers() {
    let client = Script::new();
    let client = ["a", "b", "c"]
        .into_iter()
        .fold(client, |client, body| client.status(503).body(body));
    let response = sent_through(layer(), &client, get()).unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(body_of(response), "c");
}

impl Stack {
    fn received_and_answered(&mut self, response: Response) -> Request {
        let (request, reply) = self.received();
        reply.send_response(response);
        request
    }
}

fn assert_same_head(received: &Request, sent: &Request) {
    assert_eq!(received.method(), sent.method());
    assert_eq!(received.uri(), sent.uri());
    assert_eq!(received.version(), sent.version());
    assert_eq!(received.headers(), sent.headers());
    assert_eq!(received.body(), sent.body());
}

/// The bodies that reach a server that always answers 503 and reads them to their end.
fn received<B>(body: B, read: fn(B) -> String) -> Vec<String>
where
    B: Replay + Send + 'static,
{
    let received = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&received);
    let server = service_fn(move |request: http::Request<B>| {
        record.lock().unwrap().push(read(request.into_body()));
        std::future::ready(Ok::<_, BoxError>(status(503)))
    });
    let request = http::Request::put("http://api.example/a")
        .body(body)
        .unwrap();
    let sent = layer().layer(server).oneshot(request).now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 503);
    let received = received.lock().unwrap();
    received.clone()
}

fn stream() -> impl http_body::Body<Data = Bytes, Error = Infallible> + Send {
    let chunks = ["all", " of", " it"].map(|chunk| Ok(http_body::Frame::data(Bytes::from(chunk))));
    StreamBody::new(futures_util::stream::iter(chunks))
}

fn read_whole<B>(body: B) -> String
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let whole = body.collect().now_or_never().unwrap().unwrap().to_bytes();
    String::from_utf8(whole.to_vec()).unwrap()
}
