use super::*;
use crate::policy::second;

const SECOND: Duration = Duration::from_secs(1);
const TENTH: Duration = Duration::from_millis(100);

fn at(now: Duration) -> Look {
    Look {
        now,
        random: second(u64::try_from(now.as_nanos()).unwrap()),
        overdue: false,
    }
}

fn sent(entry: Entry) -> Permit {
    match entry {
        Entry::Go(permit) => permit,
        Entry::Wait { look_at, .. } => panic!("waits until {look_at:?}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an entry is looked at once")]
fn waits(entry: Entry) -> (Ticket, Duration) {
    match entry {
        Entry::Wait { ticket, look_at } => (ticket, look_at),
        Entry::Go(_) => panic!("goes"),
    }
}

fn quota(remaining: u64, reset: Duration) -> Option<Quota> {
    Some(Quota {
        limit: Some(10),
        remaining,
        reset,
    })
}

/// A gate that was closed at zero until `asked`.
fn closed(asked: Duration) -> Queue {
    let mut queue = Queue::default();
    let permit = sent(queue.enter(Kind::Newcomer, at(Duration::ZERO)));
    queue.refused(Duration::ZERO, &permit, asked, None);
    queue
}

/// Lets each waiter look at the time it was told; when each of them went.
fn play(queue: &mut Queue, tickets: Vec<(Ticket, Duration)>) -> Vec<(Duration, Ticket, Permit)> {
    let mut looks: std::collections::BTreeMap<_, _> = tickets
        .into_iter()
        .map(|(ticket, at)| ((at, ticket.number()), ticket))
        .collect();
    let mut gone = Vec::new();
    while let Some(((now, _), ticket)) = looks.pop_first() {
        match queue.look(ticket, at(now)) {
            Entry::Go(permit) => gone.push((now, ticket, permit)),
            Entry::Wait { look_at, .. } => {
                assert!(look_at > now);
                looks.insert((look_at, ticket.number()), ticket);
            }
        }
    }
    gone
}

#[test]
fn nobody_leaves_before_the_time_that_was_asked_and_all_leave_in_order_spread_out() {
    for n in [1, 20, 200, 10_000_u32] {
        let mut queue = closed(SECOND * 30);
        let tickets = (0..n)
            .map(|_| waits(queue.enter(Kind::Newcomer, at(SECOND))))
            .collect();
        let gone = play(&mut queue, tickets);
        let times: Vec<_> = gone.iter().map(|(now, ..)| *now).collect();
        assert!(
            times
                .iter()
                .all(|now| (SECOND * 30..SECOND * 36).contains(now))
        );
        assert!(gone.is_sorted_by_key(|(_, ticket, _)| ticket.number()));
        let worst = times.iter().enumerate().map(|(i, start)| {
            times[i..]
                .iter()
                .take_while(|now| **now < *start + TENTH)
                .count()
        });
        let even = n / 60;
        assert!(worst.max().unwrap() <= usize::try_from(even * 12 / 10 + 2).unwrap());
    }
}

#[test]
fn retries_leave_before_newcomers() {
    let mut queue = closed(SECOND);
    let newcomer = waits(queue.enter(Kind::Newcomer, at(TENTH)));
    let retry = waits(queue.enter(Kind::Retry, at(TENTH * 2)));
    let gone = play(&mut queue, vec![newcomer, retry]);
    assert_eq!(gone[0].1, retry.0);
}

#[test]
fn a_pause_is_prolonged_and_never_shortened() {
    let mut queue = Queue::default();
    let permits = [0; 3].map(|_| sent(queue.enter(Kind::Newcomer, at(Duration::ZERO))));
    for (permit, asked) in permits.iter().zip([10, 20, 5]) {
        queue.refused(Duration::ZERO, permit, SECOND * asked, None);
    }
    assert_eq!(
        waits(queue.enter(Kind::Newcomer, at(SECOND))).1,
        SECOND * 20
    );
}

#[test]
fn without_a_success_the_pause_doubles_up_to_a_minute_or_what_was_asked() {
    for (asked, pauses) in [
        (1, [1, 2, 4, 8, 16, 32, 60, 60]),
        (45, [45, 60, 60, 60, 60, 60, 60, 60]),
        (90, [90; 8]),
    ] {
        let (mut queue, mut now) = (Queue::default(), Duration::ZERO);
        for pause in pauses {
            let permit = sent(queue.enter(Kind::Newcomer, at(now)));
            queue.refused(now, &permit, SECOND * asked, None);
            let (ticket, until) = waits(queue.enter(Kind::Newcomer, at(now)));
            assert_eq!(until - now, SECOND * pause);
            queue.leave(ticket);
            now = until;
        }
        let permits = [0; 2].map(|_| sent(queue.enter(Kind::Newcomer, at(now))));
        queue.succeeded(now, &permits[0], None);
        queue.refused(now, &permits[1], SECOND * asked, None);
        assert_eq!(
            waits(queue.enter(Kind::Newcomer, at(now))).1 - now,
            SECOND * asked
        );
    }
}

#[test]
fn calls_from_before_a_pause_neither_double_nor_excuse_the_next() {
    let mut queue = Queue::default();
    let old = [0; 3].map(|_| sent(queue.enter(Kind::Newcomer, at(Duration::ZERO))));
    queue.refused(Duration::ZERO, &old[0], SECOND, None);
    let new = sent(queue.enter(Kind::Newcomer, at(SECOND)));
    queue.succeeded(SECOND, &old[1], None);
    queue.refused(SECOND, &old[2], SECOND, None);
    assert_eq!(queue.until, SECOND * 2);
    queue.refused(SECOND, &new, SECOND, None);
    assert_eq!(queue.until, SECOND * 2, "the gate was closed already");
    let new = sent(queue.enter(Kind::Newcomer, at(SECOND * 2)));
    queue.refused(SECOND * 2, &new, SECOND, None);
    assert_eq!(queue.until, SECOND * 4);
}

#[test]
fn a_release_that_meets_a_refusal_begins_anew_after_the_next_pause_in_the_same_order() {
    let mut queue = closed(SECOND * 10);
    let mut tickets: Vec<_> = (0..100)
        .map(|_| waits(queue.enter(Kind::Newcomer, at(SECOND))))
        .collect();
    let mut now = SECOND * 10;
    let (first, permit) = loop {
        match queue.look(tickets[0].0, at(now)) {
            Entry::Go(permit) => break (tickets.remove(0), permit),
            Entry::Wait { look_at, .. } => now = look_at,
        }
    };
    queue.refused(now, &permit, SECOND * 10, None);
    let gone = play(&mut queue, tickets);
    assert_eq!(gone.len(), 99);
    assert!(gone.iter().all(|(at, ..)| *at >= now + SECOND * 20));
    assert!(
        gone.is_sorted_by_key(|(_, ticket, _)| ticket.number())
            && gone[0].1.number() > first.0.number()
    );
}

#[test]
fn newcomers_queue_behind_a_release_and_go_at_once_when_it_is_over() {
    let mut queue = closed(SECOND * 10);
    let waiter = waits(queue.enter(Kind::Newcomer, at(SECOND)));
    assert!(matches!(
        queue.look(waiter.0, at(SECOND * 10)),
        Entry::Wait { .. }
    ));
    let behind = waits(queue.enter(Kind::Newcomer, at(SECOND * 10)));
    let gone = play(&mut queue, vec![behind, (waiter.0, SECOND * 10)]);
    assert_eq!((gone[0].1, gone[1].1), (waiter.0, behind.0));
    let _ = sent(queue.enter(Kind::Newcomer, at(gone[1].0)));
}

#[test]
fn one_that_gives_up_leaves_its_turn_to_the_next_who_is_called() {
    let mut queue = closed(SECOND * 10);
    let first = waits(queue.enter(Kind::Newcomer, at(SECOND))).0;
    let second = waits(queue.enter(Kind::Newcomer, at(SECOND))).0;
    let due = waits(queue.look(first, at(SECOND * 10))).1;
    let later = waits(queue.look(second, at(SECOND * 10))).1;
    assert!(due < later);
    queue.leave(first);
    assert_eq!(queue.called(SECOND * 10), Some(second));
    assert_eq!(queue.called(SECOND * 10), None, "once is enough");
    assert_eq!(waits(queue.look(second, at(SECOND * 10))).1, due);
}

#[test]
fn one_that_does_not_come_holds_nobody_up() {
    let mut queue = closed(SECOND * 10);
    let asleep = waits(queue.enter(Kind::Newcomer, at(SECOND))).0;
    let awake = waits(queue.enter(Kind::Newcomer, at(SECOND)));
    assert!(play(&mut queue, vec![awake])[0].0 < SECOND * 12);
    queue.leave(asleep);
}

#[test]
fn one_that_does_not_come_holds_nobody_up_where_a_quota_sets_the_pace() {
    let mut queue = Queue::default();
    let permits = [0; 2].map(|_| sent(queue.enter(Kind::Newcomer, at(Duration::ZERO))));
    queue.succeeded(Duration::ZERO, &permits[0], quota(1, SECOND * 600));
    let _asleep = waits(queue.enter(Kind::Newcomer, at(SECOND)));
    let (awake, _) = waits(queue.enter(Kind::Newcomer, at(SECOND)));
    queue.succeeded(SECOND * 2, &permits[1], quota(1, SECOND * 600));
    let (_, look_at) = waits(queue.look(awake, at(SECOND * 2)));
    assert!(look_at <= SECOND * 3);
    let _ = sent(queue.look(awake, at(look_at)));
}

#[test]
fn no_more_calls_are_in_flight_than_remain_and_a_dropped_one_gives_its_slot_back() {
    let mut queue = Queue::default();
    let first = sent(queue.enter(Kind::Newcomer, at(Duration::ZERO)));
    queue.succeeded(Duration::ZERO, &first, quota(3, SECOND * 10));
    let permits = [0; 3].map(|_| sent(queue.enter(Kind::Newcomer, at(SECOND))));
    let (ticket, alarm) = waits(queue.enter(Kind::Newcomer, at(SECOND)));
    assert_eq!(alarm, SECOND * 10);
    queue.succeeded(SECOND, &permits[0], quota(3, SECOND * 9));
    assert_eq!(queue.called(SECOND), Some(ticket));
    let fourth = sent(queue.look(ticket, at(SECOND)));
    assert_eq!(queue.in_flight(), 3);
    // The server may have counted it: the slot is back, and one less remains.
    queue.ended(SECOND, &fourth, None);
    assert_eq!((queue.in_flight(), queue.pace.free(SECOND)), (2, Some(0)));
    permits[1..]
        .iter()
        .for_each(|permit| queue.ended(SECOND, permit, None));
    assert_eq!(queue.in_flight(), 0);
}

#[test]
fn a_spent_quota_closes_the_gate_and_the_reset_opens_it_though_nothing_is_in_flight() {
    let mut queue = Queue::default();
    let permit = sent(queue.enter(Kind::Newcomer, at(Duration::ZERO)));
    queue.succeeded(Duration::ZERO, &permit, quota(0, SECOND * 10));
    let tickets: Vec<_> = (0..25)
        .map(|_| waits(queue.enter(Kind::Newcomer, at(SECOND))))
        .collect();
    assert!(tickets.iter().all(|(_, look_at)| *look_at == SECOND * 10));
    let mut went = 0;
    for now in [SECOND * 10, SECOND * 13] {
        for (ticket, _) in &tickets {
            if let Entry::Go(_) = queue.look(*ticket, at(now)) {
                went += 1;
            }
        }
    }
    assert_eq!(went, 10, "as many as the limit");
}

#[test]
fn words_that_cross_on_the_way_count_by_the_lowest_and_later_ones_by_themselves() {
    let mut queue = Queue::default();
    let two = [0; 2].map(|_| sent(queue.enter(Kind::Newcomer, at(Duration::ZERO))));
    queue.succeeded(SECOND, &two[1], quota(4, SECOND * 10));
    queue.succeeded(SECOND, &two[0], quota(5, SECOND * 10));
    assert_eq!(queue.pace.free(SECOND), Some(4));
    let later = sent(queue.enter(Kind::Newcomer, at(SECOND)));
    queue.succeeded(SECOND, &later, quota(8, SECOND * 10));
    assert_eq!(queue.pace.free(SECOND), Some(8));
}

#[test]
fn a_server_that_stops_telling_sets_no_pace() {
    let mut queue = Queue::default();
    for (now, told) in [(0, quota(1, SECOND)), (1, quota(1, SECOND)), (5, None)] {
        let permit = sent(queue.enter(Kind::Newcomer, at(SECOND * now)));
        queue.succeeded(SECOND * now, &permit, told);
    }
    assert_eq!(queue.pace.free(SECOND * 5), None);
}

#[test]
fn who_has_waited_long_enough_goes_in_order_and_not_all_at_once() {
    let mut queue = closed(SECOND * 3_600);
    let tickets: Vec<_> = (0..1_000)
        .map(|_| waits(queue.enter(Kind::Newcomer, at(SECOND))).0)
        .collect();
    let overdue = |now| Look {
        overdue: true,
        ..at(now)
    };
    let mut dues = Vec::new();
    for ticket in &tickets {
        match queue.look(*ticket, overdue(SECOND * 300)) {
            Entry::Wait { look_at, .. } => dues.push(look_at),
            Entry::Go(_) => dues.push(SECOND * 300),
        }
    }
    assert!(dues.is_sorted() && dues[999] > SECOND * 309 && dues[999] < SECOND * 310);
    for (ticket, due) in tickets.iter().zip(&dues).skip(1) {
        let _ = sent(queue.look(*ticket, overdue(*due)));
    }
    assert_eq!(
        waits(queue.enter(Kind::Newcomer, at(SECOND * 310))).1,
        SECOND * 3_600
    );
}

#[test]
fn days_of_idleness_leave_a_gate_that_is_open_and_forgettable() {
    let mut queue = closed(SECOND * 10);
    assert!(!queue.is_forgettable(SECOND * 9));
    assert!(queue.is_forgettable(SECOND * 10));
    let later = SECOND * 86_400 * 30;
    let permit = sent(queue.enter(Kind::Newcomer, at(later)));
    assert!(!queue.is_forgettable(later));
    queue.refused(later, &permit, SECOND, None);
    assert_eq!(queue.until, later + SECOND, "an old pause doubles nothing");
}

#[test]
fn a_clock_that_steps_back_neither_opens_the_gate_nor_keeps_it_closed() {
    let mut queue = closed(SECOND * 10);
    let mut later = closed(Duration::ZERO);
    let _ = sent(later.enter(Kind::Newcomer, at(SECOND * 5_000)));
    let permit = sent(later.enter(Kind::Newcomer, at(SECOND * 5_000)));
    later.refused(SECOND * 5_000, &permit, SECOND * 10, None);
    let (_, look_at) = waits(later.enter(Kind::Newcomer, at(SECOND * 100)));
    assert_eq!(look_at, SECOND * 110);
    let (ticket, _) = waits(queue.enter(Kind::Newcomer, at(SECOND * 9)));
    assert_eq!(
        waits(queue.look(ticket, at(SECOND * 9 - TENTH))).1,
        SECOND * 10
    );
}

#[test]
fn absurd_numbers_neither_overflow_nor_hold_a_waiter_for_ever() {
    let mut queue = closed(Duration::MAX);
    assert_eq!(
        waits(queue.enter(Kind::Newcomer, at(SECOND))).1,
        SECOND * 3_601
    );
    let permit = match queue.enter(
        Kind::Retry,
        Look {
            overdue: true,
            ..at(SECOND)
        },
    ) {
        Entry::Go(permit) => permit,
        Entry::Wait { ticket, look_at } => sent(queue.look(
            ticket,
            Look {
                overdue: true,
                ..at(look_at)
            },
        )),
    };
    let absurd = Quota {
        limit: Some(0),
        remaining: u64::MAX,
        reset: Duration::MAX,
    };
    queue.refused(Duration::MAX, &permit, Duration::MAX, Some(absurd));
}
