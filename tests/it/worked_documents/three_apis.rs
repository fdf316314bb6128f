//! A program with a language model, a payment API and a search API.

use super::{Sent, all_ms, always, config, get, ms, post, ranges};
use http::Request;
use http_retry::config::RetryConfig;
use http_retry::report::RequestFailed;
use http_retry::testing::Script;
use http_retry::{RetryOverride, StopReason};
use std::io::ErrorKind;

const CHAT: &str = "https://model.example.com/v1/chat";
const BACKUP: &str = "https://backup.example.com/api/v1/chat";
const PAY: &str = "https://eu.pay.example.com/v1/charges";
const SEARCH: &str = "https://search.example.com/search/boots?page=2";

fn program() -> RetryConfig {
    config("three_apis")
}

fn paying() -> Request<String> {
    let mut request = post(PAY);
    let key = "order-4711".parse().unwrap();
    request.headers_mut().insert("idempotency-key", key);
    request
}

fn targets(client: &Script) -> Vec<String> {
    let calls = client.calls().into_iter();
    calls.map(|(_, uri)| uri.to_string()).collect()
}

#[test]
fn a_completion_is_tried_three_times_and_then_at_the_backup() {
    let client = always(500);
    let sent = Sent::through(&program(), &client, post(CHAT));
    assert_eq!(targets(&client), [CHAT, CHAT, CHAT, BACKUP, BACKUP]);
    assert_eq!(sent.delays(), all_ms(&[1_000, 2_000, 0, 1_000]));
    assert_eq!(sent.stop(), StopReason::AttemptsExhausted);
    assert_eq!(sent.status(), 500);
}

