//! What becomes of a request that has no retries left: the last outcome, an error, a response of the document's, a letter.

mod dead_letters;

use super::super::server::{Act, Answer, FaultServer};
use super::stacks::{Kit, STACKS, Stack, Told, failure, get, is_connect};
use crate::listening::nobody;
use http::{HeaderMap, Version};
use http_retry::StopReason;
use serde_json::{Value, json};
use tower::BoxError;

/// The ways to have no retries left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Attempts,
    Budget,
    ServerDelay,
}

pub(super) const WAYS: [Way; 3] = [Way::Attempts, Way::Budget, Way::ServerDelay];

impl Way {
    /// RETRY that comes to it, with what is to become of the request.
    pub(super) fn retry(self, on_exhausted: &Value) -> Value {
        let mut retry = json!({
            "max_retries": 1, "backoff": "none", "retry_after": {"max": "5s"}, "on_exhausted": on_exhausted
        });
        if self == Self::Budget {
            retry["budget"] = json!("empty");
        }
        retry
    }

    /// What the server does on the way; what comes after it is a success.
    pub(super) fn acts(self) -> Vec<Act> {
        let refusal = |number: &str| Answer::new(503).header("x-said", number).body("not now");
        match self {
            Self::Attempts => vec![Act::Answer(refusal("1")), Act::Answer(refusal("2"))],
            Self::Budget => vec![Act::Answer(refusal("1"))],
            Self::ServerDelay => vec![Act::Answer(refusal("1").header("retry-after", "60"))],
        }
    }

    pub(super) fn stop(self) -> StopReason {
        match self {
            Self::Attempts => StopReason::AttemptsExhausted,
            Self::Budget => StopReason::BudgetExhausted,
            Self::ServerDelay => StopReason::ServerDelayTooLong,
        }
    }
}

pub(super) fn budgets() -> Value {
    json!({
        "empty": {"capacity": 1, "initial": 0, "per_success": 0},
        "ten": {"capacity": 10, "initial": 10, "per_success": 0},
    })
}

fn document(way: Way, on_exhausted: &Value) -> Value {
    json!({"version": 1, "budgets": budgets(), "retry": way.retry(on_exhausted)})
}

/// Every stack in every way.
pub(super) fn each() -> impl Iterator<Item = (Stack, Way)> {
    STACKS
        .into_iter()
        .flat_map(|stack| WAYS.map(|way| (stack, way)))
}

/// A request through a stack, against a server that leaves it without retries.
async fn exhausted(stack: Stack, way: Way, kit: &Kit) -> (Told, FaultServer) {
    let server = FaultServer::start(way.acts()).await;
    let told = kit.send(stack, get(&server.url("/a/b?c=d"))).await;
    assert_eq!(
        server.received().len(),
        way.acts().len(),
        "{stack:?} {way:?}"
    );
    (told, server)
}

/// What the caller sees of the server's last answer, whole and unchanged.
async fn assert_last_answer(told: Told, server: &FaultServer, why: &str) {
    let Some(Act::Answer(said)) = server.received().last().and_then(|last| last.act.clone()) else {
        panic!("{why}: no answer was given");
    };
    let is_reqwest = told.result.as_ref().unwrap().url.is_some();
    let whole = told.whole().await;
    assert_eq!(
        (whole.status.as_u16(), whole.version),
        (503, Version::HTTP_11),
        "{why}"
    );
    let mut headers = HeaderMap::new();
    for (name, value) in &said.headers {
        headers.insert(*name, value.parse().unwrap());
    }
    headers.insert("content-length", said.body.len().into());
    assert_eq!(whole.headers, headers, "{why}");
    assert_eq!((whole.body, whole.broken), (said.body, None), "{why}");
    assert_eq!(whole.reason.as_deref(), Some(&b"Said"[..]), "{why}");
    assert_eq!(whole.remote, Some(server.address()), "{why}");
    let url = is_reqwest.then(|| server.url("/a/b?c=d"));
    assert_eq!(whole.url, url, "{why}");
}

#[tokio::test]
async fn the_last_answer_comes_whole_and_unchanged() {
    for (stack, way) in each() {
        let why = format!("{stack:?} {way:?}");
        let (told, server) = exhausted(stack, way, &Kit::new(document(way, &json!("last")))).await;
        assert_eq!(told.stop(), way.stop(), "{why}");
        assert_last_answer(told, &server, &why).await;
    }
}

