//! Answers as a file of cases has them, and what a policy makes of one.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_retry::dialect::Dialect;
use http_retry::policy::{ErrorBody, Reason, Scope};
use http_retry::route::RequestHead;
use http_retry::{Class, Outcome, Reach, RetryPolicy};
use serde_json::Value;
use std::time::Duration;

/// 2026-08-21T12:00:00Z.
pub(super) const NOW: Duration = Duration::from_secs(1_787_313_600);

/// An answer, and the request that it is to.
pub(super) struct Case {
    pub(super) row: String,
    request: RequestHead<'static>,
    status: StatusCode,
    headers: HeaderMap,
    body: ErrorBody,
}

/// What an answer means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meant {
    pub(super) class: Class,
    pub(super) reach: Reach,
    pub(super) delay: Option<Duration>,
    pub(super) at_least: Option<Duration>,
    pub(super) scope: Option<Scope>,
    pub(super) reason: Option<Reason>,
}

/// The cases of the file, each with the one that must not match.
pub(super) fn cases() -> Vec<(Case, Case)> {
    let lines = include_str!("rows.jsonl").lines();
    let read = lines.map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut other = case.clone();
        for (key, value) in case["not"].as_object().unwrap() {
            other[key] = value.clone();
        }
        (Case::read(&case), Case::read(&other))
    });
    read.collect()
}

impl Case {
    fn read(case: &Value) -> Self {
        let ask = case["ask"].as_str().unwrap_or("GET /");
        let (method, path) = ask.split_once(' ').unwrap();
        let mut asked = HeaderMap::new();
        if let Some(key) = case["key"].as_str() {
            asked.insert("idempotency-key", HeaderValue::from_str(key).unwrap());
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let uri = format!("http://api.example{path}").parse().unwrap();
        let request = RequestHead::new(&method, &uri).with_key_in(&asked);
        let body = match &case["body"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            json => json.to_string(),
        };
        let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
        Self {
            row: case["row"].as_str().unwrap().to_owned(),
            request: request.into_owned(),
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers(&case["head"]),
            body: ErrorBody::read(body.as_bytes()),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        Dialect::get(self.row.split('[').next().unwrap()).unwrap()
    }

    /// The row's place in its table.
    pub(super) fn place(&self) -> usize {
        let (_, place) = self.row.split_once('[').unwrap();
        place.trim_end_matches(']').parse().unwrap()
    }

    /// What the answer means in a dialect alone, and which row says so.
    pub(super) fn meant(&self, dialect: Dialect) -> (Meant, Option<String>) {
        let policy = RetryPolicy::builder().header_rules(false).dialect(dialect);
        let policy = policy.build().unwrap();
        let outcome = Outcome::response(self.status, &self.headers);
        let outcome = outcome.of_request(&self.request).with_body(&self.body);
        let outcome = policy.classify(outcome);
        let meant = Meant {
            class: outcome.class(),
            reach: outcome.reach(),
            delay: outcome.server_delay(NOW),
            at_least: outcome.verdict().at_least,
            scope: outcome.verdict().scope,
            reason: outcome.verdict().reason,
        };
        (meant, policy.row_of(&outcome).map(|row| row.to_string()))
    }
}

pub(super) fn headers(given: &Value) -> HeaderMap {
    let given = given.as_object().into_iter().flatten();
    let header = |(name, value): (&String, &Value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        (
            name,
            HeaderValue::from_str(value.as_str().unwrap()).unwrap(),
        )
    };
    given.map(header).collect()
}