#[test]
fn an_account_without_credit_goes_to_the_backup_at_once() {
    let client = Script::new()
        .status(429)
        .header("retry-after", "20")
        .body(r#"{"error": {"code": "insufficient_quota"}}"#)
        .status(200);
    let sent = Sent::through(&program(), &client, post(CHAT));
    assert_eq!(targets(&client), [CHAT, BACKUP]);
    assert_eq!((sent.status(), sent.report.waited), (200, ms(0)));
}

#[test]
fn a_minutes_window_is_waited_for_and_a_days_quota_is_not() {
    let asking = |seconds| always(429).header("retry-after", seconds).status(200);
    let minute = asking("60");
    let sent = Sent::through(&program(), &minute, post(CHAT));
    let waited = sent.report.waited;
    assert!((ms(60_000)..=ms(72_000)).contains(&waited), "{waited:?}");
    assert_eq!(targets(&minute), [CHAT, CHAT]);
    let day = asking("86400");
    Sent::through(&program(), &day, post(CHAT));
    assert_eq!(targets(&day), [CHAT, BACKUP]);
}

#[test]
fn an_overloaded_model_is_left_alone_for_longer() {
    let client = Script::new()
        .status(529)
        .status(529)
        .status(529)
        .status(200);
    let sent = Sent::through(&program(), &client, post(CHAT));
    assert_eq!(sent.delays(), all_ms(&[4_000, 8_000, 16_000]));
    assert_eq!(sent.report.attempts[0].rule.as_deref(), Some("overloaded"));
}

#[test]
fn an_embedding_gets_six_attempts() {
    let url = "https://model.example.com/v1/embeddings";
    let client = always(500);
    let sent = Sent::through(&program(), &client, post(url));
    assert_eq!(
        sent.delays(),
        all_ms(&[1_000, 2_000, 4_000, 8_000, 16_000, 0, 1_000])
    );
}

#[test]
fn a_batch_is_asked_for_until_it_is_done_without_a_token() {
    let url = "https://model.example.com/v1/batches/b1";
    let sent = Sent::through(&program(), &always(202), get(url));
    assert_eq!((sent.attempts(), sent.report.waited), (21, ms(200_000)));
    assert_eq!(sent.stop(), StopReason::WaitsExhausted);
    let mut client = Script::new();
    for _ in 0..20 {
        client = client.status(202);
    }
    let sent = Sent::through(&program(), &client.status(200), get(url));
    assert_eq!((sent.attempts(), sent.status()), (21, 200));
    assert_eq!(sent.tokens_left(), "40");
}

#[test]
fn a_wrong_request_stays_wrong() {
    for url in [CHAT, PAY, SEARCH, "https://elsewhere.example.com/"] {
        let sent = Sent::through(&program(), &always(422), get(url));
        assert_eq!((sent.attempts(), sent.stop()), (1, StopReason::Stopped));
        assert_eq!((sent.status(), sent.rule()), (422, Some("our_mistake")));
    }
}

#[test]
fn a_payment_is_sent_twice_only_with_a_key() {
    let config = program();
    let sent = Sent::through(&config, &always(500), post(PAY));
    assert_eq!(
        (sent.attempts(), sent.stop()),
        (1, StopReason::NotIdempotent)
    );
    let sent = Sent::with(0, &config, &always(500), paying());
    assert_eq!(sent.delays(), all_ms(&[250, 500]), "at least half");
    assert_eq!(sent.stop(), StopReason::AttemptsExhausted);
    let error = sent.answer.unwrap_err();
    assert!(RequestFailed::of(&*error).is_some());
}

#[test]
fn a_refused_card_is_an_answer() {
    let sent = Sent::through(&program(), &always(402), paying());
    assert_eq!((sent.status(), sent.stop()), (402, StopReason::Accepted));
}

#[test]
fn a_payment_under_way_is_asked_for_again() {
    let body = r#"{"error": {"code": "idempotency_key_in_use"}}"#;
    let busy = Script::new().status(409).body(body).status(200);
    let sent = Sent::through(&program(), &busy, paying());
    assert_eq!((sent.delays(), sent.status()), (all_ms(&[1_000]), 200));
    let conflict = Sent::through(&program(), &always(409), paying());
    assert_eq!(
        (conflict.attempts(), conflict.stop()),
        (1, StopReason::NotRetryable)
    );
}

#[test]
fn an_outage_of_the_payment_api_is_met_by_five_retries_in_all() {
    let (config, client) = (program(), always(503));
    let stops: Vec<_> = (0..4)
        .map(|_| Sent::through(&config, &client, paying()).stop())
        .collect();
    let (limit, budget) = (StopReason::AttemptsExhausted, StopReason::BudgetExhausted);
    assert_eq!(stops, [limit, limit, budget, budget]);
    assert_eq!(client.calls().len(), 4 + 5);
}

#[test]
fn no_caller_makes_payments_more_eager() {
    let mut request = paying();
    let own = RetryOverride::new().max_retries(50);
    request.extensions_mut().insert(own);
    let sent = Sent::through(&program(), &always(500), request);
    assert_eq!(sent.attempts(), 3);
}

#[test]
fn a_search_that_fails_twice_has_no_hits() {
    for failing in [always(503), Script::new().error(ErrorKind::ConnectionReset)] {
        let sent = Sent::through(&program(), &failing, get(SEARCH));
        assert_eq!(sent.delays(), all_ms(&[500]));
        let empty = r#"{"hits": [], "partial": true}"#;
        assert_eq!(sent.answer.unwrap(), (200, empty.into()));
    }
}

#[test]
fn what_has_no_service_goes_by_the_documents_defaults() {
    let delays = ranges(&program(), "https://elsewhere.example.com/");
    assert_eq!(delays, [2_000, 4_000, 8_000, 16_000].map(|most| (0, most)));
}

#[test]
fn a_request_can_name_its_service() {
    let mut request = get("https://10.0.0.7/search");
    request
        .extensions_mut()
        .insert(RetryOverride::new().service("search"));
    let sent = Sent::through(&program(), &always(503), request);
    assert_eq!((sent.attempts(), sent.status()), (2, 200));
}
