//! The store's arithmetic at the ends of the numbers.

use super::super::message::MAX_COUNT;
use super::*;
use proptest::prelude::*;

/// Numbers at the ends of their range, and small ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..20, 0..100 * SECOND, MAX_COUNT - 20..=MAX_COUNT]
}

fn report() -> impl Strategy<Value = GateReport> {
    const LAST: u64 = 1 << 52;
    let change = prop_oneof![0_u64..4, LAST - 9..=LAST];
    let refusals = prop_oneof![Just(0), 0..6_u64, number()];
    let delay = prop::option::of(number());
    (change, number(), refusals, number(), delay).prop_map(
        |(change, successes, refusals, later, delay)| GateReport {
            change,
            successes,
            refusals,
            later,
            delay,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_change_is_published_and_no_cooldown_is_shortened(
        steps in prop::collection::vec((0..10 * SECOND, report()), 1..60),
    ) {
        let mut store = Store::new();
        let (mut change, mut until) = (0, 0);
        for (pass, report) in steps {
            store.now += pass;
            let answer = store.say_of(report.change, report);
            let pushed = store.pushes.pop();
            let is_lost = report.change > change;
            let ends = store.now + closed(&answer);
            if answer.notice.change == change && !is_lost && until > store.now {
                prop_assert!(ends >= until);
                prop_assert_eq!(pushed.is_some(), ends > until);
            }
            if answer.notice.change > change && !is_lost {
                prop_assert_eq!(answer.notice.change, change + 1);
                prop_assert_eq!(pushed, Some(answer.notice));
            }
            prop_assert!(is_lost || answer.notice.change >= change);
            (change, until) = (answer.notice.change, ends);
        }
    }

    #[test]
    fn every_number_stays_below_two_to_the_53rd(
        steps in prop::collection::vec((number(), report()), 1..40),
    ) {
        let mut store = Store::new();
        for (pass, report) in steps {
            store.now = store.now.saturating_add(pass).min(MAX_COUNT);
            let answer = store.say_of(report.change, report);
            prop_assert!(answer.notice.change <= MAX_COUNT);
            prop_assert!(closed(&answer) <= 3_601 * SECOND);
        }
    }

    #[test]
    fn a_reply_survives_a_round_trip(report in report(), now in number()) {
        let (answer, _) = step(&mut None, &report, now);
        let signed = |number: u64| i64::try_from(number).unwrap();
        let numbers = [
            signed(answer.notice.change),
            signed(closed(&answer)),
            i64::from(answer.probe),
        ];
        prop_assert_eq!(GateReply::of(&numbers), Some(answer));
        prop_assert_eq!(GateReply::of(&numbers[..2]), None);
        prop_assert_eq!(GateReply::of(&[numbers[0], -1, 0]), None);
        prop_assert_eq!(GateReply::of(&[numbers[0], numbers[1], 0, 0]), None);
    }
}

#[test]
fn a_notice_closes_for_at_most_an_hour() {
    let push = GateNotice::of("3:9007199254740991").unwrap();
    assert_eq!(push.closed, Duration::from_secs(3_600));
    for wrong in ["", "3", "3:", ":3", "3:x", "-3:3", "3:9007199254740992"] {
        assert_eq!(GateNotice::of(wrong), None, "{wrong}");
    }
}
