use super::*;
use crate::policy::rules::predicate::tests::{is_retryable, retryable, status};
use crate::policy::rules::{ConditionInput, DecidedBy, Predicate, Rule};
use crate::policy::{
    DelaySource, Moment, Reach, Reason, RequestFacts, RetryPlan, RetryPolicy, Scope, StopReason,
};
use crate::route::Route;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use std::time::Duration;

const SEVEN_SECONDS: Duration = Duration::from_secs(7);

/// A table of one row, as another crate could define it.
struct Table {
    name: &'static str,
    status: u16,
    class: Class,
}

impl Classify for Table {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let is_ours = outcome.status()?.as_u16() == self.status;
        is_ours.then(|| Verdict::new(self.class, Reach::Answered).by_row(0))
    }

    fn judges_successes(&self) -> bool {
        false
    }

    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        Some(format!("{}[{row}]", self.name).into())
    }

    fn key_header(&self) -> Option<HeaderName> {
        HeaderName::try_from(format!("{}-key", self.name)).ok()
    }

    fn describe(&self) -> Vec<String> {
        vec![format!("table {}", self.name)]
    }

    fn check(&self) -> Result<(), ConfigError> {
        match self.status {
            100..=999 => Ok(()),
            status => Err(ConfigError::new("table", status, "must be 100 to 999")),
        }
    }
}

fn table(name: &'static str, status: u16, class: Class) -> Table {
    Table {
        name,
        status,
        class,
    }
}

fn class(policy: &RetryPolicy, status: u16, headers: &HeaderMap) -> Class {
    let status = StatusCode::from_u16(status).unwrap();
    policy.classify(Outcome::response(status, headers)).class()
}

#[test]
fn classifiers_judge_in_order_and_before_dialects() {
    let policy = RetryPolicy::builder()
        .dialect(table("first", 404, Class::Throttled))
        .dialect(table("second", 410, Class::Throttled))
        .classify(|outcome| {
            let gone = outcome.status()? == 410;
            gone.then_some((Class::Transient, Reach::Answered))
        })
        .classifier(table("own", 410, Class::Success))
        .build()
        .unwrap();
    let headers = HeaderMap::new();
    assert_eq!(class(&policy, 410, &headers), Class::Transient);
    assert_eq!(class(&policy, 404, &headers), Class::Throttled);
    let judged = policy.classify(Outcome::response(StatusCode::NOT_FOUND, &headers));
    assert_eq!(policy.row_of(&judged).as_deref(), Some("first[0]"));
    assert_eq!(policy.key_header().unwrap(), "own-key");
    let text = policy.explain();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("table")).collect();
    assert_eq!(lines, ["  table own", "  table first", "  table second"]);
}

#[test]
fn the_first_dialect_decides_and_no_header_rule_after_it() {
    let policy = RetryPolicy::builder()
        .dialect(table("first", 403, Class::Permanent))
        .dialect(table("second", 403, Class::Transient))
        .build()
        .unwrap();
    let invited = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("5"))]);
    let judged = policy.classify(Outcome::response(StatusCode::FORBIDDEN, &invited));
    assert_eq!(judged.class(), Class::Permanent);
    assert_eq!(policy.row_of(&judged).as_deref(), Some("first[0]"));
    // Without a dialect, a header rule makes a 403 that names a time a throttle.
    let plain = RetryPolicy::background();
    assert_eq!(class(&plain, 403, &invited), Class::Throttled);
}

#[test]
fn a_rule_tests_the_class_of_a_dialect_and_keeps_its_delay() {
    let busy = Verdict::new(Class::Transient, Reach::Answered).asking_for(SEVEN_SECONDS);
    let policy = RetryPolicy::builder()
        .dialect(move |outcome: &Outcome<'_>| (outcome.status()? == 404).then_some(busy))
        .rule(
            Rule::when(|input: &ConditionInput<'_>| {
                Some(status(404).holds(input)? && !is_retryable(input.outcome))
            })
            .stop(),
        )
        .rule(Rule::when(retryable()).retry(RetryPolicy::background()))
        .build()
        .unwrap();
    let plan = plan_after(&policy, StatusCode::NOT_FOUND).unwrap();
    assert!(matches!(plan.by, DecidedBy::Rule(_)));
    assert_eq!(plan.source, DelaySource::Server);
    assert!(plan.delay >= SEVEN_SECONDS);
}

