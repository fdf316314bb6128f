//! The gate against servers with quotas.

mod simulation;
mod waiting;

use simulation::{SECOND, Setup, Tally, Windows};
use std::time::Duration;

/// The worst of three seeds, each of which leaves nobody behind.
fn worst(setup: Setup) -> Tally {
    let mut worst = Tally::default();
    for seed in 0..3 {
        let tally = Setup { seed, ..setup }.run();
        assert_eq!(
            (tally.done, tally.waiting, tally.in_flight),
            (setup.calls, 0, 0)
        );
        worst.done = tally.done;
        worst.rejected = worst.rejected.max(tally.rejected);
        worst.time = worst.time.max(tally.time);
        worst.longest = worst.longest.max(tally.longest);
        worst.looks = worst.looks.max(tally.looks);
    }
    worst
}

#[test]
fn a_quota_is_used_up_with_few_refusals_and_nobody_starves() {
    for windows in [Windows::Fixed, Windows::FromFirstCall, Windows::Sliding] {
        let setup = Setup {
            windows,
            ..Setup::QUOTA
        };
        let tally = worst(setup);
        assert!(tally.rejected_per_10_000() <= 400);
        assert!(tally.percent_of(setup.bound()) <= 110);
        assert!(tally.longest <= SECOND * 15);
    }
}

#[test]
fn few_callers_use_a_quota_up_as_well() {
    for at_once in [1, 5, 20] {
        let setup = Setup {
            at_once,
            ..Setup::QUOTA
        };
        let tally = worst(setup);
        assert!(tally.percent_of(setup.bound()) <= 115);
        assert!(tally.rejected_per_10_000() <= 400);
    }
}

#[test]
fn a_server_that_asks_for_too_little_is_soon_left_alone() {
    for windows in [Windows::Fixed, Windows::FromFirstCall, Windows::Sliding] {
        let setup = Setup {
            windows,
            asks: Some(SECOND),
            ..Setup::QUOTA
        };
        let tally = worst(setup);
        assert!(tally.rejected_per_10_000() <= 500);
        assert!(tally.percent_of(setup.bound()) <= 125);
    }
}

#[test]
fn with_a_head_start_the_bounds_hold_too() {
    for asks in [None, Some(SECOND)] {
        let setup = Setup {
            head_start: true,
            asks,
            ..Setup::QUOTA
        };
        let tally = worst(setup);
        assert!(tally.rejected_per_10_000() <= 400);
        assert!(tally.percent_of(setup.bound()) <= 110);
    }
}

#[test]
fn where_answers_tell_the_quota_nothing_is_refused_and_all_of_it_is_used() {
    for (at_once, jitter) in [(20, 0), (200, 0), (200, 50), (400, 90)] {
        let setup = Setup {
            headers: true,
            at_once,
            jitter,
            ..Setup::QUOTA
        };
        assert_eq!(worst(setup).rejected, 0);
        let used = setup.run().used;
        let whole: Vec<_> = used.values().rev().skip(1).copied().collect();
        assert!(
            whole.iter().sum::<usize>() * 100 >= whole.len() * 500 * 95,
            "{used:?}"
        );
    }
    for at_once in [1, 5, 20, 200] {
        let setup = Setup {
            headers: true,
            at_once,
            windows: Windows::FromFirstCall,
            ..Setup::QUOTA
        };
        assert_eq!(worst(setup).rejected, 0);
    }
}

#[test]
fn a_short_window_with_headers_refuses_nothing() {
    let window = SECOND * 2;
    let setup = Setup {
        calls: 2_000,
        at_once: 100,
        quota: 200,
        window,
        headers: true,
        ..Setup::QUOTA
    };
    let tally = worst(setup);
    assert_eq!(tally.rejected, 0);
    assert!(tally.percent_of(setup.bound()) <= 112);
    let tally = worst(Setup {
        headers: false,
        ..setup
    });
    assert!(tally.percent_of(setup.bound()) <= 112);
}

#[test]
fn ten_thousand_callers_come_through_a_quota_in_order() {
    let setup = Setup {
        calls: 10_000,
        at_once: 10_000,
        quota: 2_000,
        ..Setup::QUOTA
    };
    let tally = worst(setup);
    assert!(tally.percent_of(setup.bound()) <= 130);
    assert!(tally.longest <= SECOND * 60);
    let calls = u128::try_from(tally.looks).unwrap();
    assert!(calls <= 20 * 10_000, "{calls} looks");
}

#[test]
fn calls_that_take_longer_than_the_window_come_through() {
    let round_trip = Duration::from_secs(3);
    let setup = Setup {
        calls: 200,
        at_once: 60,
        quota: 20,
        window: SECOND * 2,
        headers: true,
        round_trip,
        ..Setup::QUOTA
    };
    assert!(worst(setup).percent_of(setup.bound()) <= 300);
}
