//! Several processes that share one gate.

use super::joined::WAIT;
use super::world::{Health, MILLI, Wait, World};
use super::*;
use crate::gate::{End, Kind, Quota};
use crate::runtime::Runtime;
use crate::testing::ManualRuntime;
use std::task::Waker;

pub(super) const SEC: Duration = Duration::from_secs(1);

pub(super) fn newcomers(world: &mut World, processes: &[usize]) -> Vec<(usize, Option<Wait>)> {
    let wait = |process: &usize| (*process, Some(world.waits(*process, Kind::Newcomer)));
    processes.iter().map(wait).collect()
}

fn refusals(world: &World) -> usize {
    let asked = world.said.iter().filter(|(_, words)| words.asked.is_some());
    asked.count()
}

#[test]
fn a_refusal_in_one_process_closes_the_gate_of_all() {
    let mut world = World::of(3);
    world.refuse(0, SEC);
    assert!(!world.is_open(0), "at once");
    world.pass(MILLI * 2);
    assert!(!world.is_open(1) && !world.is_open(2));
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[1, 2, 0]);
    for went in world.play(&mut waits, SEC * 8) {
        let after = went.unwrap() - begun;
        assert!(after >= MILLI * 998 && after < SEC * 6, "{after:?}");
    }
    assert_eq!(refusals(&world), 1);
}

#[test]
fn tickets_go_in_the_order_of_asking_over_all_processes() {
    let mut world = World::of(2);
    world.succeed(0, 20);
    world.refuse(0, SEC * 2);
    world.pass(MILLI * 205);
    let mut waits = Vec::new();
    for process in [1, 0, 1, 0, 1, 0] {
        // As many as go together ask at once.
        waits.extend(newcomers(&mut world, &[process; 4]));
        world.play(&mut waits, MILLI * 20);
    }
    let went = world.play(&mut waits, SEC * 10);
    let went: Vec<_> = went.into_iter().map(Option::unwrap).collect();
    assert!(went.is_sorted(), "{went:?}");
    assert!(went[23] > went[0] + MILLI * 500, "at a pace");
}

#[test]
fn retries_go_first_with_whatever_ticket_comes_first() {
    let mut world = World::of(1);
    world.refuse(0, SEC);
    let mut waits = newcomers(&mut world, &[0; 3]);
    world.play(&mut waits, MILLI * 50);
    waits.push((0, Some(world.waits(0, Kind::Retry))));
    let went = world.play(&mut waits, SEC * 200);
    let went: Vec<_> = went.into_iter().map(Option::unwrap).collect();
    assert!(went[3] <= went[0] && went[0] <= went[1] && went[1] <= went[2]);
}

#[test]
fn a_process_that_dies_with_tickets_costs_their_time_alone() {
    let mut world = World::of(2);
    world.succeed(0, 50);
    world.refuse(0, SEC);
    world.pass(MILLI * 5);
    let mut dead = newcomers(&mut world, &[0; 20]);
    world.play(&mut dead, MILLI * 30);
    world.dies(0);
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[1; 20]);
    for went in world.play(&mut waits, SEC * 20) {
        let after = went.unwrap() - begun;
        assert!(after > SEC && after < SEC * 5, "{after:?}");
    }
}

#[test]
fn who_joins_during_a_pause_goes_at_once_only_once() {
    let mut world = World::of(1);
    world.refuse(0, SEC * 3);
    world.pass(MILLI * 5);
    let late = world.starts();
    let place = world.go(late);
    world.end(late, &place, End::Succeeded);
    world.pass(MILLI * 3);
    assert!(!world.is_open(late));
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[late]);
    let went = world.play(&mut waits, SEC * 70)[0].unwrap() - begun;
    assert!(went > MILLI * 2_900, "{went:?}");
}

#[test]
fn calls_that_were_sent_later_and_succeed_open_the_gate_for_all() {
    let mut world = World::of(2);
    let [refused @ .., later] = [(); 3].map(|()| world.go(0));
    for place in &refused {
        world.end(0, place, End::Refused(Some(SEC * 10)));
    }
    world.pass(MILLI * 5);
    assert!(!world.is_open(1));
    world.end(0, &later, End::Succeeded);
    world.pass(MILLI * 10);
    assert!(world.is_open(1) && world.is_open(0));
    // Now it takes four refusals, and two are told to nobody.
    let said = refusals(&world);
    world.refuse(0, SEC * 10);
    world.pass(MILLI * 20);
    assert_eq!(refusals(&world), said);
    assert!(world.is_open(1));
}

#[test]
fn one_that_takes_its_refusal_back_does_not_speak_for_another() {
    let mut world = World::of(3);
    let [refused @ .., later] = [(); 3].map(|()| world.go(0));
    let others = [(); 2].map(|()| world.go(1));
    for place in &refused {
        world.end(0, place, End::Refused(Some(SEC * 10)));
    }
    world.pass(MILLI * 5);
    for place in &others {
        world.end(1, place, End::Refused(Some(SEC)));
    }
    world.pass(MILLI * 5);
    world.end(0, &later, End::Succeeded);
    world.pass(MILLI * 20);
    assert!(
        ![0, 1, 2]
            .map(|process| world.is_open(process))
            .contains(&true)
    );
}

#[test]
fn a_push_closes_from_now_on_and_never_opens_sooner() {
    let mut world = World::of(1);
    let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
    let begun = world.clock.now();
    for millis in [3_000, 10] {
        let closed = Duration::from_millis(millis);
        link.told(world.moment(), GatePush { opening: 0, closed });
    }
    let mut waits = newcomers(&mut world, &[0]);
    let went = world.play(&mut waits, SEC * 70)[0].unwrap() - begun;
    assert!(went >= SEC * 3, "{went:?}");
}

