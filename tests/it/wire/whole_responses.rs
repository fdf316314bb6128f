//! Small answers over connections that break at any byte: all of them come whole, and no POST is sent twice.

mod ends_early;
pub(crate) mod server;

use super::connections::client::{Client, STACKS, Settings, Speaks, Stack, without_waits};
use super::http2::server::{Breaks, Http2Server, Turn};
use super::stacks::clock::Clock;
use crate::in_time::in_time;
use crate::random::Random;
use bytes::Bytes;
use http::{Method, Request};
use http_retry::RetryPolicy;
use server::{FailingServer, Fault, How, Page};
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);
/// More than the head of any answer here.
const HEAD: usize = 200;

/// Four retries at once, and answers of up to 64 KiB read whole, each within its time.
fn policy() -> RetryPolicy {
    let builder = without_waits(4).to_builder();
    let builder = builder.whole_responses(64 << 10).attempt_timeout(LIMIT);
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
async fn calls_that_read_whole_responses_can_be_spawned() {
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
