//! Fields that are blocks themselves merge inside.

use super::super::client::{on_tower, statuses};
use super::super::{SECOND, delays, document, policy, seconds};
use super::{is_from, layered};
use http_retry::config::RetryConfig;
use http_retry::testing::Script;
use std::time::Duration;

#[test]
fn jitter_merges_inside_and_a_word_takes_the_place_of_a_block() {
    let config = layered("{jitter: {min: 0.5, max: 2.5}}", "{jitter: {max: 1.5}}", "");
    is_from(&config, "jitter.min", "0.5", "retry.jitter.min");
    is_from(&config, "jitter.max", "1.5", "services.a.retry.jitter.max");

    let config = layered("{jitter: {min: 0.5}}", "{jitter: full}", "");
    is_from(&config, "jitter.min", "0", "services.a.retry.jitter");
    is_from(&config, "jitter.max", "1", "services.a.retry.jitter");

    let config = layered("{jitter: decorrelated}", "{jitter: {min: 0.5}}", "");
    is_from(
        &config,
        "jitter",
        "between min and max",
        "services.a.retry.jitter",
    );
    is_from(&config, "jitter.min", "0.5", "services.a.retry.jitter.min");
    let text = policy(&config, Some("a"), Some("r")).explain();
    assert!(text.contains("equal jitter"), "{text}");
}

#[test]
fn a_percentage_is_a_jitter_around_the_whole() {
    let config = layered("{jitter: 20%}", "{jitter: {max: 1.1}}", "");
    is_from(&config, "jitter.min", "0.8", "retry.jitter");
    is_from(&config, "jitter.max", "1.1", "services.a.retry.jitter.max");
    let text = policy(&config, Some("a"), Some("r")).explain();
    assert!(text.contains("jitter 0.8 to 1.1"), "{text}");
}

#[test]
fn the_servers_wish_merges_inside() {
    let outer = "{max_retries: 1, backoff: none, retry_after: {max: 5s, over: clamp}}";
    let config = layered(outer, "{retry_after: {max: 50s}}", "");
    is_from(
        &config,
        "retry_after.max",
        "50s",
        "services.a.retry.retry_after.max",
    );
    is_from(
        &config,
        "retry_after.over",
        "clamp",
        "retry.retry_after.over",
    );
    let wish = Script::new().status(503).header("retry-after", "600");
    let delay = delays(&on_tower(&config, wish.clone()).report)[0];
    assert!((SECOND * 50..=SECOND * 60).contains(&delay), "{delay:?}");

    let ignoring = layered(outer, "{retry_after: ignore}", "");
    assert_eq!(
        delays(&on_tower(&ignoring, wish.clone()).report),
        seconds(&[0])
    );
    let again = layered(
        "{max_retries: 1, backoff: none, retry_after: ignore}",
        "",
        "{retry_after: {max: 5s, over: clamp}}",
    );
    let delay = delays(&on_tower(&again, wish).report)[0];
    assert!((SECOND * 5..=SECOND * 6).contains(&delay), "{delay:?}");
}

#[test]
fn a_response_merges_inside() {
    let outer =
        "{max_retries: 0, on_exhausted: {respond: {status: 503, headers: {x-a: b}, body: outer}}}";
    let config = layered(outer, "{on_exhausted: {respond: {body: inner}}}", "");
    let ended = on_tower(&config, statuses(&[500]));
    assert_eq!((ended.status, ended.body.as_str()), (Some(503), "inner"));
    assert_eq!(ended.headers["x-a"], "b");
    let status = "on_exhausted.respond.status";
    is_from(&config, status, "503", "retry.on_exhausted.respond.status");

    let config = layered(outer, "", "{on_exhausted: last}");
    assert_eq!(on_tower(&config, statuses(&[500])).status, Some(500));
}

#[test]
fn the_arguments_of_a_custom_backoff_merge_inside() {
    #[derive(serde::Deserialize)]
    struct Line {
        start: u64,
        step: u64,
    }
    let text = "
version: 1
retry: {jitter: none, max_retries: 2, backoff: {custom: line, args: {start: 1, step: 1}}}
services: {a: {match: {host: api.example}, retry: {backoff: {args: {step: 10}}}}}
";
    let line =
        |line: Line| move |n: u32| Duration::from_secs(line.start + line.step * u64::from(n));
    let config = RetryConfig::builder()
        .backoff("line", line)
        .load(&document(text))
        .unwrap();
    assert_eq!(
        delays(&on_tower(&config, statuses(&[503])).report),
        seconds(&[11, 21])
    );
}
