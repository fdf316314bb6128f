//! Small answers over connections that break at any byte: all of them come whole, and no POST is sent twice.

pub(crate) mod server;

use super::connections::client::{
    Answer, Client, STACKS, Settings, Speaks, Stack, bare_hyper, without_waits,
};
use super::http2::server::{Breaks, Http2Server, Turn};
use super::stacks::clock::Clock;
use crate::in_time::in_time;
use crate::random::Random;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use hyper::body::Incoming;
use server::{FailingServer, Fault, How, Page};
use std::sync::Arc;
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

const LIMIT: Duration = Duration::from_secs(5);
/// More than the head of any answer here.
const HEAD: usize = 200;

/// Four retries at once, and answers of up to 64 KiB read whole, each within its time.
fn policy() -> RetryPolicy {
    let builder = without_waits(4).to_builder();
    let builder = builder.whole_answers(64 << 10).attempt_timeout(LIMIT);
    builder.build().unwrap()
}

/// A server, and the clock that runs out whenever it stalls.
async fn server(speaks: Speaks, page: Page) -> (FailingServer, Clock) {
    let clock = Clock::new();
    let runs = clock.clone();
    let server = FailingServer::start(speaks, page, Arc::new(move || runs.advance(LIMIT)));
    (server.await, clock)
}

/// A client that has no connection yet.
fn client(stack: Stack, speaks: Speaks, clock: &Clock) -> Client {
    stack.bare(speaks).with_retries(Settings {
        policy: policy(),
        ..Settings::without_waits(clock.clone())
    })
}

fn page(length: usize) -> Page {
    let words = ["one", "two", "three", "four"].iter().cycle();
    let text: String = words
        .map(|word| format!("\"{word}\","))
        .take(length)
        .collect();
    Page {
        body: Bytes::from(text.into_bytes()).slice(..length),
        chunked: false,
        gzip: false,
    }
}

/// Sends a request, and gives the body as far as it came, if it came whole.
async fn send(client: &Client, method: Method, url: &str) -> Option<Bytes> {
    let request = Request::builder().method(method).uri(url);
    let sent = client.send(request.body(Bytes::new()).unwrap());
    let answer = in_time(sent).await.ok()?;
    assert_eq!(answer.status(), 200);
    in_time(answer.body()).await.ok()
}

#[tokio::test]
async fn an_answer_that_is_cut_at_any_byte_comes_whole() {
    for (speaks, hows) in [
        (Speaks::Http1, &[How::Close, How::Reset, How::Stall][..]),
        (Speaks::Http2, &[How::Close][..]),
    ] {
        let page = page(150);
        let (server, clock) = server(speaks, page.clone()).await;
        for stack in STACKS {
            for after in 0..HEAD + page.body.len() {
                let how = hows[after % hows.len()];
                server.fail([Fault { after, how }]);
                let got = send(&client(stack, speaks, &clock), Method::GET, &server.url()).await;
                assert_eq!(
                    got.as_ref(),
                    Some(&page.body),
                    "{stack:?} {speaks:?} {after} {how:?}"
                );
            }
        }
    }
}

/// Many answers of up to 20 KiB, each with up to three faults.
async fn many(speaks: Speaks, hows: &[How], stack: Stack, rounds: usize) {
    let (server, clock) = server(speaks, page(0)).await;
    let mut random = Random::of(rounds as u64);
    for round in 0..rounds {
        let page = Page {
            chunked: random.below(2) == 0,
            gzip: random.below(2) == 0,
            ..page(random.below(20_000))
        };
        server.answer(page.clone());
        let faults = random.below(4);
        let faults: Vec<_> = (0..faults)
            .map(|_| Fault {
                after: random.below(HEAD / 2 + page.body.len()),
                how: hows[random.below(hows.len())],
            })
            .collect();
        server.fail(faults.iter().copied());
        let got = send(&client(stack, speaks, &clock), Method::GET, &server.url()).await;
        assert_eq!(
            got.as_ref(),
            Some(&page.body),
            "{stack:?} {round} {faults:?}"
        );
    }
}

#[tokio::test]
async fn four_hundred_answers_come_whole_through_three_faults_each() {
    for stack in STACKS {
        many(
            Speaks::Http1,
            &[How::Close, How::Reset, How::Stall],
            stack,
            400,
        )
        .await;
    }
}

#[tokio::test]
async fn on_http2_answers_come_whole_through_three_faults_each() {
    let reqwest = &[How::Close, How::Reset][..];
    many(Speaks::Http2, reqwest, Stack::Reqwest, 100).await;
    // A retry on hyper-util does not share the connection that has stalled.
    let hyper = &[How::Close, How::Reset, How::Stall];
    many(Speaks::Http2, hyper, Stack::Tower, 100).await;
}

