//! What a process hears late, or of a time before its own.

use super::world::{MILLI, World};
use super::*;
use crate::gate::End;
use std::task::Waker;

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
