//! Any rows, on any head and body: no panic, bounds hold, nothing counts as refused without a row that says so or by broken
//! JSON, and no retry comes earlier than the answer names.
#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_retry::dialect::{Dialect, Interpretation, Location, Row, RowBuilder};
use http_retry::policy::{ErrorBody, Moment, Unit};
use http_retry::route::RequestHead;
use http_retry::rules::{ReadBody, Value};
use http_retry::{Outcome, RequestFacts, RetryBudget, RetryPolicy};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use std::time::Duration;

/// 2026-08-21T12:00:00Z.
const NOW: Duration = Duration::from_secs(1_787_313_600);

#[derive(Arbitrary, Debug)]
struct Input {
    rows: Vec<OwnRow>,
    /// Which built-in table comes after them.
    table: u8,
    status: u16,
    headers: Vec<(u8, Vec<u8>)>,
    body: Vec<u8>,
    path: u8,
    keyed: bool,
    random: u64,
}

#[derive(Arbitrary, Debug)]
struct OwnRow {
    status: Option<u16>,
    tests: Vec<Test>,
    class: u8,
    reach: Option<bool>,
    delay: Option<(Place, u8)>,
    least: Option<u16>,
    scope: Option<Place>,
}

#[derive(Arbitrary, Debug)]
enum Test {
    Head(u8, Wanted),
    Part(u8, Wanted),
    Json(u8, Wanted),
    Xml(String),
    Text(String),
    Path(u8),
    Keyed,
}

#[derive(Arbitrary, Debug)]
enum Wanted {
    Any,
    Is(String),
    Name(String),
    Starts(String),
    Has(String),
    Number(u64),
    AnyNumber,
}

#[derive(Arbitrary, Debug)]
enum Place {
    Head(u8),
    Part(u8),
    Json(u8),
    Prose,
}

const NAMES: [&str; 12] = [
    "retry-after",
    "retry-after-ms",
    "date",
    "content-type",
    "x-should-retry",
    "x-amzn-errortype",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-bucket",
    "grpc-status",
    "grpc-retry-pushback-ms",
    "x-limit",
];
const POINTERS: [&str; 8] = [
    "",
    "/error/code",
    "/error/*/code",
    "/errors/*/extensions/code",
    "/retry_after",
    "/*/0",
    "/__type",
    "/a~1b/~0",
];
const PATHS: [&str; 4] = ["/", "/graphql", "/api/chat.postMessage", "/w/api.php"];
const UNITS: [Unit; 8] = [
    Unit::S,
    Unit::Ms,
    Unit::Min,
    Unit::Unix,
    Unit::UnixMs,
    Unit::Iso,
    Unit::HttpDate,
    Unit::Auto,
];

fn of<T: Copy>(list: &[T], at: u8) -> T {
    list[usize::from(at) % list.len()]
}

impl Wanted {
    fn value(&self) -> Value {
        match self {
            Self::Any => Value::any(),
            Self::Is(text) => Value::is([text.as_str()]),
            Self::Name(text) => Value::name([text.as_str()]),
            Self::Starts(text) => Value::starts(text),
            Self::Has(text) => Value::has([text.as_str()]),
            Self::Number(number) => Value::number(*number),
            Self::AnyNumber => Value::any_number(),
        }
    }
}

impl Place {
    fn at(&self) -> Location {
        match self {
            Self::Head(name) => Location::header(of(&NAMES, *name)),
            Self::Part(name) => Location::header_part(of(&NAMES, *name), "left"),
            Self::Json(pointer) => Location::json(of(&POINTERS, *pointer)),
            Self::Prose => Location::prose(),
        }
    }
}

impl OwnRow {
    fn has_refused_rows(&self) -> bool {
        self.reach.unwrap_or(self.class % 4 == 1)
    }

    fn looks_at_the_body(&self) -> bool {
        let mut tests = self.tests.iter();
        tests.any(|test| matches!(test, Test::Json(..) | Test::Xml(_) | Test::Text(_)))
    }

    fn row(&self) -> Row {
        let row = match self.status {
            Some(status) => Row::when().status([100 + status % 900]),
            None => Row::when(),
        };
        self.tests.iter().fold(row, with).is(self.meaning())
    }

    fn meaning(&self) -> Interpretation {
        let meaning = match self.class % 4 {
            0 => Interpretation::success(),
            1 => Interpretation::throttled(),
            2 => Interpretation::transient(),
            _ => Interpretation::permanent(),
        };
        let meaning = match self.reach {
            Some(true) => meaning.refused(),
            Some(false) => meaning.answered(),
            None => meaning,
        };
        let meaning = match &self.delay {
            Some((place, unit)) => meaning.delay(place.at(), of(&UNITS, *unit)),
            None => meaning,
        };
        let meaning = match self.least {
            Some(least) => meaning.at_least(Duration::from_millis(least.into())),
            None => meaning,
        };
        match &self.scope {
            Some(place) => meaning.scope_from(place.at()),
            None => meaning,
        }
    }
}

