//! The delays of a backoff, and the values that it refuses.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn field_at_fault(backoff: &Backoff) -> String {
    backoff.check().unwrap_err().field.into()
}

#[test]
fn an_invalid_value_is_refused_with_its_field() {
    let exponential = || Backoff::exponential(SECOND);
    assert_eq!(field_at_fault(&exponential().factor(0.5)), "backoff.factor");
    assert_eq!(
        field_at_fault(&exponential().factor(f64::NAN)),
        "backoff.factor"
    );
    assert_eq!(
        field_at_fault(&exponential().first_step(2)),
        "backoff.first_step"
    );
    assert_eq!(
        field_at_fault(&exponential().max_delay(SECOND / 2)),
        "backoff.base"
    );
    assert_eq!(
        field_at_fault(&Backoff::linear(Duration::ZERO)),
        "backoff.base"
    );
    assert_eq!(field_at_fault(&Backoff::schedule([])), "backoff.schedule");
    let jitter = |min, max| exponential().jitter(Jitter::between(min, max));
    assert_eq!(field_at_fault(&jitter(0.9, 0.8)), "backoff.jitter.min");
    assert_eq!(field_at_fault(&jitter(0.0, -1.0)), "backoff.jitter.max");
}

#[test]
fn a_long_base_raises_the_default_cap_but_not_a_given_one() {
    let long = Backoff::exponential(SECOND * 90);
    assert_eq!(long.ceiling(5), SECOND * 90);
    assert_eq!(long.check(), Ok(()));
    assert_eq!(Backoff::exponential(SECOND).ceiling(9), SECOND * 60);
    assert_eq!(Backoff::fixed(SECOND * 90).ceiling(1), SECOND * 90);
}

#[test]
fn a_cap_after_the_jitter_cuts_the_interval() {
    let backoff = Backoff::fixed(SECOND * 4)
        .max_delay(SECOND * 2)
        .cap_after_jitter();
    assert_eq!(backoff.delay(1, 1 << 63), SECOND);
    assert_eq!(backoff.delay(1, u64::MAX), SECOND * 2);
}

#[test]
fn a_cap_before_the_jitter_lets_a_jitter_above_one_exceed_it() {
    let backoff = Backoff::fixed(SECOND)
        .max_delay(SECOND)
        .jitter(Jitter::between(1, 2));
    assert_eq!(
        backoff.clone().cap_before_jitter().delay(1, u64::MAX),
        SECOND * 2
    );
    assert_eq!(backoff.delay(1, u64::MAX), SECOND);
}

#[test]
fn decorrelated_jitter_builds_on_the_previous_delay() {
    let backoff = Backoff::exponential(SECOND)
        .jitter(Jitter::Decorrelated)
        .max_delay(SECOND * 20);
    assert_eq!(backoff.delay(1, u64::MAX), SECOND * 3);
    assert_eq!(backoff.delay_after(SECOND * 3, 2, u64::MAX), SECOND * 9);
    assert_eq!(backoff.delay_after(SECOND * 9, 3, u64::MAX), SECOND * 20);
    assert_eq!(backoff.delay_after(SECOND * 9, 3, 0), SECOND);
    assert_eq!(
        [1, 2, 3].map(|n| backoff.longest(n)),
        [SECOND * 3, SECOND * 9, SECOND * 20]
    );
}

#[test]
fn the_maximum_cuts_decorrelated_jitter_whatever_the_cap() {
    let backoff = Backoff::exponential(SECOND)
        .jitter(Jitter::Decorrelated)
        .max_delay(SECOND * 20);
    for backoff in [
        backoff.clone(),
        backoff.clone().cap_before_jitter(),
        backoff.cap_after_jitter(),
    ] {
        assert_eq!(backoff.delay_after(SECOND * 9, 3, u64::MAX), SECOND * 20);
        assert_eq!(backoff.longest(3), SECOND * 20);
    }
}
