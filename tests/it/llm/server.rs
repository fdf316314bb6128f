//! Both stacks against a server that answers like the API of a large language model, on real sockets.

use crate::llm_server::{Hint, LlmServer, Rules, Trouble, chosen};
use http_retry::llm::LlmPreset;
use http_retry::llm::{HoldStreams, Truncation};
use http_retry::policy::{DelaySource, Reason};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryPolicy, RetryReport, StopReason};
use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// The report and the body of a call through each stack, to a server with this plan.
async fn both(make: impl Fn() -> Rules, body: &Value) -> [(RetryReport, String); 2] {
    let policy = RetryPolicy::llm()
        .to_builder()
        .backoff(Backoff::fixed(Duration::from_millis(5)))
        .rewrite(Truncation::keep_tail())
        .hold_streams(HoldStreams::new())
        .build()
        .unwrap();
    let one = LlmServer::start(make()).await.unwrap();
    let two = LlmServer::start(make()).await.unwrap();
    [
        by_middleware(&policy, &one, body).await,
        by_layer(&policy, &two, body).await,
    ]
}

fn request(server: &LlmServer, body: &Value) -> reqwest::Request {
    let url = format!("{}/chat/completions", server.url());
    reqwest::Client::new()
        .post(url)
        .header(AUTHORIZATION, "Bearer k")
        .header("content-type", "application/json")
        .body(body.to_string())
        .build()
        .unwrap()
}

async fn by_middleware(
    policy: &RetryPolicy,
    server: &LlmServer,
    body: &Value,
) -> (RetryReport, String) {
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(RetryMiddleware::new(policy.clone()))
        .build();
    let answer = client.execute(request(server, body)).await.unwrap();
    ended(answer).await
}

async fn by_layer(policy: &RetryPolicy, server: &LlmServer, body: &Value) -> (RetryReport, String) {
    let client = RetryLayer::new(policy.clone()).layer(reqwest::Client::new());
    let answer = client.oneshot(request(server, body)).await.unwrap();
    ended(answer).await
}

async fn ended(answer: reqwest::Response) -> (RetryReport, String) {
    let report = answer.extensions().get::<RetryReport>().cloned();
    (report.unwrap(), answer.text().await.unwrap())
}

fn says(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

fn reasons(report: &RetryReport) -> Vec<Option<Reason>> {
    report
        .attempts
        .iter()
        .map(|attempt| attempt.reason)
        .collect()
}

#[tokio::test]
async fn a_rate_limit_named_in_prose_is_waited_for_at_the_gate() {
    let rules = || Rules {
        hint: Hint::Prose,
        trouble: chosen([(1, Trouble::RateLimited(Duration::from_millis(60)))]),
        ..Rules::default()
    };
    for (report, _) in both(rules, &says("hello")).await {
        assert_eq!(
            reasons(&report),
            [Some(Reason::RateLimited), None],
            "{report}"
        );
        let second = &report.attempts[1];
        assert_eq!(second.delay_source, Some(DelaySource::Gate));
        assert!(second.delay >= Duration::from_millis(60), "{report}");
    }
}

#[tokio::test]
async fn a_wait_that_is_longer_than_allowed_is_named_with_its_delay() {
    let asked = Duration::from_secs(3_600);
    let rules = || Rules {
        hint: Hint::Prose,
        trouble: chosen([(1, Trouble::RateLimited(asked))]),
        ..Rules::default()
    };
    for (report, _) in both(rules, &says("hello")).await {
        assert_eq!(report.stop, StopReason::ServerDelayTooLong, "{report}");
        assert_eq!(reasons(&report), [Some(Reason::ServerDelayExceedsCap)]);
        assert_eq!(report.attempts[0].asked, Some(asked));
    }
}

#[tokio::test]
async fn an_account_without_money_is_not_asked_again() {
    let rules = || Rules {
        trouble: chosen([(1, Trouble::InsufficientQuota)]),
        ..Rules::default()
    };
    for (report, body) in both(rules, &says("hello")).await {
        assert_eq!(reasons(&report), [Some(Reason::QuotaExhausted)], "{report}");
        assert_eq!(report.stop, StopReason::NotRetryable);
        assert!(body.contains("insufficient_quota"));
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_sent_again_as_far_as_it_fits() {
    let rules = || Rules {
        context: Some(1_000),
        ..Rules::default()
    };
    for (report, _) in both(rules, &says(&"x".repeat(8_000))).await {
        assert_eq!(report.stop, StopReason::Succeeded, "{report}");
        assert_eq!(reasons(&report)[0], Some(Reason::ContextLength));
        assert!(
            report.attempts[1]
                .cut
                .is_some_and(|cut| cut.after < cut.before)
        );
    }
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_is_made_again() {
    let rules = || Rules {
        trouble: chosen([(1, Trouble::StreamOverloaded)]),
        ..Rules::default()
    };
    let mut body = says("hello");
    body["stream"] = json!(true);
    let quick = |report: &RetryReport| report.attempts[0].status.unwrap().as_u16();
    for (report, text) in both(rules, &body).await {
        assert_eq!(
            reasons(&report),
            [Some(Reason::Overloaded), None],
            "{report}"
        );
        assert_eq!(quick(&report), 200);
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        assert!(!text.contains("overloaded"), "{text}");
    }
}
