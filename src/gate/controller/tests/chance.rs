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
        if scene.gate.chance.reigns {
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
    assert!(!scene.gate.closed && scene.gate.chance.reigns);
    for _ in 0..5 {
        for (n, call) in scene.send::<20>().into_iter().enumerate() {
            match n % 2 {
                0 => scene.refuse(call, SECOND),
                _ => scene.succeed(call),
            }
            assert_eq!(scene.pause(), None);
        }
    }
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
    let calls = scene.send::<64>();
    for call in calls {
        scene.refuse(call, SECOND);
    }
    assert!(scene.gate.closed && !scene.gate.chance.reigns);
}

#[test]
fn chance_is_over_where_few_are_refused() {
    let mut scene = by_chance();
    scene.now += 20 * SECOND;
    for call in scene.send::<64>() {
        scene.succeed(call);
    }
    let [refused] = scene.send();
    scene.refuse(refused, SECOND);
    assert!(scene.gate.closed && !scene.gate.chance.reigns);
}

#[test]
fn successes_need_no_lock_while_refusals_are_taken_for_chance() {
    let mut scene = by_chance();
    scene.gate.line_is_empty();
    assert!(scene.gate.is_idle());
    scene.gate.catch_up(Idle {
        in_flight: 0,
        ok: scene.gate.ok + 70,
        since: scene.now,
    });
    let [refused] = scene.send();
    scene.refuse(refused, SECOND);
    assert!(!scene.gate.chance.reigns, "they are counted all the same");
}

#[test]
fn those_who_wait_go_when_chance_is_found() {
    let scene = by_chance();
    let release = scene.gate.release.unwrap();
    assert_eq!((release.due(0), release.round), (scene.now, SECOND));
}
