//! What is known of a client's redirects, and what takes it back.

use super::super::schedules::{STALLS, Steered};
use super::super::server::{Act, Answer, FaultServer};
use super::client::{
    ADAPTERS, Adapter, Client, Log, State, following, listener, middleware, order, plain,
};
use super::without_waits;
use crate::in_time::in_time;
use crate::listening::{self, nobody};
use http::Method;
use http_retry::reqwest::{RetryMiddleware, redirect_policy};
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::{Class, ErrorKind, Outcome, Reach, ReportSlot, RetryPolicy, StopReason};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest_middleware::ClientBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn redirect(status: u16, location: &str) -> Act {
    Act::Answer(Answer::new(status).header("location", location))
}

/// A client that was told one thing and does another.
fn told_wrong(adapter: Adapter, told: State) -> Client {
    let client = following(Policy::default());
    Client::around(client, adapter, told, without_waits(3), true)
}

/// The end of an order to a server that is busy once.
async fn busy_order(client: &Client) -> (StopReason, usize) {
    let server = FaultServer::start([Act::status(429)]).await;
    let call = client.send(Method::POST, &server.url("/known")).await;
    (call.report.unwrap().stop, server.received().len())
}

#[tokio::test]
async fn an_answer_from_elsewhere_disproves_what_was_told() {
    for adapter in ADAPTERS {
        for told in [State::Off, State::Watched] {
            let client = told_wrong(adapter, told);
            let why = format!("{client:?}");
            assert_eq!(
                busy_order(&client).await,
                (StopReason::Succeeded, 2),
                "{why}"
            );
            let server = FaultServer::start([redirect(302, "/elsewhere")]).await;
            let page = client.send(Method::GET, &server.url("/page")).await;
            assert_eq!(page.status, Some(200));
            let unknown = (StopReason::RedirectsUnknown, 1);
            assert_eq!(busy_order(&client).await, unknown, "{why}");
        }
    }
}

#[tokio::test]
async fn a_success_from_elsewhere_disproves_it_where_nobody_is_told() {
    for adapter in ADAPTERS {
        let client = following(Policy::default());
        let client = Client::around(client, adapter, State::Watched, without_waits(3), false);
        let server = FaultServer::start([redirect(302, "/elsewhere")]).await;
        client.send(Method::GET, &server.url("/page")).await;
        let unknown = (StopReason::RedirectsUnknown, 1);
        assert_eq!(busy_order(&client).await, unknown, "{client:?}");
    }
}

#[tokio::test]
async fn redirects_that_are_seen_disprove_nothing() {
    for adapter in ADAPTERS {
        let client = Client::new(adapter, State::Watched, without_waits(3), true);
        let server = FaultServer::start([redirect(302, "/elsewhere")]).await;
        client.send(Method::GET, &server.url("/page")).await;
        let repeated = (StopReason::Succeeded, 2);
        assert_eq!(busy_order(&client).await, repeated, "{client:?}");
    }
}

#[tokio::test]
async fn what_a_client_keeps_of_a_url_is_no_redirect() {
    for (user, path) in [
        ("", "/o#x"),
        ("", ""),
        ("u:p@", "/a/../o?a=%20&b"),
        ("u@", "?x#/@"),
    ] {
        for state in [State::Off, State::Watched] {
            for adapter in ADAPTERS {
                let client = Client::new(adapter, state, without_waits(3), true);
                let server = FaultServer::start([Act::status(429), Act::status(429)]).await;
                let url = format!("http://{user}{}{path}", server.address());
                let call = client.send(Method::POST, &url).await;
                assert_eq!(call.status, Some(200), "{client:?} {url} {call:?}");
            }
        }
    }
}

/// Answers one order by a redirect to its own URL, and goes away.
async fn redirects_and_goes(listener: TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let _ = stream.read(&mut [0; 4096]).await.unwrap();
    drop(listener);
    let answer = "HTTP/1.1 303 See Other\r\nlocation: /url\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_goes_away_after_a_redirect_has_the_order() {
    for (state, stop) in [
        (State::Watched, StopReason::NotIdempotent),
        (State::Unknown, StopReason::RedirectsUnknown),
    ] {
        for adapter in ADAPTERS {
            let listener = listening::listener().await;
            let url = format!("http://{}/gone", listener.local_addr().unwrap());
            let server = tokio::spawn(redirects_and_goes(listener));
            let client = Client::new(adapter, state, without_waits(3), true);
            let report = client.send(Method::POST, &url).await.report.unwrap();
            server.await.unwrap();
            let first = &report.attempts[0];
            assert_eq!(
                (first.error, first.reach),
                (Some(ErrorKind::Connect), Reach::Ambiguous)
            );
            assert_eq!((report.stop, report.attempt_count), (stop, 1), "{client:?}");
        }
    }
}

