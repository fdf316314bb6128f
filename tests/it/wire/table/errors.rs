//! Errors as they were: what a caller can ask of an error is the same with the layer and without it.

use super::clients::{Kit, Log, Retries, Stack, policy, reqwest_client};
use super::ending::{Ending, Face};
use super::orders::Order;
use super::situations::{self, Situation};
use crate::in_time::in_time;
use http_retry::reqwest::RetryMiddleware;
use http_retry::{Class, ErrorKind, Reach};

#[tokio::test]
async fn every_error_is_as_it_is_without_retries() {
    for situation in situations::errors::all().await {
        // A path of its own, so that its redirects are not taken for those of a test at the same time.
        let situation = situation.with(|kit| kit.url.push_str("as-it-is"));
        for stack in situation.stacks() {
            for order in [Order::Get, Order::Post] {
                let what = format!("{} {stack:?} {order:?}", situation.name);
                let (bare, _) = sent(&situation, stack, order, Retries::None).await;
                let silent = sent(&situation, stack, order, Retries::Silent).await;
                let told = sent(&situation, stack, order, Retries::Told(Log::default())).await;
                assert_eq!((&silent.0, &silent), (&bare, &told), "{what}");
            }
        }
    }
}

/// How a call ends, and how many requests came of it, where that is counted.
async fn sent(
    situation: &Situation,
    stack: Stack,
    order: Order,
    retries: Retries,
) -> (Ending, Option<usize>) {
    let before = situation.requests();
    let ending = end(situation, stack, order, &retries).await;
    let requests = situation.requests().zip(before);
    (ending, requests.map(|(after, before)| after - before))
}

async fn end(situation: &Situation, stack: Stack, order: Order, retries: &Retries) -> Ending {
    let sent = stack.send(&situation.kit, order, retries);
    situation.run(sent).await
}

/// What reqwest's errors say of themselves, through retries.
const FACES: [(&str, &[&str]); 16] = [
    ("connection refused", &["request", "connect"]),
    ("DNS failure", &["request", "connect", "dns"]),
    ("no connection in time", &["timeout", "request", "connect"]),
    ("TLS handshake closed", &["request", "connect"]),
    ("certificate expired", &["request", "connect"]),
    ("client certificate refused, TLS 1.3", &["request"]),
    ("no answer in time", &["timeout", "request"]),
    ("reset after the request", &["request"]),
    ("closed within the head", &["request"]),
    ("not HTTP", &["request"]),
    ("200, its body cut", &["decode"]),
    ("200, its gzip broken", &["decode"]),
    ("RST_STREAM REFUSED_STREAM", &["request"]),
    ("a scheme that is not spoken", &["builder"]),
    ("redirect loop", &["redirect"]),
    ("303 to a closed port", &["request", "connect"]),
];

#[tokio::test]
async fn what_errors_of_reqwest_say() {
    let rows = situations::errors::all().await;
    for (name, is) in FACES {
        let situation = rows
            .iter()
            .find(|situation| situation.name == name)
            .unwrap();
        for stack in [Stack::Reqwest, Stack::ReqwestService] {
            let ending = end(situation, stack, Order::Get, &Retries::Silent).await;
            let face = ending.error.expect(name);
            let expected = (is, Some(situation.kit.url.as_str()));
            assert_eq!(
                (face.is.as_slice(), face.url.as_deref()),
                expected,
                "{name} {stack:?}"
            );
        }
    }
}

#[tokio::test]
async fn errors_of_hyper_keep_their_predicate_and_their_words() {
    let rows = situations::errors::all().await;
    let refused = rows
        .iter()
        .find(|row| row.name == "connection refused")
        .unwrap();
    let face = end(refused, Stack::Hyper, Order::Post, &Retries::Silent)
        .await
        .error
        .unwrap();
    assert_eq!(face.is, ["connect"]);
    let words: [String; 3] = face.words.try_into().unwrap();
    let [client, connector, system] = words;
    assert_eq!(
        [client, connector],
        ["client error (Connect)", "tcp connect error"]
    );
    assert!(system.starts_with("Connection refused"), "{system}");
}

/// Such a request never reaches the layer.
#[tokio::test]
async fn a_request_that_cannot_be_built_fails_the_same() {
    let client = reqwest_client(&Kit::new(""), reqwest::redirect::Policy::default());
    let middleware = RetryMiddleware::new(policy());
    let retrying = reqwest_middleware::ClientBuilder::new(client.clone())
        .with(middleware)
        .build();
    let bare = in_time(client.get("no URL").send()).await;
    let retried = in_time(retrying.get("no URL").send()).await;
    match retried {
        Err(reqwest_middleware::Error::Reqwest(error)) => {
            let bare = Face::of_reqwest(&bare.unwrap_err());
            assert_eq!(Face::of_reqwest(&error), bare);
            assert!(error.is_builder());
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_never_accepted_was_not_sent() {
    let situation = situations::full().await;
    for stack in Stack::ALL {
        let log = Log::default();
        let retries = Retries::Told(log.clone());
        let ending = end(&situation, stack, Order::Get, &retries).await;
        assert_eq!(
            ending,
            end(&situation, stack, Order::Get, &Retries::None).await
        );
        let attempts = log.attempts();
        assert_eq!(attempts.len(), 2, "{stack:?}");
        for attempt in attempts {
            let what = (attempt.error, attempt.class, attempt.reach);
            let expected = (
                Some(ErrorKind::ConnectTimeout),
                Class::Transient,
                Reach::Unsent,
            );
            assert_eq!(what, expected, "{stack:?}");
        }
    }
}
