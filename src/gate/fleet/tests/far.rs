//! Pauses that are longer than anybody waits for, and those that the store no longer knows of.

use super::processes::{SEC, newcomers};
use super::properties::numbers_of;
use super::world::{MILLI, World};
use super::*;
use crate::gate::End;
use crate::gate::controller::MOST;
use crate::runtime::Runtime;
use std::task::Waker;

/// A patient process, and one whose calls wait for at most five minutes.
fn with_an_impatient_one() -> World {
    let mut world = World::of(1);
    world.longest = SEC * 300;
    let impatient = world.starts();
    let place = world.go(impatient);
    world.end(impatient, &place, End::Other);
    world.pass(SEC);
    world
}

/// How long it takes until a call of this process goes.
fn goes_after(world: &mut World, process: usize, most: Duration) -> Duration {
    let begun = world.clock.now();
    let mut waits = newcomers(world, &[process]);
    let went = world.play(&mut waits, most)[0];
    went.expect("it goes") - begun
}

#[test]
fn a_pause_that_no_local_policy_waits_for_holds_nobody() {
    let mut world = with_an_impatient_one();
    world.refuse(0, SEC * 3_000);
    world.pass(MILLI * 5);
    assert!(!world.is_open(0) && world.is_open(1), "by a message");
    world.succeed(1, 1);
    let said = world.said.len();
    world.pass(SEC * 5);
    assert!(!world.is_open(0) && world.is_open(1), "by an answer");
    let said = world.said.len() - said;
    assert!(said <= 50, "{said}");
}

#[test]
fn a_pause_that_is_prolonged_too_far_lasts_as_long_as_before() {
    let mut world = with_an_impatient_one();
    let flying = world.go(0);
    world.refuse(0, SEC * 20);
    world.pass(MILLI * 5);
    world.end(0, &flying, End::Refused(Some(SEC * 3_000)));
    world.pass(MILLI * 5);
    assert!(!world.is_open(1));
    let after = goes_after(&mut world, 1, SEC * 60);
    assert!((SEC * 19..SEC * 50).contains(&after), "{after:?}");
}

#[test]
fn a_quota_that_comes_back_too_late_holds_nobody() {
    let mut world = with_an_impatient_one();
    let spent = Quota {
        limit: Some(20),
        remaining: 0,
        reset: 3_000 * SECOND,
    };
    let place = world.go(0);
    world.told(0, &place, End::Succeeded, Some(spent));
    world.pass(MILLI * 200);
    world.succeed(1, 1);
    world.pass(SEC);
    assert!(!world.is_open(0));
    let said = world.said.len();
    for _ in 0..50 {
        world.succeed(1, 1);
        world.pass(MILLI * 20);
    }
    let said = world.said.len() - said;
    assert!(said <= 20, "{said}");
}

#[test]
fn a_message_that_the_store_knows_nothing_of_holds_for_a_minute() {
    for opening in [0, 7_777] {
        let mut world = World::of(1);
        let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
        let closed = SEC * 3_000;
        link.told(world.moment(), GatePush { opening, closed });
        assert!(!world.is_open(0));
        let after = goes_after(&mut world, 0, SEC * 130);
        assert!((SEC * 50..SEC * 125).contains(&after), "{after:?}");
        world.pass(SEC * 5);
        assert!(world.is_open(0), "{opening}");
    }
}

#[test]
fn a_store_that_is_in_a_later_opening_ends_the_pause() {
    let mut world = World::of(1);
    world.refuse(0, SEC);
    let mut waits = newcomers(&mut world, &[0]);
    assert!(world.play(&mut waits, SEC * 60)[0].is_some());
    let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
    let closed = SEC * 3_000;
    link.told(world.moment(), GatePush { opening: 0, closed });
    assert!(!world.is_open(0));
    let after = goes_after(&mut world, 0, SEC * 130);
    assert!(after < SEC * 65, "{after:?}");
}

/// The answer of a store that is closed until so long from now on.
fn closed_for(world: &World, pause: u64) -> GateAnswer {
    let mut store = Store::new();
    store.now += u64::try_from(world.clock.now().as_micros()).unwrap();
    store.refuse(pause)
}

#[test]
fn a_field_that_was_put_right_holds_for_a_minute_more() {
    for right in [None, Some(5 * SECOND)] {
        let mut world = World::of(1);
        let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
        let answer = closed_for(&world, 3_000 * SECOND);
        link.answered(world.moment(), Some(answer));
        assert!(!world.is_open(0));
        if let Some(pause) = right {
            let answer = closed_for(&world, pause);
            link.answered(world.moment(), Some(answer));
        }
        let after = goes_after(&mut world, 0, SEC * 130);
        assert!(after < SEC * 125, "{right:?}: {after:?}");
    }
}

#[test]
fn a_pause_whose_end_the_store_does_not_see_is_asked_for_slowly() {
    let mut world = World::of(1);
    world.loses_driver(0);
    let link = world.processes[0].joined.0.lock().unwrap()[0].2.clone();
    let mut over = closed_for(&world, SECOND);
    over.until = over.now;
    link.answered(world.moment(), Some(over));
    let mut commands = 0;
    for _ in 0..1_000 {
        if matches!(
            link.next(world.moment(), Waker::noop()),
            NextWords::Command(_)
        ) {
            commands += 1;
            link.answered(world.moment(), Some(over));
        }
        world.clock.advance(MILLI);
    }
    assert!((10..=101).contains(&commands), "{commands}");
}

#[test]
fn no_word_of_the_store_is_further_off_than_an_hour() {
    let answer = closed_for(&World::of(1), SECOND);
    let hour = 3_600 * SECOND;
    let numbers = numbers_of(&answer);
    assert_eq!(GateAnswer::of(&numbers), Some(answer));
    // The places of `until`, `from`, `round` and `reset`.
    let far = [2, 6, 7, 11].iter().fold(numbers, |mut numbers, at| {
        numbers[*at] = i64::try_from(MOST).unwrap();
        numbers
    });
    let far = GateAnswer::of(&far).unwrap();
    assert_eq!(far.until, far.now + hour);
    assert_eq!(far.reset, far.now + hour);
    assert!(far.release.due(0) <= far.now + 60 * SECOND);
    assert!(far.release.due(100) <= far.now + hour);
    let push = GatePush::of("3:9007199254740991").unwrap();
    assert_eq!(push.closed, Duration::from_secs(3_600));
}

#[test]
fn an_answer_of_another_length_is_none() {
    let numbers = numbers_of(&closed_for(&World::of(1), SECOND));
    assert_eq!(GateAnswer::of(&numbers[..13]), None);
    let longer: Vec<i64> = numbers.into_iter().chain([0]).collect();
    assert_eq!(GateAnswer::of(&longer), None);
}