#[tokio::test]
async fn a_policy_below_decides_what_is_followed() {
    for (inner, stop) in [
        (Policy::none(), StopReason::Succeeded),
        (Policy::limited(0), StopReason::NotRetryable),
        (Policy::custom(stops), StopReason::Succeeded),
        (
            Policy::custom(|attempt| attempt.error("no")),
            StopReason::NotRetryable,
        ),
    ] {
        let client = following(redirect_policy(inner));
        let client = Client::around(
            client,
            Adapter::Middleware,
            State::Watched,
            without_waits(3),
            true,
        );
        let server = FaultServer::start([redirect(303, "/inner-policy")]).await;
        let call = client
            .send(Method::POST, &server.url("/inner-policy"))
            .await;
        assert_eq!(call.report.unwrap().stop, stop);
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn an_outer_middleware_knows_of_redirects_further_in() {
    for inner in [RetryPolicy::never(), without_waits(3)] {
        let log = Log::default();
        let outer = middleware(State::Watched, without_waits(3)).observe(listener(&log));
        let client = ClientBuilder::new(plain(State::Watched))
            .with(outer)
            .with(middleware(State::Watched, inner))
            .build();
        let server = FaultServer::start([redirect(303, "/nested"), Act::status(429)]).await;
        let request = order(Method::POST, &server.url("/nested"));
        let answer = in_time(client.execute(request)).await;
        assert_eq!(answer.unwrap().status(), 429);
        let report = log.lock().unwrap().take().unwrap();
        assert_eq!(report.stop, StopReason::NotIdempotent);
        assert_eq!(server.received().len(), 2);
    }
}

/// A time limit is a proof for this classifier, which knows its server.
fn timeouts_are_refusals() -> RetryPolicy {
    let refused = |outcome: &Outcome<'_>| {
        let timeout = outcome.error_kind() == Some(ErrorKind::Timeout);
        timeout.then_some((Class::Transient, Reach::Refused))
    };
    let builder = without_waits(3).to_builder().classify(refused);
    builder.attempt_timeout(STALLS).build().unwrap()
}

#[tokio::test]
async fn no_classifier_of_timeouts_takes_a_redirect_back() {
    for (acts, state, sent) in [
        (
            vec![redirect(303, "/timeouts"), Act::StallHead],
            State::Watched,
            2,
        ),
        (vec![Act::StallHead], State::Watched, 2),
        (
            vec![redirect(303, "/timeouts"), Act::StallHead],
            State::Unknown,
            2,
        ),
        (vec![Act::StallHead], State::Unknown, 1),
    ] {
        let runtime = Steered::default();
        let retries = RetryMiddleware::new(timeouts_are_refusals()).runtime(runtime.clone());
        let retries = match state {
            State::Watched => retries.redirects_watched(),
            _ => retries,
        };
        let client = ClientBuilder::new(plain(state)).with(retries).build();
        let server = FaultServer::start(acts).await;
        let request = order(Method::POST, &server.url("/timeouts"));
        let answer = tokio::select! {
            answer = in_time(client.execute(request)) => answer,
            never = runtime.cut_off_stalls(&server) => match never {},
        };
        drop(answer);
        assert_eq!(server.received().len(), sent, "{state:?}");
    }
}

/// How often a runner runs an operation that posts an order, and why it stops.
async fn run(runner: Runner, client: reqwest::Client, url: &str) -> (u32, StopReason) {
    let slot = ReportSlot::default();
    let runner = runner.report_to(slot.clone());
    let posted = runner.run_by_policy(|_| client.post(url).body("order").send());
    assert!(in_time(posted).await.unwrap_err().is_connect());
    let report = slot.take().unwrap();
    (report.attempt_count, report.stop)
}

#[tokio::test]
async fn a_runner_knows_of_redirects_what_it_was_told() {
    let runner = || Runner::on(ManualRuntime::new(), without_waits(3)).one_request();
    let (_socket, address) = nobody();
    let closed = format!("http://{address}");
    let server = FaultServer::start(vec![redirect(303, &closed); 2]).await;
    let url = server.url("/runner");
    let unknown = (1, StopReason::RedirectsUnknown);
    let ended = run(runner(), plain(State::Unknown), &url).await;
    assert_eq!(ended, unknown);
    let ended = run(runner(), plain(State::Unknown), &closed).await;
    assert_eq!(ended, unknown);

    let watched = || runner().redirects_watched();
    let ended = run(watched(), plain(State::Watched), &url).await;
    assert_eq!(ended, (1, StopReason::NotIdempotent));
    let repeated = (4, StopReason::AttemptsExhausted);
    let ended = run(watched(), plain(State::Watched), &closed).await;
    assert_eq!(ended, repeated);
    let ended = run(runner().redirects_off(), plain(State::Off), &closed).await;
    assert_eq!(ended, repeated);
    assert_eq!(server.received().len(), 2);
}

fn stops(attempt: Attempt<'_>) -> Action {
    attempt.stop()
}