#[tokio::test]
async fn fail_is_an_error_with_the_report_where_possible() {
    for (stack, way) in each().filter(|(stack, _)| stack.can_fail()) {
        let (told, _server) = exhausted(stack, way, &Kit::new(document(way, &json!("fail")))).await;
        let error = told.result.unwrap_err();
        let report = failure(&error).expect("the policy's own error");
        assert_eq!(Some(report), told.report.as_ref(), "{stack:?} {way:?}");
        assert_eq!(report.stop, way.stop(), "{stack:?} {way:?}");
        let last = report.attempts.last().unwrap();
        assert_eq!(last.status.unwrap().as_u16(), 503, "{stack:?} {way:?}");
    }
}

#[tokio::test]
async fn fail_leaves_the_answer_where_no_error_can_tell() {
    for (stack, way) in each().filter(|(stack, _)| !stack.can_fail()) {
        let why = format!("{stack:?} {way:?}");
        let (told, server) = exhausted(stack, way, &Kit::new(document(way, &json!("fail")))).await;
        assert_eq!(told.stop(), way.stop(), "{why}");
        assert_last_answer(told, &server, &why).await;
    }
}

#[tokio::test]
async fn fail_leaves_an_error_as_it_is() {
    for stack in STACKS {
        let (_socket, address) = nobody();
        let url = format!("http://{address}/a/b?c=d");
        let kit = Kit::new(document(Way::Attempts, &json!("fail")));
        let told = kit.send(stack, get(&url)).await;
        let error: BoxError = told.result.unwrap_err();
        assert!(
            is_connect(&error) && failure(&error).is_none(),
            "{stack:?} {error:?}"
        );
        let stop = told.report.as_ref().map(|report| report.stop);
        let expected = stack
            .has_extensions()
            .then_some(StopReason::AttemptsExhausted);
        assert_eq!(stop, expected, "{stack:?}");
    }
}

fn response_of_the_document() -> Value {
    json!({"respond": {
        "status": 299,
        "headers": {"content-type": "application/json", "x-from": "the document"},
        "body": "{\"later\": true}",
    }})
}

/// The response that the document gives, of which nothing comes from a server.
async fn assert_response_of_the_document(told: Told, url: &str, why: &str) {
    let is_reqwest = told.result.as_ref().unwrap().url.is_some();
    let whole = told.whole().await;
    assert_eq!(
        (whole.status.as_u16(), whole.body),
        (299, "{\"later\": true}".into()),
        "{why}"
    );
    let headers = [
        ("content-type", "application/json"),
        ("x-from", "the document"),
    ];
    let headers: Vec<_> = headers.into_iter().collect();
    let mut got: Vec<_> = whole.headers.iter().collect();
    got.sort_by_key(|(name, _)| name.as_str());
    let got = got
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
    assert_eq!(got.collect::<Vec<_>>(), headers, "{why}");
    assert_eq!(whole.url.as_deref(), is_reqwest.then_some(url), "{why}");
    assert_eq!((whole.trailers, whole.broken), (None, None), "{why}");
}

#[tokio::test]
async fn respond_gives_the_documents_own_response() {
    for (stack, way) in each() {
        let why = format!("{stack:?} {way:?}");
        let kit = Kit::new(document(way, &response_of_the_document()));
        let (told, server) = exhausted(stack, way, &kit).await;
        assert_eq!(told.stop(), way.stop(), "{why}");
        let attached = told.result.as_ref().unwrap().response.extensions();
        assert_eq!(attached.get(), told.report.as_ref(), "{why}");
        assert_response_of_the_document(told, &server.url("/a/b?c=d"), &why).await;
    }
}

#[tokio::test]
async fn respond_takes_the_place_of_an_error_too() {
    for stack in STACKS {
        let (_socket, address) = nobody();
        let url = format!("http://{address}/a/b?c=d");
        let kit = Kit::new(document(Way::Attempts, &response_of_the_document()));
        let told = kit.send(stack, get(&url)).await;
        assert_eq!(told.attempts(), [(0, None), (0, None)], "{stack:?}");
        assert_response_of_the_document(told, &url, &format!("{stack:?}")).await;
    }
}

#[tokio::test]
async fn respond_leaves_a_success_and_a_refusal_as_they_are() {
    for (stack, status) in STACKS
        .into_iter()
        .flat_map(|stack| [(stack, 200), (stack, 404)])
    {
        let server = FaultServer::start([Act::status(status)]).await;
        let kit = Kit::new(document(Way::Attempts, &response_of_the_document()));
        let told = kit.send(stack, get(&server.url("/"))).await;
        assert_eq!(told.whole().await.status.as_u16(), status, "{stack:?}");
    }
}
