//! What a process hears late, or of a time before its own.

use super::world::{MILLI, World};
use super::*;
use crate::gate::End;

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
