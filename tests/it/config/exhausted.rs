//! What a limit that is reached means, and what it does not.

use futures_util::FutureExt;
use http::Request;
use http_retry::config::{Document, RetryConfig};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use tower::{ServiceBuilder, ServiceExt};

/// The status that the caller gets where the policy puts 299 in the place of the last answer.
fn answered(retry: &str, client: Script) -> u16 {
    let text =
        format!("version: 1\nretry: {{{retry}, on_exhausted: {{respond: {{status: 299}}}}}}\n");
    let document: Document = serde_yaml_ng::from_str(&text).unwrap();
    let config = RetryConfig::load(&document).unwrap();
    let layer = RetryLayer::from_config(&config).runtime(ManualRuntime::new());
    let service = ServiceBuilder::new().layer(layer).service(client);
    let call = service.oneshot(Request::new(String::new()));
    call.now_or_never().unwrap().unwrap().status().as_u16()
}

#[test]
fn an_answer_that_no_retry_would_have_changed_is_the_callers() {
    let lost = || Script::new().status(404);
    assert_eq!(answered("max_retries: 0", lost()), 404);
    let lost_at_last = Script::new().status(503).status(404);
    assert_eq!(answered("max_retries: 1", lost_at_last), 404);
}

#[test]
fn one_that_a_retry_might_have_changed_is_not() {
    let busy = || Script::new().status(503);
    assert_eq!(answered("max_retries: 0", busy()), 299);
    assert_eq!(answered("max_retries: 1", busy()), 299);
    let lost = Script::new().status(404);
    assert_eq!(answered("max_retries: 1, retry_on: [404]", lost), 299);
}

#[test]
fn a_document_that_never_retries_says_so() {
    let stop = |text: &str| {
        let document: Document = serde_yaml_ng::from_str(text).unwrap();
        let config = RetryConfig::load(&document).unwrap();
        let layer = RetryLayer::from_config(&config).runtime(ManualRuntime::new());
        let service = ServiceBuilder::new()
            .layer(layer)
            .service(Script::new().status(503));
        let call = service.oneshot(Request::new(String::new()));
        let response = call.now_or_never().unwrap().unwrap();
        let report = response.extensions().get::<http_retry::RetryReport>();
        report.unwrap().stop.as_str()
    };
    assert_eq!(stop("version: 1\nretry: never"), "disabled");
    let once = "version: 1\nretry: {max_attempts: 1}";
    assert_eq!(stop(once), "attempts_exhausted");
}