#[tokio::test]
async fn an_http2_answer_that_is_reset_without_error_is_broken() {
    for stack in STACKS {
        let reset = Turn::Body(Breaks::Reset(h2::Reason::NO_ERROR));
        let server = Http2Server::start([reset, Turn::Answer(200)]).await;
        let client = client(stack, Speaks::Http2, &Clock::new());
        let got = send(&client, Method::GET, &server.url()).await;
        assert_eq!((got.as_deref(), server.got().len()), (Some(&b""[..]), 2));
    }
}

/// What the caller reads of an answer: the bytes, and the error that comes after them.
async fn read<B>(body: B) -> (Vec<u8>, Option<String>)
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let (mut body, mut came) = (std::pin::pin!(body), Vec::new());
    while let Some(frame) = in_time(body.frame()).await {
        match frame.map_err(Into::into) {
            Ok(frame) => came.extend_from_slice(&frame.into_data().unwrap()),
            Err(error) => {
                assert!(body.frame().await.is_none_or(|frame| frame.is_err()));
                return (came, Some(chain(&*error)));
            }
        }
    }
    (came, None)
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(|error| format!("{error}. ")).collect()
}

#[tokio::test]
async fn half_an_http2_answer_is_never_handed_out_as_a_whole_one() {
    for breaks in [Breaks::Reset(h2::Reason::NO_ERROR), Breaks::GoneAway] {
        for (method, sent) in [(Method::GET, 5), (Method::POST, 1)] {
            for stack in STACKS {
                let server = Http2Server::start([Turn::Body(breaks)]).await;
                let request = Request::builder().method(&method).uri(server.url());
                let request = request.body(Bytes::new()).unwrap();
                let (status, (came, error)) = match stack {
                    Stack::Reqwest => {
                        let client = client(stack, Speaks::Http2, &Clock::new());
                        let Ok(Answer::Reqwest(answer)) = in_time(client.send(request)).await
                        else {
                            panic!("{breaks:?} {method}");
                        };
                        (answer.status(), read(reqwest::Body::from(answer)).await)
                    }
                    Stack::Tower => {
                        let retries = RetryLayer::new(policy()).budget(RetryBudget::unlimited());
                        let client = bare_hyper(Speaks::Http2);
                        let client = client.map_response(|answer: http::Response<Incoming>| {
                            answer.map(|body| body.map_err(BoxError::from))
                        });
                        let answer = retries.layer(client).oneshot(request.map(Full::new));
                        let (head, body) = in_time(answer).await.unwrap().into_parts();
                        (head.status, read(body).await)
                    }
                };
                let error = error.expect("the body ends with an error");
                // Of a connection that goes away, clients may say it themselves.
                let says = "the response body ended after 3 of 9 bytes";
                let by_itself = breaks == Breaks::GoneAway;
                assert!(by_itself || error.contains(says), "{stack:?}: {error}");
                assert_eq!((status.as_u16(), &*came), (200, &b"ans"[..]));
                assert_eq!(server.got().len(), sent, "{stack:?} {breaks:?} {method}");
            }
        }
    }
}

#[tokio::test]
async fn a_post_is_sent_once_wherever_its_answer_breaks() {
    for speaks in [Speaks::Http1, Speaks::Http2] {
        let page = page(150);
        let (server, clock) = server(speaks, page.clone()).await;
        for stack in STACKS {
            for after in (0..HEAD + page.body.len()).step_by(5) {
                let how = [How::Close, How::Reset, How::Stall][after % 3];
                server.fail([Fault { after, how }]);
                let url = format!("{}{stack:?}/{after}/{how:?}", server.url());
                let got = send(&client(stack, speaks, &clock), Method::POST, &url).await;
                assert!(got.is_none_or(|got| got == page.body));
            }
        }
        let mut requests = server.requests();
        let all = requests.len();
        requests.sort();
        requests.dedup();
        assert_eq!(requests.len(), all, "{speaks:?}");
    }
}

#[tokio::test]
async fn calls_that_read_whole_answers_can_be_spawned() {
    let (server, clock) = server(Speaks::Http1, page(5_000)).await;
    let faults = |after| Fault {
        after,
        how: How::Reset,
    };
    server.fail([faults(2_000), faults(3_000)]);
    for stack in STACKS {
        let (client, url) = (client(stack, Speaks::Http1, &clock), server.url());
        let call = tokio::spawn(async move { send(&client, Method::GET, &url).await });
        assert_eq!(call.await.unwrap(), Some(page(5_000).body));
    }
    assert_eq!(server.connections(), 4);
}
