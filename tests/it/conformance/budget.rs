//! A bucket of tokens on a given clock.

use super::fields::{Fields, milliseconds};
use http::{HeaderMap, Method, StatusCode};
use http_retry::budget::PaidRetry;
use http_retry::policy::{Moment, RetryPlan};
use http_retry::{Outcome, RequestFacts, RetryBudget, RetryPolicy};
use serde_json::Value;
use std::time::Duration;

const FIELDS: [&str; 5] = ["per_second", "capacity", "initial", "ops", "results"];

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &FIELDS)?;
    let budget = budget(&case)?;
    let ops = case.all("ops", Op::of)?;
    let wanted = case.all("results", |value| {
        value
            .as_bool()
            .ok_or_else(|| format!("wanted true or false, got {value}"))
    })?;
    if ops.len() != wanted.len() {
        return Err(format!("{} ops but {} results", ops.len(), wanted.len()));
    }
    for (number, (op, wanted)) in (1..).zip(ops.iter().zip(wanted)) {
        let got = op.on(&budget)?;
        if got != wanted {
            return Err(format!("op {number}, {op:?}: wanted {wanted}, got {got}"));
        }
    }
    Ok(())
}

fn budget(case: &Fields<'_>) -> Result<RetryBudget, String> {
    let budget = RetryBudget::builder()
        .per_second(case.decimal("per_second")?)
        .per_success(0)
        .capacity(case.decimal("capacity")?)
        .initial(case.decimal("initial")?)
        .build()
        .map_err(|error| error.to_string())?;
    // A case's clock starts with its bucket.
    let _ = budget.tokens_at(Duration::ZERO);
    Ok(budget)
}

#[derive(Debug)]
enum Op {
    Can(Duration),
    Take(Duration),
}

impl Op {
    fn of(value: &Value) -> Result<Self, String> {
        let Some([at, what]) = value.as_array().map(Vec::as_slice) else {
            return Err(format!("wanted a time and a word, got {value}"));
        };
        let at = milliseconds(at)?;
        match what.as_str() {
            Some("can") => Ok(Self::Can(at)),
            Some("take") => Ok(Self::Take(at)),
            _ => Err(format!("wanted \"can\" or \"take\", got {what}")),
        }
    }

    fn on(&self, budget: &RetryBudget) -> Result<bool, String> {
        match self {
            Self::Can(at) => Ok(budget.available(*at) >= 1),
            Self::Take(at) => {
                let paid = budget.withdraw(plan(*at)?, *at);
                Ok(paid.map(PaidRetry::commit).is_ok())
            }
        }
    }
}

fn plan(at: Duration) -> Result<RetryPlan, String> {
    let headers = HeaderMap::new();
    let facts = RequestFacts::of(&Method::GET, &headers);
    let outcome = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    let session = RetryPolicy::default().session(facts, at);
    let plan = session.plan(&outcome, Moment::new(at));
    plan.map_err(|why| format!("the default policy does not retry a 503: {why}"))
}

mod tests {
    use super::*;
    use serde_json::json;

    fn case(ops: &Value, results: &Value) -> Result<(), String> {
        check(
            &json!({"id": "a", "source": "b", "per_second": 0.5, "capacity": 1.5,
            "initial": 1.25, "ops": ops, "results": results}),
        )
    }

    #[test]
    fn fractions_count() {
        let ops = json!([[0, "take"], [1499, "take"], [1500, "can"], [1500, "take"]]);
        assert_eq!(case(&ops, &json!([true, false, true, true])), Ok(()));
        assert_eq!(
            case(&ops, &json!([true, true, true, true])),
            Err("op 2, Take(1.499s): wanted true, got false".to_owned())
        );
    }

    #[test]
    fn a_look_takes_nothing() {
        let ops = json!([[0, "can"], [0, "can"], [0, "take"], [0, "can"]]);
        assert_eq!(case(&ops, &json!([true, true, true, false])), Ok(()));
    }

    #[test]
    fn the_clock_starts_with_the_bucket() {
        let ops = json!([[1, "take"], [1500, "can"]]);
        assert_eq!(case(&ops, &json!([true, true])), Ok(()));
    }

    #[test]
    fn another_word_or_a_missing_result_is_an_error() {
        assert!(case(&json!([[0, "give"]]), &json!([true])).is_err());
        assert!(case(&json!([[0, "can"], [0, "can"]]), &json!([true])).is_err());
    }
}
