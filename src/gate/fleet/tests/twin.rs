//! The rules of the store, one by one.

use super::*;

#[test]
fn a_refusal_closes_the_gate_for_all_and_all_are_told() {
    let mut store = Store::new();
    let answer = store.refuse(3 * SECOND);
    assert!(answer.closed);
    assert_eq!(answer.until, answer.now + 3 * SECOND);
    assert_eq!(store.pushed(), [3_000]);
}

#[test]
fn a_pause_is_prolonged_and_never_shortened() {
    let mut store = Store::new();
    for asked in [10, 20, 5] {
        store.refuse(asked * SECOND);
    }
    assert_eq!(store.pause(), Some(20 * SECOND));
    assert_eq!(store.pushed(), [10_000, 20_000]);
}

#[test]
fn the_last_that_takes_its_refusal_back_opens_the_gate() {
    let mut store = Store::new();
    store.refuse(10 * SECOND);
    store.refuse(2 * SECOND);
    // One that accuses already prolongs the pause, and counts no second time.
    store.say(GateWords {
        accuses: Accuses::Same,
        ..refusal(11 * SECOND)
    });
    assert!(store.contradict().closed);
    assert!(!store.contradict().closed);
    assert_eq!(store.look().opening, 0);
    assert_eq!(store.pushed(), [10_000, 11_000, 0]);
}

#[test]
fn nobody_takes_back_a_refusal_of_another_opening() {
    let mut store = Store::new();
    store.refuse(SECOND);
    store.open();
    store.refuse(SECOND);
    let late = GateWords {
        accuses: Accuses::Ends,
        ..GateWords::default()
    };
    assert!(store.say_of(0, late).closed);
    assert!(!store.contradict().closed);
}

#[test]
fn tickets_of_before_an_early_opening_are_good_again() {
    let mut store = Store::new();
    store.succeed(8);
    store.refuse(SECOND);
    let open = store.open();
    assert_eq!(store.ask(5).release.gone, 5);
    store.now += 7;
    store.refuse(SECOND);
    let closed = store.ask(3);
    assert_eq!((closed.ticket, closed.release.gone), (0, 3));
    store.now += 400;
    let again = store.contradict();
    assert_eq!((again.opening, again.release.gone), (1, 5));
    assert_eq!(again.release.from, open.release.from + 400);
    assert_eq!(
        (again.each(), again.release.group),
        (open.each(), open.release.group)
    );
}

impl GateAnswer {
    fn each(&self) -> u64 {
        self.release.round / self.release.first.max(1)
    }
}

#[test]
fn tickets_are_given_in_the_order_of_asking_also_while_closed() {
    let mut store = Store::new();
    store.refuse(SECOND);
    let given = [3, 4, 2].map(|tickets| store.ask(tickets).ticket);
    assert_eq!(given, [0, 3, 7]);
    assert_eq!(store.open().release.gone, 9);
    assert_eq!(store.ask(1).ticket, 9);
}

#[test]
fn a_new_pause_begins_to_count_anew() {
    let mut store = Store::new();
    store.refuse(SECOND);
    store.ask(9);
    store.open();
    store.refuse(SECOND);
    assert_eq!(store.ask(1).ticket, 0);
}

#[test]
fn without_a_success_of_anybody_the_pause_doubles() {
    let pauses = |successes| {
        let mut store = Store::new();
        [(); 7].map(|()| {
            store.succeed(successes);
            let pause = store.refuse(SECOND).until - store.now;
            store.open();
            pause / SECOND
        })
    };
    assert_eq!(pauses(0), [1, 2, 4, 8, 16, 20, 20]);
    assert_eq!(pauses(1), [1; 7]);
}

#[test]
fn a_refusal_from_before_the_opening_does_not_double() {
    let mut store = Store::new();
    store.refuse(SECOND);
    store.open();
    assert_eq!(store.say_of(0, refusal(SECOND)).until, store.now + SECOND);
}

#[test]
fn old_successes_weigh_less_while_the_gate_is_open() {
    let rate = |age: u64| {
        let mut store = Store::new();
        store.succeed(1_024);
        store.now += age;
        store.refuse(5 * SECOND);
        store.open().release.first
    };
    let fresh = rate(SECOND);
    assert_eq!(rate(20 * SECOND), fresh);
    assert_eq!(
        [rate(41 * SECOND), rate(61 * SECOND)],
        [fresh / 4, fresh / 8]
    );
}

