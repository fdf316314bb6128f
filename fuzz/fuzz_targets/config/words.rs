//! Documents out of the words that they are made of, most of them good ones.

mod rules;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use rules::{rules, when};
use serde_json::{Map, Value, json};

type Choices<'a, 'b> = &'a mut Unstructured<'b>;
type Make = fn(Choices<'_, '_>) -> Result<Value>;

const SERVICES: [&str; 4] = ["a", "b", "c", "none"];
const BUDGETS: [&str; 3] = ["x", "y", "none"];
const POLICIES: [&str; 6] = ["p", "q", "background", "user_facing", "never", "none"];

pub fn document(from: Choices<'_, '_>) -> Result<Value> {
    let mut document = block(
        from,
        &[
            ("budgets", budgets),
            ("policies", policies),
            ("retry", retry),
            ("rules", rules),
            ("otherwise", otherwise),
            ("services", services),
        ],
    )?;
    if let Value::Object(map) = &mut document {
        map.insert("version".into(), json!(1));
    }
    Ok(document)
}

/// Some of the keys.
fn block(from: Choices<'_, '_>, keys: &[(&str, Make)]) -> Result<Value> {
    let mut map = Map::new();
    for (key, make) in keys {
        // What is left of an input that has ended is a yes.
        if !from.ratio(2, 3)? {
            let value = if from.ratio(1, 64)? {
                odd(from)?
            } else {
                make(from)?
            };
            map.insert((*key).to_owned(), value);
        }
    }
    Ok(Value::Object(map))
}

/// What hardly fits anywhere.
fn odd(from: Choices<'_, '_>) -> Result<Value> {
    let number: i64 = from.arbitrary()?;
    let odd = [
        Value::Null,
        json!(true),
        json!(number),
        json!(0.1),
        json!(-1e300),
        json!(""),
        json!("unlimited"),
        json!([]),
        json!({}),
        json!([[null]]),
    ];
    Ok(from.choose(&odd)?.clone())
}

fn one_of(from: Choices<'_, '_>, words: &[&str]) -> Result<Value> {
    Ok(json!(from.choose(words)?))
}

/// One, or a list of up to three.
fn some(from: Choices<'_, '_>, make: Make) -> Result<Value> {
    if from.ratio(1, 2)? {
        return make(from);
    }
    let number = from.int_in_range(1..=3)?;
    let items: Result<Vec<Value>> = (0..number).map(|_| make(from)).collect();
    Ok(Value::Array(items?))
}

fn list(from: Choices<'_, '_>, make: Make) -> Result<Value> {
    let number = from.int_in_range(1..=4)?;
    let items: Result<Vec<Value>> = (0..number).map(|_| make(from)).collect();
    Ok(Value::Array(items?))
}

fn duration(from: Choices<'_, '_>) -> Result<Value> {
    one_of(
        from,
        &[
            "0s", "1ns", "1ms", "250ms", "2s", "10s", "1m 30s", "1h", "3days", "500000y", "none",
            "2", "x",
        ],
    )
}

fn count(from: Choices<'_, '_>) -> Result<Value> {
    let counts = [
        json!(0),
        json!(1),
        json!(2),
        json!(5),
        json!(40),
        json!("unlimited"),
        json!(4_294_967_294_u32),
    ];
    Ok(from.choose(&counts)?.clone())
}

fn number(from: Choices<'_, '_>) -> Result<Value> {
    let numbers = [
        json!(0),
        json!(0.5),
        json!(1),
        json!(1.5),
        json!(2),
        json!(20),
        json!(1000),
        json!(0.000_000_1),
    ];
    Ok(from.choose(&numbers)?.clone())
}

fn budget(from: Choices<'_, '_>) -> Result<Value> {
    let keys = [
        "per_second",
        "capacity",
        "initial",
        "retry_cost",
        "timeout_cost",
        "per_success",
    ];
    block(from, &keys.map(|key| (key, number as Make)))
}

fn budgets(from: Choices<'_, '_>) -> Result<Value> {
    Ok(json!({"x": budget(from)?, "y": budget(from)?}))
}

fn policies(from: Choices<'_, '_>) -> Result<Value> {
    Ok(json!({"p": retry(from)?, "q": retry(from)?}))
}

fn services(from: Choices<'_, '_>) -> Result<Value> {
    block(from, &[("a", service), ("b", service), ("c", service)])
}

