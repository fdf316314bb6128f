//! Conditions for the tests of policies, and how they are joined.

use super::*;
use crate::policy::Class;

pub(crate) fn status(wanted: u16) -> impl Predicate + Copy {
    move |input: &ConditionInput<'_>| {
        let status = input.outcome.status();
        Some(status.is_some_and(|status| status.as_u16() == wanted))
    }
}

pub(crate) fn retryable() -> impl Predicate + Copy {
    |input: &ConditionInput<'_>| Some(is_retryable(input.outcome))
}

pub(crate) fn failure() -> impl Predicate + Copy {
    |input: &ConditionInput<'_>| Some(input.outcome.class() != Class::Success)
}

pub(crate) fn is_retryable(outcome: &Outcome<'_>) -> bool {
    matches!(outcome.class(), Class::Transient | Class::Throttled)
}

/// Holds for every outcome.
pub(crate) struct Always;

impl Predicate for Always {
    fn holds(&self, _: &ConditionInput<'_>) -> Option<bool> {
        Some(true)
    }

    fn is_always(&self) -> bool {
        true
    }
}

#[test]
fn an_unknown_result_matters_only_if_no_other_decides() {
    for (tests, all, any) in [
        (vec![], Some(true), Some(false)),
        (vec![None], None, None),
        (vec![None, Some(true)], None, Some(true)),
        (vec![None, Some(false)], Some(false), None),
        (vec![Some(true), Some(false)], Some(false), Some(true)),
    ] {
        assert_eq!(all_hold(tests.iter().copied()), all, "{tests:?}");
        assert_eq!(any_holds(tests.iter().copied()), any, "{tests:?}");
    }
}

#[test]
fn a_long_list_says_how_many_more_there_are() {
    let list = |items: usize| joined(&(1..=items).collect::<Vec<_>>(), " ");
    assert_eq!(list(10), "1 2 3 4 5 6 7 8 9 10");
    assert_eq!(list(12), "1 2 3 4 5 6 7 8 9 10 2 more");
}