#[test]
fn a_quota_bounds_the_tickets_and_a_spent_one_closes_nothing() {
    let mut store = Store::new();
    store.tell(0, Some((5, 10 * SECOND)));
    let given = [3, 4, 1].map(|tickets| store.ask(tickets).granted);
    assert_eq!(given, [3, 2, 0]);
    let spent = store.look();
    assert_eq!((spent.closed, spent.remaining), (false, Some(0)));
    store.now = spent.reset;
    let whole = store.ask(150);
    assert_eq!((whole.granted, whole.turn), (100, 1));
    assert_eq!(
        (whole.opening, whole.ticket, whole.release.first),
        (1, 0, 100)
    );
    assert_eq!(
        (whole.release.round, whole.release.from),
        (2 * SECOND, store.now)
    );
    assert_eq!(store.pushed(), [0_u128; 0]);
}

#[test]
fn an_answer_of_another_turn_says_nothing_of_this_one() {
    let mut store = Store::new();
    store.tell(0, Some((5, 10 * SECOND)));
    store.now += 10 * SECOND;
    assert_eq!(store.tell(0, Some((1, SECOND))).remaining, Some(100));
    let told = store.tell(1, Some((80, 7 * SECOND)));
    assert_eq!(
        (told.remaining, told.reset),
        (Some(80), store.now + 7 * SECOND)
    );
    let later = store.tell(1, Some((90, 3 * SECOND)));
    assert_eq!((later.remaining, later.reset), (Some(80), told.reset));
}

#[test]
fn after_a_turn_a_success_that_tells_of_no_quota_forgets_it() {
    let mut store = Store::new();
    store.tell(0, Some((5, SECOND)));
    assert_eq!(store.tell(0, None).remaining, Some(5));
    store.now += SECOND;
    assert_eq!(store.tell(0, None).remaining, Some(100), "of another turn");
    assert_eq!(store.tell(1, None).remaining, None);
}

#[test]
fn tickets_of_a_pause_are_paid_for_by_the_quota_after_it() {
    let mut store = Store::new();
    store.refuse(10 * SECOND);
    assert_eq!(store.ask(30).granted, 30);
    store.tell(0, Some((0, 10 * SECOND)));
    assert_eq!(store.ask(1).granted, 0);
    store.now += 10 * SECOND;
    let open = store.ask(100);
    assert_eq!((open.closed, open.ticket, open.granted), (false, 30, 70));
}

#[test]
fn the_quota_alone_paces_a_release_after_its_reset() {
    let paced = |successes| {
        let mut store = Store::new();
        store.tell(0, Some((50, 10 * SECOND)));
        store.succeed(successes);
        store.refuse(10 * SECOND);
        store.open().release.round > 0
    };
    assert_eq!([paced(49), paced(50)], [true, false]);
}

#[test]
fn a_store_without_its_state_takes_the_opening_it_hears_of() {
    let mut store = Store::new();
    store.refuse(SECOND);
    store.open();
    store.refuse(60 * SECOND);
    store.gate = None;
    let fresh = store.look();
    assert_eq!(
        (fresh.closed, fresh.opening, fresh.release.gone),
        (false, 1, 0)
    );
}

#[test]
fn a_store_whose_clock_was_set_back_begins_anew() {
    let pause = |store: &mut Store| _ = store.refuse(SECOND);
    let release = |store: &mut Store| {
        store.refuse(SECOND);
        store.open();
        store.ask(9);
    };
    let quota = |store: &mut Store| _ = store.tell(0, Some((0, SECOND)));
    for happens in [pause as fn(&mut Store), release, quota] {
        let mut store = Store::new();
        store.look();
        store.now += 600 * SECOND;
        happens(&mut store);
        let opening = store.last.unwrap().opening;
        store.now -= 300 * SECOND;
        let anew = store.ask(5);
        let seen = (anew.closed, anew.granted, anew.remaining, anew.opening);
        assert_eq!(seen, (false, 5, None, opening));
        assert!(anew.release.from <= anew.now);
    }
    // One that trembles is the same.
    let mut store = Store::new();
    store.refuse(SECOND);
    store.now -= SECOND;
    assert_eq!(store.pause(), Some(2 * SECOND));
}
