//! A store that knows less than a process: it lost its state, was restored from an old copy, or never heard of a refusal.

use super::processes::{SEC, newcomers};
use super::world::{Health, MILLI, World};
use super::*;
use crate::gate::{End, Quota};
use crate::runtime::Runtime;
use std::task::Waker;

/// A fleet that has had a pause and a release, both long over.
fn with_a_past() -> World {
    let mut world = World::of(2);
    world.refuse(0, SEC);
    let mut waits = newcomers(&mut world, &[0, 1]);
    let went = world.play(&mut waits, SEC * 60);
    assert!(went.iter().all(Option::is_some), "{went:?}");
    forty_a_second(&mut world);
    world
}

fn forty_a_second(world: &mut World) {
    for _ in 0..40 {
        world.succeed(1, 1);
        world.pass(MILLI * 25);
    }
}

/// How many of those who wait go within 100 ms of the first of them.
fn herd(world: &mut World, waits: &mut [(usize, Option<super::world::Wait>)]) -> usize {
    let went = world.play(waits, SEC * 30);
    assert!(waits.iter().all(|(_, wait)| wait.is_none()), "{went:?}");
    let first = went.iter().flatten().min().expect("some were left");
    let together = |went: &&Duration| **went <= *first + MILLI * 100;
    went.iter().flatten().filter(together).count()
}

#[test]
fn a_store_that_lost_its_state_sends_no_herd() {
    for after in [SEC, MILLI * 2_300] {
        let mut world = World::of(2);
        world.pass(SEC);
        forty_a_second(&mut world);
        world.refuse(0, SEC * 2);
        world.pass(MILLI * 5);
        let mut waits = newcomers(&mut world, &[1; 40]);
        world.play(&mut waits, after);
        world.gate = None;
        let left = waits.iter().filter(|(_, wait)| wait.is_some()).count();
        assert!(left >= 20, "{left} were left");
        let together = herd(&mut world, &mut waits);
        assert!(together <= 10, "{together} of 40, {after:?}");
    }
}

#[test]
fn a_store_that_lost_its_state_makes_no_quota_whole() {
    let mut world = World::of(1);
    let spent = Quota {
        limit: Some(20),
        remaining: 0,
        reset: 5 * SECOND,
    };
    let [first, last] = [(); 2].map(|()| world.go(0));
    world.told(0, &first, End::Succeeded, Some(spent));
    world.pass(MILLI * 200);
    let mut waits = newcomers(&mut world, &[0; 12]);
    world.play(&mut waits, MILLI * 100);
    world.gate = None;
    // The store is spoken to again.
    world.end(0, &last, End::Succeeded);
    let whole = world.clock.now() + SEC * 4;
    let went = world.play(&mut waits, SEC * 10);
    let too_soon = went.iter().flatten().any(|went| *went < whole);
    assert!(!too_soon, "{went:?}");
    assert!(waits.iter().all(|(_, wait)| wait.is_none()), "{went:?}");
}

#[test]
fn a_store_that_is_rolled_back_sends_no_herd() {
    for after in [MILLI * 500, MILLI * 1_500, MILLI * 2_300] {
        let mut world = with_a_past();
        let old = world.gate;
        world.refuse(0, SEC * 2);
        world.pass(MILLI * 5);
        let mut waits = newcomers(&mut world, &[1; 40]);
        world.play(&mut waits, after);
        world.gate = old;
        let together = herd(&mut world, &mut waits);
        assert!(together <= 20, "{together} of 40, {after:?}");
    }
}

#[test]
fn a_refusal_that_the_store_has_not_heard_of_sends_no_herd() {
    let mut world = with_a_past();
    world.pass(SEC);
    world.health = Health::Fails;
    world.refuse(1, SEC * 2);
    world.pass(MILLI * 5);
    world.health = Health::Well;
    let mut waits = newcomers(&mut world, &[1; 40]);
    let together = herd(&mut world, &mut waits);
    assert!(together <= 10, "{together} of 40");
}

#[test]
fn tickets_of_a_store_that_lost_its_state_pass_no_quota() {
    let mut world = World::of(2);
    world.succeed(0, 40);
    let flying = world.go(0);
    world.refuse(1, SEC * 2);
    world.pass(MILLI * 5);
    world.gate = None;
    let mut waits = newcomers(&mut world, &[0; 12]);
    world.play(&mut waits, SEC);
    let told = Quota {
        limit: Some(20),
        remaining: 3,
        reset: 10 * SECOND,
    };
    world.told(0, &flying, End::Succeeded, Some(told));
    let whole = world.clock.now() + SEC * 9;
    let went = world.play(&mut waits, SEC * 20);
    let early = went.iter().flatten().filter(|went| **went < whole);
    let early = early.count();
    assert!(early <= 3, "{early} of 3");
}

#[test]
fn a_release_of_before_the_process_began_holds_nobody() {
    let mut world = World::of(1);
    let mut store = Store::new();
    store.now -= 600 * SECOND;
    store.refuse(SECOND);
    store.open();
    store.ask(40);
    world.gate = store.gate;
    let late = world.starts();
    let place = world.go(late);
    world.end(late, &place, End::Succeeded);
    world.pass(MILLI * 10);
    assert!(world.is_open(late));
}

#[test]
fn an_answer_from_before_an_early_opening_closes_nothing() {
    let mut world = World::of(1);
    let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
    let flying = world.go(0);
    let mut store = Store::new();
    store.refuse(10 * SECOND);
    link.told(world.moment(), store.pushes[0]);
    world.end(0, &flying, End::Succeeded);
    let says = |world: &World| loop {
        match link.next(world.moment(), Waker::noop()) {
            NextWords::Command(words) => break words,
            _ => world.clock.advance(MILLI),
        }
    };
    let before = store.say(says(&world));
    assert!(before.closed);
    store.contradict();
    link.told(world.moment(), store.pushes[1]);
    link.answered(world.moment(), Some(before));
    let after = store.say(says(&world));
    link.answered(world.moment(), Some(after));
    assert!(world.is_open(0));
}
