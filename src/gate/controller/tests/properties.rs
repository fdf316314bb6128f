//! The controller's arithmetic at the ends of the numbers.

use super::super::release::SLOWEST;
use super::super::*;
use proptest::prelude::*;

/// Numbers at the ends of their range, and small ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..20, 0..100 * SECOND, MOST - 20..=MOST, any::<u64>(),]
}

fn told() -> impl Strategy<Value = Option<Quota>> {
    let told = (prop::option::of(number()), number(), number());
    prop::option::of(told.prop_map(|(limit, remaining, reset)| Quota {
        limit,
        remaining,
        reset,
    }))
}

#[derive(Debug, Clone)]
enum Event {
    Pass(u64),
    Look(u64),
    Go(bool),
    Refused(usize, Option<u64>, Option<Quota>),
    Succeeded(usize, Option<Quota>),
    Ended(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let which = any::<usize>;
    prop_oneof![
        2 => number().prop_map(Event::Pass),
        3 => any::<u64>().prop_map(Event::Look),
        4 => any::<bool>().prop_map(Event::Go),
        2 => (which(), prop::option::of(number()), told()).prop_map(|(n, asked, quota)| Event::Refused(n, asked, quota)),
        2 => (which(), told()).prop_map(|(n, quota)| Event::Succeeded(n, quota)),
        1 => which().prop_map(Event::Ended),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn due_times_never_run_backwards(
        from in 0_u64..MOST, round in SECOND..=SLOWEST, each in 1_u64..=SLOWEST, group in 1_u64..=4,
        head_start: bool, call in number(), step in 0_u64..2_000,
    ) {
        let first = round / each;
        let release = Release { from, round, first, group, head_start, gone: 0 };
        let (earlier, later) = (call.min(MOST), call.saturating_add(step).min(MOST));
        prop_assert!(release.due(earlier) <= release.due(later));
        prop_assert!(release.due(earlier) >= from && release.due(later) <= MOST);
    }

    #[test]
    fn only_a_contradiction_opens_early_and_each_pause_opens_once(
        events in prop::collection::vec(event(), 0..80),
    ) {
        let (mut gate, mut now, mut permits) = (Controller::new(0, false), 0_u64, vec![Permit(0)]);
        for event in events {
            let was = (gate.closed, gate.until, gate.opening);
            let pick = |permits: &mut Vec<Permit>, n: usize| permits[n % permits.len()];
            match event {
                Event::Pass(by) => now = now.saturating_add(by),
                Event::Look(random) => {
                    if let Err(at) = gate.next(now, random) {
                        prop_assert!(at > now.min(MOST) || at == MOST);
                    }
                }
                Event::Go(more) => {
                    permits.push(gate.sends());
                    if !more {
                        gate.line_is_empty();
                    }
                }
                Event::Refused(n, asked, quota) => {
                    gate.refused(now, pick(&mut permits, n), asked, quota);
                }
                Event::Succeeded(n, quota) => gate.succeeded(now, pick(&mut permits, n), quota),
                Event::Ended(n) => gate.ended(now, pick(&mut permits, n), None),
            }
            follows(was, &gate, now)?;
            prop_assert!(gate.credit <= FULL_CREDIT && gate.doublings <= DOUBLINGS);
        }
    }
}

/// What a gate may come to from what it was: a pause is not shortened, and opens once.
fn follows(was: (bool, u64, u64), gate: &Controller, now: u64) -> Result<(), TestCaseError> {
    let (closed, until, opening) = was;
    if closed && gate.closed {
        prop_assert!(gate.until >= until, "a pause was shortened");
    }
    if closed && !gate.closed {
        let ended = opening + 1 == gate.opening && now >= until;
        let contradicted = opening == gate.opening && gate.credit >= CREDIT;
        prop_assert!(ended || contradicted);
    } else {
        prop_assert_eq!(gate.opening, opening);
    }
    let numbers = [
        gate.until,
        gate.ok,
        gate.since,
        gate.each,
        gate.lately,
        gate.sent,
        gate.asked,
    ];
    prop_assert!(numbers.into_iter().all(|number| number <= MOST));
    Ok(())
}