#[test]
fn an_open_wait_or_scope_is_that_of_the_next_classifier() {
    let asked = Verdict::new(Class::Throttled, Reach::Refused).asking_for(SEVEN_SECONDS);
    let later = asked
        .asking_for(SEVEN_SECONDS * 2)
        .at_least(SEVEN_SECONDS * 3);
    let dialect = |verdict: Verdict| move |_: &Outcome<'_>| Some(verdict);
    let policy = |own: Verdict| {
        let builder = RetryPolicy::builder()
            .dialect(dialect(
                asked.scope(Scope::Route).because(Reason::RateLimited),
            ))
            .dialect(dialect(later.scope(Scope::Request)));
        builder.classify(move |_| Some(own)).build().unwrap()
    };
    let headers = HeaderMap::new();
    let judged = |own| policy(own).classify(Outcome::response(StatusCode::CONFLICT, &headers));

    let open = judged(Verdict::new(Class::Transient, Reach::Answered));
    assert_eq!(
        (open.class(), open.reach()),
        (Class::Transient, Reach::Answered)
    );
    assert_eq!(open.server_delay(Duration::ZERO), Some(SEVEN_SECONDS));
    assert_eq!(open.verdict().at_least, Some(SEVEN_SECONDS * 3));
    assert_eq!(open.verdict().scope, Some(Scope::Route));
    // The reason belongs to the class.
    assert_eq!(open.verdict().reason, None);

    let own = Verdict::new(Class::Transient, Reach::Answered).asking_for(Duration::ZERO);
    let closed = judged(own.at_least(Duration::ZERO).scope(Scope::Account));
    assert_eq!(closed.server_delay(Duration::ZERO), Some(Duration::ZERO));
    assert_eq!(closed.verdict().at_least, Some(Duration::ZERO));
    assert_eq!(closed.verdict().scope, Some(Scope::Account));

    let success = judged(Verdict::new(Class::Success, Reach::Answered));
    assert_eq!(
        (success.verdict().at_least, success.verdict().scope),
        (None, None)
    );
}

/// A classifier with a verdict on 404 and a rule of its own.
struct Ruled(Rule);

impl Classify for Ruled {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let lost = Verdict::new(Class::Transient, Reach::Answered);
        (outcome.status()? == 404).then_some(lost)
    }

    fn rule(&self) -> Option<&Rule> {
        Some(&self.0)
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }
}

fn plan_after(policy: &RetryPolicy, status: StatusCode) -> Result<RetryPlan, StopReason> {
    let headers = HeaderMap::new();
    let facts = RequestFacts::of(&Method::GET, &headers);
    let session = policy.session(facts, Duration::ZERO);
    let judged = policy.classify(Outcome::response(status, &headers));
    session.plan(&judged, Moment::new(Duration::ZERO))
}

#[test]
fn the_rule_of_a_classifier_precedes_those_of_the_policy() {
    let on_retryable = || Rule::when(retryable());
    let policy = RetryPolicy::builder()
        .rule(on_retryable().retry(RetryPolicy::background()))
        .classifier(Ruled(on_retryable().stop()))
        .build()
        .unwrap();
    let stopped = plan_after(&policy, StatusCode::NOT_FOUND).unwrap_err();
    assert_eq!(stopped, StopReason::Stopped);
    // It has no word where the classifier leaves an outcome to the tables.
    let gone = plan_after(&policy, StatusCode::GONE).unwrap_err();
    assert_eq!(gone, StopReason::NotRetryable);
}

#[test]
fn build_refuses_a_classifier_whose_rule_cannot_work() {
    let unnamed = || Rule::when(retryable()).named("").stop();
    for builder in [
        RetryPolicy::builder().classifier(Ruled(unnamed())),
        RetryPolicy::builder().classifier(unnamed()),
        RetryPolicy::builder().rule(unnamed()),
    ] {
        assert_eq!(builder.build().unwrap_err().field, "rules[0].name");
    }
}

#[test]
fn x_should_retry_overrules_a_dialect_but_no_classifier() {
    let never = HeaderMap::from_iter([(
        HeaderName::from_static("x-should-retry"),
        HeaderValue::from_static("false"),
    )]);
    let busy = || table("shop", 404, Class::Transient);
    let of_dialect = RetryPolicy::builder().dialect(busy()).build().unwrap();
    let own = RetryPolicy::builder().classifier(busy()).build().unwrap();
    let plain = of_dialect.to_builder().header_rules(false).build().unwrap();
    assert_eq!(class(&of_dialect, 404, &never), Class::Permanent);
    assert_eq!(class(&own, 404, &never), Class::Transient);
    assert_eq!(class(&plain, 404, &never), Class::Transient);
}

#[test]
fn successes_are_judged_only_if_a_classifier_judges_them() {
    let policy = |builder: crate::RetryPolicyBuilder| builder.build().unwrap();
    let tables = RetryPolicy::builder().dialect(table("shop", 404, Class::Throttled));
    let closure = tables.clone().classify(|_| None::<Verdict>);
    assert!(!policy(tables).judges_successes());
    assert!(policy(closure).judges_successes());
}

/// Judges the body of every response.
struct ReadsBodies;

