//! What many processes would do at once.

use super::processes::{SEC, newcomers};
use super::world::{MILLI, World};
use super::*;
use crate::gate::{End, Quota};
use crate::runtime::Runtime;

const PROCESSES: usize = 20;

#[test]
fn what_was_sent_before_a_quota_was_known_is_counted() {
    let mut world = World::of(PROCESSES);
    let sent: Vec<_> = (0..60)
        .map(|call| (call % PROCESSES, world.go(call % PROCESSES)))
        .collect();
    let mut waits = Vec::new();
    // Each answer says what the service has counted so far, and its caller has a next call at once.
    for (call, (process, place)) in sent.iter().enumerate() {
        let told = Quota {
            limit: Some(100),
            remaining: 99 - call as u64,
            reset: 5 * SECOND,
        };
        world.told(*process, place, End::Succeeded, Some(told));
        waits.extend(newcomers(&mut world, &[*process]));
        if process + 1 == PROCESSES {
            world.play(&mut waits, MILLI);
        }
    }
    let went = world.play(&mut waits, SEC);
    let gone = waits.iter().filter(|(_, wait)| wait.is_none()).count();
    assert_eq!(gone, 40, "{went:?}");
}

#[test]
fn who_hears_of_a_pause_speaks_at_a_time_of_its_own() {
    let mut world = World::of(PROCESSES);
    for process in 0..PROCESSES {
        world.succeed(process, 3);
    }
    world.pass(MILLI * 200);
    world.refuse(0, SEC * 2);
    world.pass(MILLI * 4);
    let others: Vec<_> = (1..PROCESSES).collect();
    let mut waits = newcomers(&mut world, &others);
    let (mut most, mut all) = (0, 0);
    for _ in 0..22 {
        let said = world.said.len();
        world.play(&mut waits, MILLI * 10);
        let words = world.said.split_off(said);
        let asks = words.iter().filter(|(_, words)| words.tickets > 0).count();
        (most, all) = (most.max(words.len()), all + asks);
    }
    assert_eq!(
        all,
        others.len(),
        "each asks for its ticket well before the end"
    );
    assert!(most <= 5, "{most} at once");
}

#[test]
fn who_hears_that_a_pause_is_over_asks_at_once() {
    let mut world = World::of(2);
    let [refused, a, b] = [(); 3].map(|()| world.go(0));
    world.end(0, &refused, End::Refused(Some(SEC * 10)));
    world.pass(MILLI * 3);
    let begun = world.clock.now();
    let mut waits = newcomers(&mut world, &[1]);
    world.end(0, &a, End::Succeeded);
    world.end(0, &b, End::Succeeded);
    let went = world.play(&mut waits, SEC)[0].unwrap() - begun;
    assert!(went <= MILLI * 10, "{went:?}");
}
