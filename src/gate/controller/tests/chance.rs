//! Refusals that a pause does not make fewer.

use super::*;

/// Every other call is refused, the first ones after pauses too, until chance reigns.
fn by_chance() -> Scene {
    let mut scene = Scene::new();
    for good in [true, false, false, true].into_iter().cycle().take(40) {
        let [call] = scene.send();
        match good {
            true => scene.succeed(call),
            false => scene.refuse(call, SECOND),
        }
        if scene.gate.chance.reigns() {
            break;
        }
        if scene.gate.closed {
            scene.open();
        }
        scene.now += 10 * SECOND;
    }
    scene
}

#[test]
fn refusals_that_are_as_many_after_pauses_close_nothing() {
    let mut scene = by_chance();
    scene.now += 20 * SECOND;
    assert!(!scene.gate.closed && scene.gate.chance.reigns());
    for _ in 0..5 {
        for (n, call) in scene.send::<20>().into_iter().enumerate() {
            match n % 2 {
                0 => scene.refuse(call, SECOND),
                _ => scene.succeed(call),
            }
            assert_eq!(scene.pause(), None);
        }
    }
    assert!(!scene.gate.is_idle(), "every answer is heard");
}

#[test]
fn refusals_that_a_pause_ends_are_for_everybody() {
    let mut scene = Scene::new();
    for _ in 0..20 {
        // As many are refused, but never the first.
        let [first, refused] = scene.send();
        scene.succeed(first);
        scene.refuse(refused, SECOND);
        assert_eq!(scene.pause(), Some(SECOND));
        scene.open();
        scene.now += 10 * SECOND;
    }
}

#[test]
fn chance_is_over_where_most_are_refused() {
    let mut scene = by_chance();
    scene.now += 20 * SECOND;
    let calls = scene.send::<12>();
    for call in calls {
        scene.refuse(call, SECOND);
    }
    assert!(scene.gate.closed);
}

#[test]
fn chance_is_over_where_few_are_refused() {
    let mut scene = by_chance();
    scene.now += 20 * SECOND;
    for call in scene.send::<64>() {
        scene.succeed(call);
    }
    assert!(!scene.gate.chance.reigns());
    assert_eq!(scene.gate.credit, FULL_CREDIT);
}

#[test]
fn those_who_wait_go_when_chance_is_found() {
    let scene = by_chance();
    let release = scene.gate.release.unwrap();
    assert_eq!((release.due(0), release.round), (scene.now, SECOND));
}
