//! Policies per type and state of a job store: extra runs, exhaustion targets, history and updates while jobs run.

use super::{Sent, all_ms, always, builder, config, document, exactly, get, post, ranges};
use http::Request;
use http_retry::config::{Document, RetryConfig};
use http_retry::report::{DeadLetter, RequestFailed};
use http_retry::testing::Script;
use http_retry::{RetryOverride, StopReason};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const CHARGE: &str = "http://jobs.example.com/checkout/charge_card";
const PACK: &str = "http://jobs.example.com/checkout/pack";
const REPORT: &str = "http://jobs.example.com/reports/monthly";

/// A dead letter: the observer's name, the request's target and the statuses of its history.
type Letter = (&'static str, String, Vec<u16>);
type Letters = Arc<Mutex<Vec<Letter>>>;

fn store() -> (RetryConfig, Letters) {
    let letters = Letters::default();
    let observer = |name: &'static str| {
        let letters = Arc::clone(&letters);
        move |letter: &DeadLetter<'_>| {
            let history = letter.report.attempts.iter();
            let history = history.filter_map(|attempt| attempt.status);
            letters.lock().unwrap().push((
                name,
                letter.uri.to_owned(),
                history.map(|status| status.as_u16()).collect(),
            ));
        }
    };
    let config = builder()
        .dead_letters("failed", observer("failed"))
        .dead_letters("payment_failed", observer("payment_failed"))
        .load(&document("job_store"))
        .unwrap();
    (config, letters)
}

fn patch(config: &RetryConfig, service: &str, change: Value) -> Result<(), String> {
    let change: Document = serde_json::from_value(change).unwrap();
    let patched = config.patch_service(service, &change);
    patched.map_err(|errors| errors.to_string())
}

fn with_retries(url: &str, retries: u32) -> Request<String> {
    let mut request = get(url);
    let own = RetryOverride::new().max_retries(retries);
    request.extensions_mut().insert(own);
    request
}

#[test]
fn a_state_has_its_own_runs_and_target_and_shared_delays() {
    let (config, letters) = store();
    let client = Script::new().status(500).status(503).status(409);
    let sent = Sent::through(&config, &client, post(CHARGE));
    assert_eq!(sent.delays(), all_ms(&[10_000, 10_000]));
    assert_eq!(sent.stop(), StopReason::AttemptsExhausted);
    assert_eq!(sent.status(), 409, "the caller gets the last answer");
    let history = vec![500, 503, 409];
    assert_eq!(
        *letters.lock().unwrap(),
        [("payment_failed", CHARGE.to_owned(), history)]
    );
}

#[test]
fn a_state_without_a_policy_goes_by_its_type() {
    let (config, letters) = store();
    let sent = Sent::through(&config, &always(500), post(PACK));
    assert_eq!(sent.delays(), all_ms(&[10_000; 5]));
    let letters = letters.lock().unwrap();
    assert_eq!(*letters, [("failed", PACK.to_owned(), vec![500; 6])]);
}

#[test]
fn every_kind_of_growth_is_cut_at_its_longest_delay() {
    let state = |name| {
        let url = format!("http://jobs.example.com/checkout/{name}");
        ranges(&config("job_store"), &url)
    };
    assert_eq!(state("reserve_stock"), exactly(&[100, 200, 250]));
    assert_eq!(state("send_receipt"), exactly(&[100, 200, 300]));
    assert_eq!(state("close"), []);
}

#[test]
fn a_job_without_extra_runs_goes_to_its_target_at_once() {
    let (config, letters) = store();
    let close = "http://jobs.example.com/checkout/close";
    let sent = Sent::through(&config, &always(500), get(close));
    assert_eq!(sent.attempts(), 1);
    let letters = letters.lock().unwrap();
    assert_eq!(*letters, [("failed", close.to_owned(), vec![500])]);
}

#[test]
fn a_type_without_a_policy_goes_by_the_stores_own() {
    let delays = ranges(&config("job_store"), REPORT);
    assert_eq!(delays, [(800, 1_200), (1_600, 2_400), (3_200, 4_800)]);
}

#[test]
fn a_job_that_is_given_up_is_an_error_and_no_dead_letter() {
    let (config, letters) = store();
    let sent = Sent::through(&config, &always(422), post(CHARGE));
    assert_eq!(
        (sent.attempts(), sent.rule()),
        (1, Some("given_up")),
        "{}",
        sent.report
    );
    let error = sent.answer.unwrap_err();
    let failed = RequestFailed::of(&*error).expect("the policy's own error");
    assert_eq!(failed.report().stop, StopReason::Failed);
    assert!(letters.lock().unwrap().is_empty());
}

#[test]
fn a_policy_is_changed_while_jobs_run() {
    let (config, _) = store();
    patch(
        &config,
        "reports",
        json!({"retry": {"max_retries": 6, "factor": 2.0}}),
    )
    .unwrap();
    let last = ranges(&config, REPORT).split_off(3);
    assert_eq!(
        last,
        [(6_400, 9_600), (12_800, 19_200), (24_000, 30_000)],
        "the jitter goes around the ceiling, and no delay is above 30 s"
    );
    patch(&config, "checkout", json!({"retry": {"max_retries": 1}})).unwrap();
    assert_eq!(ranges(&config, PACK), exactly(&[10_000]));
    assert_eq!(
        ranges(&config, CHARGE),
        exactly(&[10_000; 2]),
        "the state's own number stays"
    );
}

#[test]
fn a_change_that_cannot_work_leaves_the_policy_as_it_was() {
    let (config, _) = store();
    let change = json!({"retry": {"max_retries": -1, "backoff": "fixd"}});
    let errors = patch(&config, "checkout", change).unwrap_err();
    assert_eq!(
        errors,
        "services.checkout.retry.max_retries: -1 is not allowed: must be a whole number of at least 0\n\
         services.checkout.retry.backoff: \"fixd\" is not known: did you mean fixed?"
    );
    assert_eq!(ranges(&config, PACK), exactly(&[10_000; 5]));
}

#[test]
fn a_commands_limit_goes_before_the_stores_if_allowed() {
    let config = config("job_store");
    let sent = Sent::through(&config, &always(500), with_retries(CHARGE, 3));
    assert_eq!(sent.delays(), all_ms(&[10_000; 3]));
    let sent = Sent::through(&config, &always(500), with_retries(REPORT, 9));
    assert_eq!(sent.attempts(), 4);
}