#[test]
fn a_store_that_lost_its_state_opens_nothing_sooner() {
    let mut world = World::of(2);
    world.refuse(0, SEC * 5);
    world.pass(MILLI * 5);
    world.gate = None;
    let begun = world.clock.now();
    // Calls that were sent before are no probes.
    let mut waits = [0, 1, 1].map(|process| (process, Some(world.waits(process, Kind::Retry))));
    for went in world.play(&mut waits, SEC * 20) {
        assert!(went.unwrap() - begun >= MILLI * 4_990);
    }
    world.pass(SEC * 10);
    world.refuse(1, SEC);
    world.pass(MILLI * 5);
    assert!(!world.is_open(0), "the next refusals close it anew");
}

#[test]
fn without_a_subscription_the_own_gate_decides() {
    let mut world = World::of(2);
    world.subscribe(1, false);
    world.refuse(0, SEC * 5);
    world.pass(MILLI * 20);
    assert!(world.is_open(1));
    world.subscribe(1, true);
    world.pass(MILLI * 20);
    assert!(!world.is_open(1), "one look tells");
    world.subscribe(1, false);
    assert!(!world.is_open(1), "it has heard of the pause");
}

#[test]
fn without_a_subscription_nobody_asks_for_tickets() {
    let mut world = World::of(2);
    world.refuse(0, SEC);
    world.pass(MILLI * 5);
    world.subscribe(1, false);
    let mut waits = newcomers(&mut world, &[1; 5]);
    let went = world.play(&mut waits, SEC * 30);
    assert!(went.iter().all(Option::is_some), "{went:?}");
    let asks = |(process, words): &(usize, GateWords)| *process == 1 && words.tickets > 0;
    assert!(!world.said.iter().any(asks));
}

#[test]
fn a_clock_that_steps_back_leaves_the_driver_its_pace() {
    let mut world = World::of(1);
    world.pass(SEC * 5);
    world.clock = ManualRuntime::paused();
    let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
    match link.next(world.moment(), Waker::noop()) {
        NextWords::Wait(Some(until)) => assert!(until < SEC, "{until:?}"),
        next => panic!("{next:?}"),
    }
}

#[test]
fn a_driver_that_is_gone_holds_nobody_up() {
    let mut world = World::of(2);
    world.succeed(1, 100);
    world.refuse(0, SEC);
    world.pass(MILLI * 5);
    world.loses_driver(1);
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[1; 20]);
    for went in world.play(&mut waits, SEC * 5) {
        let after = went.unwrap() - begun;
        assert!(after <= SEC + WAIT + MILLI * 350, "{after:?}");
    }
}

#[test]
fn no_call_waits_for_a_store_that_hangs_for_longer_than_it_may() {
    for health in [Health::Hangs, Health::Fails] {
        let mut world = World::of(2);
        world.succeed(1, 100);
        world.refuse(0, SEC);
        world.pass(MILLI * 5);
        world.health = health;
        let begun = world.clock.now();
        let mut waits = newcomers(&mut world, &[1; 10]);
        for went in world.play(&mut waits, SEC * 5) {
            let after = went.unwrap() - begun;
            assert!(after >= MILLI * 990, "{after:?}");
            assert!(after <= SEC + WAIT + MILLI * 350, "{health:?}: {after:?}");
        }
    }
}

#[test]
fn a_store_that_comes_back_is_heard_again() {
    let mut world = World::of(2);
    world.health = Health::Hangs;
    world.refuse(0, SEC * 30);
    world.pass(SEC);
    assert!(world.is_open(1), "nobody was told");
    world.health = Health::Well;
    world.reconnects(0);
    world.pass(SEC);
    world.refuse(1, SEC * 20);
    world.pass(MILLI * 20);
    let closed = world.gate.as_ref().is_some() && !world.is_open(0);
    assert!(closed);
}

#[test]
fn an_open_gate_asks_nothing_and_calls_go_without_a_look() {
    let mut world = World::of(2);
    let said = world.said.len();
    for _ in 0..1_000 {
        let key = world.processes[0].gate.key_of("a");
        let entered = world.processes[0].gate.enter(key, Duration::ZERO, true);
        let place = entered.ok().flatten().expect("by the fast way");
        world.end(0, &place, End::Succeeded);
        world.pass(MILLI);
    }
    let said = &world.said[said..];
    assert!(said.len() <= 5, "{}", said.len());
    assert!(said.iter().all(|(_, words)| words.tickets == 0));
    let successes: u64 = said.iter().map(|(_, words)| words.successes).sum();
    assert!(successes >= 750, "{successes}");
}

#[test]
fn a_quota_is_one_for_all_processes() {
    let mut world = World::of(2);
    let told = Quota {
        limit: Some(20),
        remaining: 6,
        reset: 5 * SECOND,
    };
    let place = world.go(0);
    world.told(0, &place, End::Succeeded, Some(told));
    world.pass(MILLI * 120);
    // The other hears of it with what it has to say next.
    let place = world.go(1);
    world.end(1, &place, End::Succeeded);
    world.pass(MILLI * 300);
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let went = world.play(&mut waits, SEC * 10);
    let soon = went.iter().flatten().filter(|went| **went < begun + SEC);
    assert!(soon.count() <= 6, "{went:?}");
    assert!(went.iter().all(Option::is_some), "{went:?}");
}
