//! What holds for any rows of one's own, before those of any dialect.

use super::answers::NOW;
use super::properties::{Answer, BODIES, NAMES, STATUSES, VALUES, answers, asked, head};
use http::{Method, StatusCode};
use http_retry::dialect::{Dialect, Interpretation, Location, Row};
use http_retry::policy::{ErrorBody, Moment, Unit};
use http_retry::rules::Value;
use http_retry::{Outcome, RequestFacts, RetryBudget, RetryPolicy};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::time::Duration;

const POINTERS: [&str; 5] = [
    "/error/code",
    "/errors/*/type",
    "/retry_after",
    "/__type",
    "",
];
const UNITS: [Unit; 4] = [Unit::S, Unit::Ms, Unit::Unix, Unit::Auto];

/// A row, and whether it says that the server did nothing.
#[derive(Debug, Clone)]
struct Own {
    status: u16,
    head: Option<(usize, usize)>,
    json: Option<usize>,
    class: usize,
    reach: Option<bool>,
    delay: Option<(usize, usize)>,
    least: Option<u64>,
}

fn own() -> impl Strategy<Value = Own> {
    let status = prop::sample::select(STATUSES.as_slice());
    let head = prop::option::weighted(0.3, (0..NAMES.len(), 0..VALUES.len()));
    let json = prop::option::weighted(0.3, 0..POINTERS.len());
    let reach = prop::option::of(any::<bool>());
    let delay = prop::option::of((0..POINTERS.len() + NAMES.len(), 0..UNITS.len()));
    let least = prop::option::of(0_u64..100_000);
    let parts = (status, head, json, 0..4_usize, reach, delay, least);
    parts.prop_map(|(status, head, json, class, reach, delay, least)| Own {
        status,
        head,
        json,
        class,
        reach,
        delay,
        least,
    })
}

impl Own {
    fn says_refused(&self) -> bool {
        self.reach.unwrap_or(self.class == 1)
    }

    fn row(&self) -> Row {
        let row = Row::when().status([self.status]);
        let row = match self.head {
            Some((name, value)) => row.header(NAMES[name], VALUES[value]),
            None => row,
        };
        let row = match self.json {
            Some(pointer) => row.json(POINTERS[pointer], Value::any()),
            None => row,
        };
        row.is(self.meaning())
    }

    fn meaning(&self) -> Interpretation {
        let of_class = [
            Interpretation::success,
            Interpretation::throttled,
            Interpretation::transient,
            Interpretation::permanent,
        ];
        let meaning = of_class[self.class]();
        let meaning = match self.reach {
            Some(true) => meaning.refused(),
            Some(false) => meaning.answered(),
            None => meaning,
        };
        let meaning = match self.least {
            Some(least) => meaning.at_least(Duration::from_millis(least)),
            None => meaning,
        };
        let Some((place, unit)) = self.delay else {
            return meaning;
        };
        let at = match NAMES.get(place) {
            Some(name) => Location::header(name),
            None => Location::json(POINTERS[place - NAMES.len()]),
        };
        meaning.delay(at, UNITS[unit])
    }
}

/// The rows, then those of a built-in dialect.
fn dialect(rows: &[Own], table: usize) -> Dialect {
    let base = Dialect::all().nth(table % Dialect::all().count()).unwrap();
    let own = rows.iter().map(Own::row);
    own.fold(Dialect::named("own"), Dialect::row).and(base)
}

/// Whether the row of this name says that the server did nothing.
fn may_refuse(row: &str, rows: &[Own], dialect: &Dialect) -> bool {
    match row.strip_prefix("own[") {
        Some(place) => {
            let place: usize = place.trim_end_matches(']').parse().unwrap();
            rows[place].says_refused()
        }
        None => dialect.has_refused_rows(),
    }
}

proptest! {
    #![proptest_config(Config::with_cases(2_000))]

    #[test]
    fn no_row_of_ones_own_promises_what_it_does_not_say(
        rows in prop::collection::vec(own(), 0..5),
        table in any::<usize>(),
        answer in answers(),
        random in any::<u64>(),
    ) {
        let (status, lines, body, path, keyed): Answer = answer;
        let headers = head(&lines);
        let (request, asked) = asked(path, keyed);
        let body = ErrorBody::read(BODIES[body].as_bytes());
        let plain = Outcome::response(StatusCode::from_u16(status).unwrap(), &headers);
        let dialect = dialect(&rows, table);
        let policy = RetryPolicy::builder().max_gate_wait(None).header_rules(false);
        let policy = policy.dialect(dialect.clone()).build().unwrap();
        let outcome = policy.classify(plain.of_request(&request).with_body(&body));
        let row = policy.row_of(&outcome);
        if outcome.reach().is_unprocessed() && !plain.reach().is_unprocessed() {
            let row = row.as_deref();
            prop_assert!(row.is_some_and(|row| may_refuse(row, &rows, &dialect)), "{row:?}");
        }
        let session = policy.session(RequestFacts::of(&Method::POST, &asked), Duration::ZERO);
        let moment = Moment::new(Duration::ZERO).with_wall(NOW).with_random(random);
        if let Ok(plan) = session.plan(&outcome, moment) {
            prop_assert!(keyed || outcome.reach().is_unprocessed());
            let paid = RetryBudget::unlimited().withdraw(plan, Duration::ZERO).unwrap();
            let named = outcome.server_delay(NOW).max(outcome.verdict().at_least);
            prop_assert!(paid.delay() >= named.unwrap_or_default());
            let least = row.as_deref().and_then(|row| row.strip_prefix("own["));
            let least = least.and_then(|place| rows[place.trim_end_matches(']').parse::<usize>().unwrap()].least);
            prop_assert!(paid.delay() >= Duration::from_millis(least.unwrap_or_default()));
        }
    }
}
