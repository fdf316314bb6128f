//! The middleware on `reqwest::Client`, which is `fetch` here.

use crate::Outcome;
use crate::calls::{Script, client, holds, quick, same, sent, wait};
use futures_util::future::{Either, select};
use http_retry::config::{Document, RetryConfig};
use http_retry::reqwest::RetryMiddleware;
use http_retry::{Backoff, ErrorKind, Jitter, Reach, RetryPolicy, StopReason};
use std::time::Duration;

pub(crate) async fn a_503_is_repeated() -> Outcome {
    let script = Script::new("a_503_is_repeated", "503,503,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, report, _) = sent(client.get(script.url())).await?;
    same(status, Ok(200))?;
    same(report.retries(), 2)?;
    same(script.seen().await?, ["GET", "GET", "GET"])
}

/// The browser does not say why `fetch` has failed.
pub(crate) async fn a_cut_connection_is_repeated() -> Outcome {
    let script = Script::new("a_cut_connection_is_repeated", "cut,cut,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, report, _) = sent(client.get(script.url())).await?;
    same(status, Ok(200))?;
    let first = report.attempts.first().ok_or("no attempt")?;
    same(first.error, Some(ErrorKind::Other))?;
    same(first.reach, Reach::Ambiguous)
}

pub(crate) async fn a_retry_after_is_waited_for() -> Outcome {
    let script = Script::new("a_retry_after_is_waited_for", "429:1,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, _, took) = sent(client.get(script.url())).await?;
    same(status, Ok(200))?;
    holds(took >= Duration::from_secs(1), took)
}

/// A server of another site must expose the header: `Access-Control-Expose-Headers: retry-after`.
pub(crate) async fn a_retry_after_that_is_not_exposed_is_not_seen() -> Outcome {
    let name = "a_retry_after_that_is_not_exposed_is_not_seen";
    let script = Script::new(name, "503:3600:hidden,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, report, _) = sent(client.get(script.url())).await?;
    same((status, report.retries()), (Ok(200), 1))
}

/// The browser may have followed a redirect, and the 429 be that of another request.
pub(crate) async fn a_post_is_not_repeated_after_a_429() -> Outcome {
    let script = Script::new("a_post_is_not_repeated_after_a_429", "429,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, report, _) = sent(client.post(script.url()).body("an order")).await?;
    same(status, Ok(429))?;
    same(report.stop, StopReason::RedirectsUnknown)?;
    same(script.seen().await?, ["POST"])
}

pub(crate) async fn a_post_is_not_repeated_after_a_cut() -> Outcome {
    let script = Script::new("a_post_is_not_repeated_after_a_cut", "cut,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, report, _) = sent(client.post(script.url()).body("an order")).await?;
    holds(status.is_err(), status)?;
    same(report.stop, StopReason::NotIdempotent)?;
    same(script.seen().await?, ["POST"])
}

/// A refused connection looks like a response that the page may not see.
pub(crate) async fn a_post_is_not_unsent_if_nothing_listens() -> Outcome {
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let nowhere = "http://127.0.0.1:9/";
    let (status, report, _) = sent(client.post(nowhere).body("an order")).await?;
    holds(status.is_err(), status)?;
    same(report.stop, StopReason::NotIdempotent)?;
    let (_, report, _) = sent(client.get(nowhere)).await?;
    same(report.stop, StopReason::AttemptsExhausted)
}

pub(crate) async fn a_post_with_a_key_is_repeated() -> Outcome {
    let script = Script::new("a_post_with_a_key_is_repeated", "503,429,cut,200");
    let retries = RetryMiddleware::new(quick().build()?).idempotency_keys();
    let client = client(retries)?;
    let (status, _, _) = sent(client.post(script.url()).body("an order")).await?;
    same(status, Ok(200))?;
    let seen = script.seen().await?;
    let key = seen.first().ok_or("no request")?;
    // "POST", a space, and a UUID.
    same((seen.len(), key.len()), (4, 41))?;
    holds(seen.iter().all(|other| other == key), &seen)
}

pub(crate) async fn a_redirected_get_is_repeated() -> Outcome {
    let script = Script::new("a_redirected_get_is_repeated", "redirect,503,redirect,200");
    let client = client(RetryMiddleware::new(quick().build()?))?;
    let (status, report, _) = sent(client.get(script.url())).await?;
    same((status, report.retries()), (Ok(200), 1))?;
    same(script.seen().await?.len(), 4)
}

pub(crate) async fn an_attempt_that_hangs_is_cut() -> Outcome {
    let script = Script::new("an_attempt_that_hangs_is_cut", "hang,200");
    let policy = quick().attempt_timeout(Duration::from_millis(300));
    let client = client(RetryMiddleware::new(policy.build()?))?;
    let (status, report, took) = sent(client.get(script.url())).await?;
    same((status, report.retries()), (Ok(200), 1))?;
    holds(took >= Duration::from_millis(300), took)?;
    // The browser has closed the connection of the first.
    while script.seen().await? != ["GET", "gone", "GET"]
        && script.seen().await? != ["GET", "GET", "gone"]
    {
        wait(20).await;
    }
    Ok(())
}

pub(crate) async fn a_dropped_call_sends_nothing_more() -> Outcome {
    let script = Script::new("a_dropped_call_sends_nothing_more", "503,200");
    let backoff = Backoff::fixed(Duration::from_secs(1)).jitter(Jitter::None);
    let client = client(RetryMiddleware::new(quick().backoff(backoff).build()?))?;
    let request = client.get(script.url()).send();
    let is_sent = async {
        while script.seen().await.is_ok_and(|seen| seen.is_empty()) {
            wait(10).await;
        }
    };
    let first = select(Box::pin(request), Box::pin(is_sent)).await;
    holds(matches!(first, Either::Right(_)), "the call has ended")?;
    drop(first);
    wait(2_000).await;
    same(script.seen().await?, ["GET"])
}

pub(crate) async fn a_last_response_is_whole() -> Outcome {
    let script = Script::new("a_last_response_is_whole", "503,503");
    let policy = quick().max_retries(1).deadline(Duration::from_secs(30));
    let client = client(RetryMiddleware::new(policy.build()?))?;
    let response = client.get(script.url()).send().await?;
    same(response.status().as_u16(), 503)?;
    same(
        response.text().await?.as_str(),
        "503 is what the script says",
    )
}

pub(crate) async fn a_document_decides() -> Outcome {
    let script = Script::new("a_document_decides", "409,409,200");
    let text = r#"{
        "version": 1,
        "retry": {"use": "background", "base": "20ms", "jitter": "none"},
        "rules": [{"when": {"status": 409}, "retry": {"max_retries": 2}}]
    }"#;
    let document = Document::from_text(text, serde_json::from_str)?;
    let config = RetryConfig::load(&document)?;
    let client = client(RetryMiddleware::from_config(&config))?;
    let (status, report, _) = sent(client.get(script.url())).await?;
    same((status, report.retries()), (Ok(200), 2))?;
    // Without a rule, the policy of its own is in use.
    let plain = Script::new("a_document_decides_not", "409,200");
    let client = crate::calls::client(RetryMiddleware::new(RetryPolicy::background()))?;
    let (status, _, _) = sent(client.get(plain.url())).await?;
    same(status, Ok(409))
}
