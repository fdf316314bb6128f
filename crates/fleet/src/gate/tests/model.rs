//! The rules of the store, one by one.

use super::*;

#[test]
fn four_refusals_in_a_row_close_the_gate_for_all() {
    let mut store = Store::new();
    assert_eq!(closed(&store.refuse(1, Some(3 * SECOND))), 0);
    assert_eq!(closed(&store.refuse(2, Some(3 * SECOND))), 0);
    assert_eq!(store.pushed(), [0_u128; 0]);
    assert_eq!(closed(&store.refuse(1, Some(2 * SECOND))), 2 * SECOND);
    assert_eq!((store.pushed(), store.change), (vec![2_000], 1));
}

#[test]
fn half_as_many_successes_of_any_process_end_a_run() {
    let mut store = Store::new();
    for _ in 0..10 {
        store.refuse(3, Some(SECOND));
        store.succeed(2);
    }
    // Those of one report come after its successes, and before its later ones.
    store.say(GateReport {
        successes: 5,
        ..refused(3, Some(SECOND))
    });
    store.say(GateReport {
        later: 2,
        ..refused(1, Some(SECOND))
    });
    assert_eq!((store.closed(), store.change), (0, 0));
    store.refuse(3, Some(SECOND));
    store.succeed(1);
    store.refuse(1, Some(SECOND));
    assert_eq!(store.closed(), SECOND, "four refusals, one success");
}

#[test]
fn earlier_successes_do_not_open_the_gate() {
    let mut store = Store::new();
    store.vote(Some(SECOND));
    store.succeed(1_000);
    assert_eq!(store.closed(), SECOND);
    let later = |later| GateReport {
        later,
        ..GateReport::default()
    };
    store.say(later(1));
    assert_eq!(store.closed(), SECOND);
    store.say(later(1));
    assert_eq!(store.closed(), 0);
}

#[test]
fn a_cooldown_is_prolonged_and_never_shortened() {
    let mut store = Store::new();
    store.vote(Some(10 * SECOND));
    for delay in [20, 5] {
        store.refuse(1, Some(delay * SECOND));
    }
    assert_eq!(store.closed(), 20 * SECOND);
    assert_eq!((store.pushed(), store.change), (vec![10_000, 20_000], 1));
}

#[test]
fn a_contradiction_opens_the_gate_and_makes_it_more_patient() {
    let mut store = Store::new();
    let mut votes = |refusals: u64| {
        store.refuse(refusals - 1, Some(SECOND));
        assert_eq!(store.closed(), 0);
        store.refuse(1, Some(SECOND));
        assert_eq!(store.closed(), SECOND);
        store.contradict();
        assert_eq!((store.closed(), store.pushed()), (0, vec![1_000, 0]));
    };
    [4, 8, 16, 16].into_iter().for_each(&mut votes);
    assert_eq!(store.change, 8);
}

#[test]
fn an_uncontradicted_cooldown_makes_the_gate_less_patient() {
    let mut store = Store::new();
    for refusals in [4, 2, 2] {
        store.succeed(1);
        store.refuse(refusals - 1, Some(SECOND));
        assert_eq!(store.closed(), 0);
        store.refuse(1, Some(SECOND));
        assert_eq!(store.closed(), SECOND);
        store.open();
    }
}

#[test]
fn reports_from_before_a_change_neither_close_nor_open() {
    let mut store = Store::new();
    store.vote(Some(SECOND));
    assert_eq!(
        closed(&store.say_of(0, refused(4, Some(9 * SECOND)))),
        SECOND
    );
    let late = GateReport {
        later: 100,
        ..GateReport::default()
    };
    assert_eq!(closed(&store.say_of(0, late)), SECOND);
    store.contradict();
    store.say_of(1, refused(16, Some(SECOND)));
    assert_eq!((store.closed(), store.change), (0, 2));
}

/// The cooldowns of votes in a row, each after so many successes.
fn cooldowns(delay: Option<u64>, successes: u64) -> Vec<u64> {
    let mut store = Store::new();
    let cooldown = |_| {
        store.vote(delay);
        store.succeed(successes);
        let cooldown = store.closed();
        store.open();
        cooldown / (100 * MILLISECOND)
    };
    (0..10).map(cooldown).collect()
}

#[test]
fn the_cooldown_doubles_without_a_success() {
    let doubled = [1, 2, 4, 8, 16, 32, 64, 128, 200, 200];
    assert_eq!(cooldowns(None, 0), doubled);
    assert_eq!(cooldowns(None, 1), [1; 10]);
    let named = [10, 20, 40, 40, 40, 40, 40, 40, 40, 40];
    assert_eq!(cooldowns(Some(SECOND), 0), named);
}

#[test]
fn half_as_many_processes_probe_as_refusals_closed_the_gate() {
    let mut store = Store::new();
    let mut probes = [(); 4].map(|()| false);
    probes[0] = store.vote(Some(SECOND)).probe;
    for probe in &mut probes[1..] {
        *probe = store.say(GateReport::default()).probe;
    }
    assert_eq!(probes, [true, true, false, false]);
    store.open();
    assert!(!store.say(GateReport::default()).probe, "it is open");
}

#[test]
fn a_store_that_lost_its_state_adopts_the_reported_change() {
    let mut store = Store::new();
    store.vote(Some(60 * SECOND));
    let old = store.gate;
    store.contradict();
    for lost in [None, old] {
        store.gate = lost;
        let answer = store.say_of(2, GateReport::default());
        assert_eq!((closed(&answer), answer.notice.change), (0, 2));
        let answer = store.say_of(2, refused(4, Some(SECOND)));
        assert_eq!((closed(&answer), answer.notice.change), (SECOND, 3));
    }
}

#[test]
fn a_store_whose_clock_was_set_back_starts_anew() {
    let mut store = Store::new();
    store.vote(Some(600 * SECOND));
    store.now -= 3_000 * SECOND;
    assert_eq!(store.closed(), 3_600 * SECOND);
    store.now -= SECOND;
    assert_eq!(store.closed(), 3_601 * SECOND, "it trembles");
    store.now -= 300 * SECOND;
    assert_eq!(store.closed(), 0);
}

#[test]
fn a_cooldown_is_at_most_an_hour() {
    let mut store = Store::new();
    assert_eq!(closed(&store.vote(Some(u64::MAX))), 3_600 * SECOND);
    store.refuse(1, Some(u64::MAX));
    assert_eq!(store.closed(), 3_600 * SECOND);
}