fn service(from: Choices<'_, '_>) -> Result<Value> {
    let mut service = block(
        from,
        &[
            ("match", matching),
            ("budget", |from| one_of(from, &BUDGETS)),
            ("gate", |from| one_of(from, &["off", "off", "on"])),
            ("request_overrides", |from| {
                one_of(from, &["allow", "fill_only", "deny"])
            }),
            ("retry", retry),
            ("rules", rules),
            ("otherwise", otherwise),
            ("routes", |from| list(from, route)),
        ],
    )?;
    if from.ratio(3, 4)? {
        service["base_url"] = one_of(from, &["http://b", "https://c:8/v1/", "http://u@b", "/"])?;
    }
    Ok(service)
}

fn route(from: Choices<'_, '_>) -> Result<Value> {
    let mut route = block(
        from,
        &[("retry", retry), ("rules", rules), ("otherwise", otherwise)],
    )?;
    route["name"] = json!(from.arbitrary::<u8>()?.to_string());
    route["match"] = json!({"path": "/v1/*"});
    Ok(route)
}

fn matching(from: Choices<'_, '_>) -> Result<Value> {
    block(
        from,
        &[
            ("host", |from| {
                some(from, |from| one_of(from, &["b", "*.b", "b:80", "*", ""]))
            }),
            ("scheme", |from| one_of(from, &["http", "https"])),
            ("path", |from| {
                some(from, |from| one_of(from, &["/", "/v1/*", "*", "x"]))
            }),
            ("method", method),
        ],
    )
}

fn method(from: Choices<'_, '_>) -> Result<Value> {
    some(from, |from| one_of(from, &["GET", "post", "P T"]))
}

fn otherwise(from: Choices<'_, '_>) -> Result<Value> {
    if from.ratio(1, 4)? {
        Ok(json!({"retry": retry(from)?}))
    } else {
        one_of(
            from,
            &["classify", "accept", "fail", "by_outcome", "continue"],
        )
    }
}

fn retry(from: Choices<'_, '_>) -> Result<Value> {
    if from.ratio(1, 8)? {
        return one_of(from, &POLICIES);
    }
    let limit = *from.choose(&["max_retries", "max_attempts"])?;
    block(
        from,
        &[
            ("use", |from| one_of(from, &POLICIES)),
            (limit, count),
            ("backoff", backoff),
            ("base", duration),
            ("factor", number),
            ("first_step", |from| Ok(json!(from.int_in_range(0..=2)?))),
            ("max_delay", duration),
            ("jitter", jitter),
            ("cap", |from| one_of(from, &["both", "before", "after"])),
            ("retry_on", |from| list(from, when)),
            ("stop_on", |from| list(from, when)),
            ("retry_after", retry_after),
            ("methods", |from| one_of(from, &["idempotent", "all"])),
            ("deadline", duration),
            ("attempt_timeout", duration),
            ("counter", |from| one_of(from, &["request", "rule"])),
            ("budget", |from| one_of(from, &BUDGETS)),
            ("on_exhausted", on_exhausted),
        ],
    )
}

fn backoff(from: Choices<'_, '_>) -> Result<Value> {
    match from.int_in_range(0..=3)? {
        0 => list(from, duration),
        1 => Ok(json!({"custom": "seconds", "args": from.int_in_range(0..=3)?})),
        _ => one_of(from, &["none", "fixed", "linear", "exponential"]),
    }
}

fn jitter(from: Choices<'_, '_>) -> Result<Value> {
    if from.ratio(1, 4)? {
        block(from, &[("min", number), ("max", number)])
    } else {
        one_of(
            from,
            &["none", "full", "equal", "decorrelated", "20%", "101%"],
        )
    }
}

fn retry_after(from: Choices<'_, '_>) -> Result<Value> {
    if from.ratio(1, 2)? {
        block(
            from,
            &[
                ("max", duration),
                ("over", |from| one_of(from, &["stop", "clamp"])),
            ],
        )
    } else {
        one_of(from, &["respect", "ignore"])
    }
}

fn on_exhausted(from: Choices<'_, '_>) -> Result<Value> {
    match from.int_in_range(0..=4)? {
        0 => Ok(json!({"failover": one_of(from, &SERVICES)?})),
        1 => Ok(json!({"dead_letter": "letters"})),
        2 => Ok(json!({"respond": {"status": 503, "headers": {"x-a": "b"}, "body": "later"}})),
        _ => one_of(from, &["last", "fail"]),
    }
}
