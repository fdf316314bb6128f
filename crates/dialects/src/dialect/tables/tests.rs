use crate::dialect::{Dialect, Row};
use http::{HeaderMap, Method, StatusCode, Uri};
use http_retry_core::policy::{Classify, ErrorBody};
use http_retry_core::route::RequestHead;
use http_retry_core::rules::BodyView;
use http_retry_core::{Class, Outcome};
use http_retry_rules::Condition;
use http_retry_rules::body_work;
use std::collections::BTreeSet;

/// Rows that stop and stand behind one that retries, of whose answers some are theirs too; and why.
const AFTER: [(&str, &str); 6] = [
    (
        "grpc[3]",
        "a pushback that is no number is left after those that are",
    ),
    ("llm[34]", FALLBACK),
    ("llm[35]", FALLBACK),
    ("llm[36]", FALLBACK),
    ("llm[37]", FALLBACK),
    ("llm[38]", FALLBACK),
];
const FALLBACK: &str = "a token says more than a status only where the status says nothing";

#[test]
fn a_row_that_stops_stands_before_those_that_retry() {
    let mut after = Vec::new();
    for dialect in Dialect::all() {
        let rows: Vec<Row> = dialect.rows.clone();
        for (place, stop) in rows.iter().enumerate() {
            let mut before = rows.iter().take(place);
            let stops = stop.meaning.class() == Class::Permanent;
            if stops && before.any(|other| retries(other) && takes_from(other, stop)) {
                after.push(format!("{}[{place}]", dialect.name()));
            }
        }
    }
    let known: Vec<&str> = AFTER.iter().map(|(row, _)| *row).collect();
    assert_eq!(after, known);
}

fn retries(row: &Row) -> bool {
    matches!(row.meaning.class(), Class::Transient | Class::Throttled)
}

/// Returns `true` if a row that retries may take an answer that is meant for one behind it: both may hold, and that one
/// is not merely for what the first leaves.
fn takes_from(retry: &Row, stop: &Row) -> bool {
    let parts = |row: &Row| row.when.parts().collect::<Vec<Condition>>();
    let (retry, stop) = (parts(retry), parts(stop));
    let apart = stop
        .iter()
        .any(|part| retry.iter().any(|other| exclude(part, other)));
    let rest = stop
        .iter()
        .all(|part| retry.iter().any(|other| covers(part, other)));
    !apart && !rest
}

/// Returns `true` if no answer meets both conditions.
fn exclude(one: &Condition, other: &Condition) -> bool {
    match (statuses(one), statuses(other)) {
        (Some(one), Some(other)) => one.is_disjoint(&other),
        _ => false,
    }
}

/// Returns `true` if each answer that meets the second condition meets the first.
fn covers(one: &Condition, other: &Condition) -> bool {
    match (statuses(one), statuses(other)) {
        (Some(one), Some(other)) => one.is_superset(&other),
        _ => one == other,
    }
}

/// The statuses that a condition asks for, if it asks for some.
fn statuses(condition: &Condition) -> Option<BTreeSet<u16>> {
    let headers = HeaderMap::new();
    let holds = |status: &u16| {
        let response = Outcome::response(StatusCode::from_u16(*status).unwrap(), &headers);
        condition.matches(&response, BodyView::Body) == Some(true)
    };
    let all: BTreeSet<u16> = (100..=999).filter(holds).collect();
    (1..900).contains(&all.len()).then_some(all)
}

/// Bodies of about this many bytes that a service could send to make its readers work.
fn bodies(size: usize) -> Vec<String> {
    let filled = |before: &str, part: &str, behind: &str| {
        format!("{before}{}{behind}", part.repeat(size / part.len()))
    };
    let nested = |depth: usize| {
        let text = filled("{\"error\": \"", "x ", "\"}");
        (0..depth).fold(text, |text, _| {
            serde_json::json!({ "message": text }).to_string()
        })
    };
    vec![
        filled("{\"errors\": [", "{\"code\": \"A\"},", "{}]}"),
        filled("{\"errors\": [", "{\"extensions\": {\"code\": 1}},", "{}]}"),
        filled(
            "{\"error\": {",
            "\"errors\": [{\"reason\": \"no\"}],",
            "\"code\": 1}}",
        ),
        filled("", "[", ""),
        filled("", "{\"error\":", ""),
        filled("{\"message\": \"", "\\u00e9", ""),
        filled("{\"message\": \"", "\\", ""),
        filled("[", "1,", "1]"),
        filled("<Error>", "<Code>", ""),
        filled("", "<!-- -->", "<Error><Code>SlowDown</Code></Error>"),
        filled("<Error><Code>", "x", "</Code></Error>"),
        filled("", "secondary rate limi ", ""),
        filled("data: ", "data: x\n", ""),
        nested(1),
        nested(3),
        nested(5),
    ]
}

/// All tables, joined as far as the places that they look at allow.
fn joined() -> Vec<Dialect> {
    let mut joined: Vec<Dialect> = Vec::new();
    for dialect in Dialect::all() {
        let with = joined.last().map(|last| last.clone().and(dialect.clone()));
        match with.filter(|with| with.check().is_ok()) {
            Some(with) => *joined.last_mut().unwrap() = with,
            None => joined.push(dialect),
        }
    }
    joined
}

/// The work of all tables on one body of a failure that none of them knows.
fn work_of(body: &str) -> usize {
    let headers = HeaderMap::new();
    let uri = Uri::from_static("http://h/graphql.json");
    let request = RequestHead::new(&Method::POST, &uri).with_key_in(&headers);
    let outcome = Outcome::response(StatusCode::FORBIDDEN, &headers).of_request(&request);
    let tables = joined();
    body_work(|| {
        for table in &tables {
            let read = ErrorBody::read(body.as_bytes()).with_pointers(&table.pointers(&outcome));
            table.classify(&outcome.with_body(&read));
        }
    })
}

#[test]
fn the_work_on_a_body_grows_with_it_and_not_faster() {
    for (place, large) in [64, 64, 1024, 64].into_iter().cycle().take(16).enumerate() {
        let (small, large) = (16 * 1024, large * 1024);
        let [less, more] = [small, large].map(|size| bodies(size).swap_remove(place));
        let start: String = more.chars().take(40).collect();
        let (less, more) = (work_of(&less), work_of(&more));
        let times = large / small;
        assert!(more <= less * (times + 1), "{start}: {less}, {more}");
        assert!(more < large * 64, "{start}: {more}");
    }
}
