//! Error pages that state whether a retry can help.

use super::*;
use crate::policy::bodies::BodyPart;

const FINAL: &[u8] = br#"{"cloudflare_error": true, "retryable": false}"#;

fn page(kind: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static(kind))])
}

/// Returns the end of a GET or POST that meets a response with this page, and whether the page was read.
fn with_page(
    policy: &RetryPolicy,
    (method, status): (Method, u16),
    headers: &HeaderMap,
    body: &[u8],
) -> (Option<StopReason>, bool) {
    let mut session = session(policy, &method);
    let ended = |next: Decision| match next {
        Decision::Retry(_) => None,
        Decision::Finish(why) => Some(why),
        other => panic!("{other:?}"),
    };
    match seen(&mut session, response(status, headers), Duration::ZERO) {
        Decision::Read(BodyPart::Start(_)) => {
            let body = crate::policy::ErrorBody::read(body);
            let mut outcome = response(status, headers).with_body(&body);
            let now = Moment::new(SECOND * 100);
            (ended(session.judge_body(&mut outcome, now)), true)
        }
        next => (ended(next), false),
    }
}

#[test]
fn a_problem_page_is_read_only_before_a_retry() {
    let (problem, json) = (
        page("Application/Problem+JSON; charset=utf-8"),
        page("application/json"),
    );
    let policy = policy();
    let read = |request, headers: &HeaderMap, body| with_page(&policy, request, headers, body);
    let final_ = Some(StopReason::NotRetryable);
    for status in [429, 503, 526, 530] {
        assert_eq!(
            read((Method::GET, status), &problem, FINAL),
            (final_, true),
            "{status}"
        );
        let other = br#"{"cloudflare_error": true, "retryable": true}"#;
        assert_eq!(read((Method::GET, status), &problem, other), (None, true));
        assert_eq!(read((Method::GET, status), &json, FINAL), (None, false));
    }
    assert_eq!(read((Method::GET, 404), &problem, FINAL), (final_, false));
    let post = read((Method::POST, 530), &problem, FINAL);
    assert_eq!(post, (Some(StopReason::NotIdempotent), false));
}

#[test]
fn a_problem_page_is_not_read_without_header_rules_or_by_rules() {
    use crate::policy::rules::Rule;
    let problem = page("application/problem+json");
    let get = || (Method::GET, 530);
    let plain = policy().to_builder().header_rules(false).build().unwrap();
    assert_eq!(with_page(&plain, get(), &problem, FINAL), (None, false));
    let rule = Rule::when(status(530)).retry(policy());
    let ruled = policy().to_builder().rule(rule).build().unwrap();
    assert_eq!(with_page(&ruled, get(), &problem, FINAL), (None, false));
    // A dialect is overruled, as by a header, and a classifier of the caller's own is not.
    let busy = |_: &Outcome<'_>| Some((Class::Transient, Reach::Refused));
    let own = policy().to_builder().classify(busy).build().unwrap();
    assert_eq!(with_page(&own, get(), &problem, FINAL), (None, true));
    let verdict = move |outcome: &Outcome<'_>| busy(outcome).map(Into::into);
    let dialect = policy().to_builder().dialect(verdict).build().unwrap();
    let stopped = Some(StopReason::NotRetryable);
    assert_eq!(with_page(&dialect, get(), &problem, FINAL), (stopped, true));
}