impl Classify for ReadsBodies {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        outcome.body()?;
        Some(Verdict::new(Class::Throttled, Reach::Refused))
    }

    fn reads_body(&self, _: &Outcome<'_>) -> bool {
        true
    }
}

#[test]
fn no_head_is_a_success_if_a_classifier_reads_bodies() {
    let policy = RetryPolicy::builder().classifier(ReadsBodies).build();
    let route = Route::new(policy.unwrap());
    let none = HeaderMap::new();
    let head = Outcome::response(StatusCode::OK, &none);
    assert!(matches!(route.accepts(&head), Err(None)));
}

#[test]
fn build_refuses_a_classifier_that_fails_its_check() {
    for builder in [
        RetryPolicy::builder().dialect(table("shop", 42, Class::Success)),
        RetryPolicy::builder().classifier(table("shop", 42, Class::Success)),
    ] {
        assert_eq!(builder.build().unwrap_err().field, "table");
    }
}

/// Holds for a status, and cannot hold for a success; must not be asked about one.
struct NotFound;

impl Predicate for NotFound {
    fn holds(&self, input: &ConditionInput<'_>) -> Option<bool> {
        let status = input.outcome.status().map(|status| status.as_u16());
        assert_ne!(status, Some(200), "a rule was asked about a success");
        Some(status == Some(404))
    }

    fn may_hold_for_success(&self) -> bool {
        false
    }
}

#[test]
fn a_rule_that_no_success_can_meet_is_not_asked_about_one() {
    let policy = RetryPolicy::builder()
        .classify(|outcome| {
            let found = outcome.status().is_some_and(|status| status == 404);
            found.then_some((Class::Success, Reach::Answered))
        })
        .rule(Rule::when(NotFound).named("missing").fail())
        .rule(Rule::when(status(200)).named("found").fail());
    let policy = policy.build().unwrap();
    let (headers, moment) = (HeaderMap::new(), Moment::default());
    for (status, rule) in [(200, 2), (404, 1)] {
        let outcome = Outcome::response(StatusCode::from_u16(status).unwrap(), &headers);
        let outcome = policy.classify(outcome);
        assert_eq!(outcome.class(), Class::Success, "{status}");
        let session = policy.session(RequestFacts::operation(), moment.now);
        let stop = session.plan_or_stop(&outcome, moment).unwrap_err();
        assert_eq!(stop.by, DecidedBy::Rule(rule), "{status}");
    }
    let only = RetryPolicy::builder().rule(Rule::when(NotFound).fail());
    assert!(only.build().unwrap().takes_successes_as_they_are());
    assert!(!policy.takes_successes_as_they_are());
}

/// Holds for paths with one of these starts, and for any if there is none; must be asked about no other success.
struct Below(&'static [&'static str]);

impl Predicate for Below {
    fn holds(&self, input: &ConditionInput<'_>) -> Option<bool> {
        let path = input.outcome.request().unwrap().path();
        let is_below = self.0.is_empty() || self.0.iter().any(|start| path.starts_with(start));
        assert!(is_below, "a rule for {:?} was asked about {path}", self.0);
        Some(true)
    }

    fn path_starts(&self) -> Vec<&str> {
        self.0.to_vec()
    }
}

#[test]
fn a_success_is_judged_by_the_rules_for_its_path_in_order() {
    let rules: [&[&str]; 6] = [
        &["/a/b", "/c"],
        &["/a", "/a/x"],
        &["/d/%C3%BC"],
        &[],
        &["/"],
        &["/e"],
    ];
    let policy = rules
        .into_iter()
        .fold(RetryPolicy::builder(), |policy, starts| {
            policy.rule(Rule::when(Below(starts)).fail())
        });
    // A classifier before them moves their places.
    let policies = [
        policy.clone(),
        policy.classifier(table("shop", 423, Class::Permanent)),
    ];
    let (headers, moment) = (HeaderMap::new(), Moment::default());
    for (first, policy) in policies.into_iter().enumerate() {
        let policy = policy.build().unwrap();
        for (path, rule) in [
            ("/a/b/c", 0),
            ("/c", 0),
            ("/a/x", 1),
            ("/a", 1),
            ("/d/\u{fc}/x", 2),
            ("/d/\u{fd}", 3),
            ("/e", 3),
            ("*", 3),
        ] {
            let request = RequestHead::of_parts(&Method::GET, None, None, path);
            let outcome = Outcome::response(StatusCode::OK, &headers).of_request(&request);
            let outcome = policy.classify(outcome);
            let session = policy.session(RequestFacts::operation(), moment.now);
            let stop = session.plan_or_stop(&outcome, moment).unwrap_err();
            assert_eq!(stop.by, DecidedBy::Rule(first + rule), "{path}");
        }
    }
}
