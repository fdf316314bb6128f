//! What a redirect that reqwest followed may hide.

use super::server::refusing;
use super::*;
use http_retry::llm::HoldStreams;
use http_retry::llm::LlmPreset;
use http_retry::{Class, ErrorKind, Methods, Reach, ReportSlot, StopReason};
use wiremock::matchers::method;

/// A server that sees orders through and answers each with a redirect.
async fn redirecting_to(location: &str) -> MockServer {
    let server = MockServer::start().await;
    let see_other = ResponseTemplate::new(303).insert_header("location", location);
    let order = Mock::given(method("POST")).respond_with(see_other);
    order.mount(&server).await;
    server
}

async fn orders(server: &MockServer) -> usize {
    let requests = requests(server).await;
    let orders = requests.iter().filter(|request| request.method == "POST");
    orders.count()
}

#[tokio::test]
async fn a_post_that_was_redirected_to_a_busy_page_is_not_repeated() {
    let server = redirecting_to("/receipt").await;
    let busy = Mock::given(method("GET")).respond_with(ResponseTemplate::new(429));
    busy.mount(&server).await;
    let order = client(retries(4)).post(format!("{}/order", server.uri()));
    let response = order.body("order").send().await.unwrap();

    assert_eq!(response.status(), 429);
    assert_eq!(response.url().path(), "/receipt");
    let report = report_of(&response);
    assert_eq!(report.stop, StopReason::NotIdempotent);
    assert_eq!(report.attempts[0].reach, Reach::Answered);
    assert_eq!(orders(&server).await, 1);
}

/// What became of an order whose receipt is this page, and how many orders came.
async fn order_with_receipt(policy: RetryPolicy, page: ResponseTemplate) -> (RetryReport, usize) {
    let server = redirecting_to("/receipt").await;
    let receipt = Mock::given(method("GET")).respond_with(page);
    receipt.mount(&server).await;
    let order = client(of_policy(policy)).post(format!("{}/order", server.uri()));
    let response = order.body("order").send().await.unwrap();
    (report_of(&response), orders(&server).await)
}

#[tokio::test]
async fn no_classifier_takes_back_a_redirected_posts_processing() {
    let llm = RetryPolicy::llm().to_builder().methods(Methods::Idempotent);
    let llm = llm.hold_streams(HoldStreams::new()).build().unwrap();
    let own = RetryPolicy::builder().max_retries(2);
    let own = own.classify(|_| Some((Class::Throttled, Reach::Refused)));
    let own = own.build().unwrap();
    let invited = ResponseTemplate::new(503).insert_header("retry-after", "1");
    let limited = ResponseTemplate::new(500).set_body_string(r#"{"error":"rate_limit_exceeded"}"#);
    let event = "data: {\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Wait\"}}\n\n";
    let stream = ResponseTemplate::new(200).set_body_raw(event, "text/event-stream");
    let pages = [408, 425, 429].map(ResponseTemplate::new);
    let pages = pages.into_iter().chain([invited, limited, stream]);
    let mut cases: Vec<_> = pages.map(|page| (llm.clone(), page)).collect();
    cases.push((own, ResponseTemplate::new(503)));
    for (policy, page) in cases {
        let (report, orders) = order_with_receipt(policy, page).await;
        assert_eq!(report.stop, StopReason::NotIdempotent, "{report}");
        assert_eq!(report.attempts[0].reach, Reach::Answered, "{report}");
        assert_eq!(orders, 1, "{report}");
    }
}

#[tokio::test]
async fn a_post_that_was_redirected_to_a_closed_port_is_not_repeated() {
    let (_socket, closed) = refusing();
    let server = redirecting_to(&closed).await;
    let order = client(retries(4))
        .post(format!("{}/order", server.uri()))
        .body("order")
        .send()
        .await;
    assert!(order.unwrap_err().is_connect());
    assert_eq!(orders(&server).await, 1);
}

#[tokio::test]
async fn a_redirected_get_is_repeated_from_its_start() {
    let server = MockServer::start().await;
    let moved = ResponseTemplate::new(302).insert_header("location", "/new");
    let old = Mock::given(wiremock::matchers::path("/old")).respond_with(moved);
    old.mount(&server).await;
    let busy =
        Mock::given(wiremock::matchers::path("/new")).respond_with(ResponseTemplate::new(503));
    busy.mount(&server).await;
    let last = client(retries(1)).get(format!("{}/old", server.uri()));
    assert_eq!(last.send().await.unwrap().url().path(), "/new");
    assert_eq!(requests(&server).await.len(), 4);
}

#[tokio::test]
async fn a_fragment_in_the_url_is_no_redirect() {
    let server = answering_statuses([429, 200]).await;
    let order = client(retries(4)).post(format!("{}/plain#part", server.uri()));
    assert_eq!(order.send().await.unwrap().status(), 200);
    assert_eq!(orders(&server).await, 2);
}

#[tokio::test]
async fn a_redirect_that_goes_round_in_circles_is_tried_once() {
    let server = answering([ResponseTemplate::new(302).insert_header("location", "/round")]).await;
    let slot = ReportSlot::default();
    let round = client(retries(4))
        .get(format!("{}/round", server.uri()))
        .with_extension(slot.clone());
    let error = round.send().await.unwrap_err();
    assert!(error.is_redirect() && !error.is_middleware());
    let report = slot.take().unwrap();
    assert_eq!(report.attempt_count, 1);
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Redirect));
}