fn with(row: RowBuilder, test: &Test) -> RowBuilder {
    match test {
        Test::Head(name, wanted) => row.header(of(&NAMES, *name), wanted.value()),
        Test::Part(name, wanted) => row.header_part(of(&NAMES, *name), "left", wanted.value()),
        Test::Json(pointer, wanted) => row.json(of(&POINTERS, *pointer), wanted.value()),
        Test::Xml(text) => row.xml("Code", [text.as_str()]),
        Test::Text(text) => row.message(text),
        Test::Path(path) => row.path(of(&PATHS, *path)),
        Test::Keyed => row.keyed(),
    }
}

fuzz_target!(|input: Input| {
    let mut headers = HeaderMap::new();
    for (name, value) in &input.headers {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(HeaderName::from_static(of(&NAMES, *name)), value);
        }
    }
    let mut asked = HeaderMap::new();
    if input.keyed {
        asked.insert("idempotency-key", HeaderValue::from_static("k"));
    }
    let uri = of(&PATHS, input.path).parse().unwrap();
    let request = RequestHead::new(&Method::POST, &uri).with_key_in(&asked);
    let body = ErrorBody::read(&input.body);
    for pointer in POINTERS {
        let found: Vec<_> = body.json(pointer).collect();
        assert!(found.len() <= 256 && found.iter().all(|one| one.as_str().len() <= 128));
    }
    static TABLES: LazyLock<Vec<Dialect>> = LazyLock::new(|| Dialect::all().collect());
    let base = TABLES[usize::from(input.table) % TABLES.len()].clone();
    let base_has_refused_rows = base.has_refused_rows();
    let own = input.rows.iter().map(OwnRow::row);
    let dialect = own.fold(Dialect::named("own"), Dialect::row).and(base);
    let plain_http = RetryPolicy::builder()
        .max_gate_wait(None)
        .header_rules(false);
    let Ok(policy) = plain_http.dialect(dialect).build() else {
        return;
    };
    let status = StatusCode::from_u16(100 + input.status % 900).unwrap();
    let plain = Outcome::response(status, &headers);
    let outcome = policy.classify(plain.of_request(&request).with_body(&body));
    let row = policy.row_of(&outcome);
    if row.is_none() {
        let judged = (outcome.class(), outcome.reach());
        assert_eq!(judged, (plain.class(), plain.reach()));
    }
    if outcome.reach().is_unprocessed() && !plain.reach().is_unprocessed() {
        let row = row.unwrap();
        let own = row
            .strip_prefix("own[")
            .map(|place| place.trim_end_matches(']'));
        let may = own.map_or(base_has_refused_rows, |place| {
            input.rows[place.parse::<usize>().unwrap()].has_refused_rows()
        });
        assert!(may, "{row} does not say refused");
    }
    // JSON with something behind it makes nothing refused.
    let broken = ErrorBody::read(&[&input.body[..], b" {"].concat());
    if broken.text().starts_with(['{', '[']) {
        let outcome = policy.classify(plain.of_request(&request).with_body(&broken));
        let row = policy.row_of(&outcome);
        let own = row.as_deref().and_then(|row| row.strip_prefix("own["));
        if let (true, Some(place)) = (outcome.reach().is_unprocessed(), own) {
            let place: usize = place.trim_end_matches(']').parse().unwrap();
            let by_head = !input.rows[place].looks_at_the_body();
            assert!(plain.reach().is_unprocessed() || by_head);
        }
    }
    let session = policy.session(RequestFacts::of(&Method::POST, &asked), Duration::ZERO);
    let moment = Moment::new(Duration::ZERO)
        .with_wall(NOW)
        .with_random(input.random);
    let Ok(plan) = session.plan(&outcome, moment) else {
        return;
    };
    assert!(input.keyed || outcome.reach().is_unprocessed());
    let paid = RetryBudget::unlimited()
        .withdraw(plan, Duration::ZERO)
        .unwrap();
    let named = outcome.server_delay(NOW).max(outcome.verdict().at_least);
    assert!(paid.delay() >= named.unwrap_or_default());
    // What everybody reads, read once more in the plainest way.
    if let (Some(seconds), false) = (seconds(&headers), headers.contains_key("retry-after-ms")) {
        assert!(paid.delay() >= Duration::from_secs(seconds));
    }
});

/// The wait of a `Retry-After` that stands alone, in digits.
fn seconds(headers: &HeaderMap) -> Option<u64> {
    let mut lines = headers.get_all("retry-after").iter();
    let only = lines
        .next()
        .filter(|_| lines.next().is_none())?
        .to_str()
        .ok()?;
    let digits =
        !only.is_empty() && only.len() < 6 && only.bytes().all(|byte| byte.is_ascii_digit());
    only.parse().ok().filter(|_| digits)
}
