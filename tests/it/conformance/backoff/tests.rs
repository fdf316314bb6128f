//! A case that is wrong, and one that says too little or too much, is seen.

use super::*;
use serde_json::json;

fn case(policy: &Value, wanted: &Value) -> Result<(), String> {
    let mut case = json!({"id": "a", "policy": policy});
    case.as_object_mut()
        .unwrap()
        .extend(wanted.as_object().unwrap().clone());
    check(&case)
}

fn doubling() -> Value {
    json!({"growth": "exponential", "base_ms": 100, "factor": 2, "first_step": 0,
        "max_delay_ms": 1000, "jitter": "none", "cap": "both"})
}

fn spread() -> Value {
    json!({"growth": "fixed", "base_ms": 1000, "jitter": "equal"})
}

#[test]
fn a_delay_that_is_off_by_a_millisecond_is_seen() {
    let wanted = |ms| json!({"retries": [1, u32::MAX], "delays_ms": [100, ms]});
    assert_eq!(case(&doubling(), &wanted(1000)), Ok(()));
    assert_eq!(
        case(&doubling(), &wanted(1001)),
        Err("retry 4294967295: wanted 1.001s, got 1s".to_owned())
    );
}

#[test]
fn a_jitter_where_none_is_wanted_is_seen() {
    assert!(case(&spread(), &json!({"retries": [1], "delays_ms": [1000]})).is_err());
}

#[test]
fn a_range_that_is_wider_or_narrower_is_seen() {
    let wanted = |range: [u32; 2]| json!({"retries": [1], "ranges_ms": [range]});
    assert_eq!(case(&spread(), &wanted([500, 1000])), Ok(()));
    for range in [[500, 999], [501, 1000], [500, 1010], [480, 1000], [0, 1000]] {
        assert!(case(&spread(), &wanted(range)).is_err(), "{range:?}");
    }
}

#[test]
fn a_draw_is_a_part_of_the_range() {
    let wanted = |ms: [u32; 3]| json!({"retries": [1, 1, 1], "draws": [0, 0.5, 1], "delays_ms": ms, "tolerance_ms": 1});
    assert_eq!(case(&spread(), &wanted([500, 750, 1000])), Ok(()));
    assert!(case(&spread(), &wanted([500, 752, 1000])).is_err());
}

#[test]
fn a_factor_that_is_not_whole_allows_for_rounding_and_no_more() {
    let policy = json!({"growth": "exponential", "base_ms": 100, "factor": 1.5,
        "max_delay_ms": null, "jitter": "none"});
    let wanted = |ms: f64| json!({"retries": [4], "delays_ms": [ms]});
    for ms in [337.0, 337.5, 338.0] {
        assert_eq!(case(&policy, &wanted(ms)), Ok(()), "{ms}");
    }
    assert!(case(&policy, &wanted(336.0)).is_err());
}

#[test]
fn a_case_that_says_too_little_or_too_much_is_an_error() {
    let both = json!({"retries": [1], "delays_ms": [1], "ranges_ms": [[0, 1]]});
    assert!(case(&doubling(), &both).is_err());
    assert!(case(&doubling(), &json!({"retries": [1]})).is_err());
    assert!(case(&doubling(), &json!({"retries": [1, 2], "delays_ms": [100]})).is_err());
    assert!(case(&doubling(), &json!({"retries": [], "delays_ms": []})).is_err());
    let mut policy = doubling();
    policy["decay"] = json!(1);
    let wrong = case(&policy, &json!({"retries": [1], "delays_ms": [100]}));
    assert_eq!(wrong, Err("the field \"decay\" is not known".to_owned()));
}
