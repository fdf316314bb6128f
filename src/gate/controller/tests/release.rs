//! How those who waited go after a pause.

use super::*;

#[test]
fn an_empty_line_ends_the_release() {
    let mut scene = Scene::new();
    let [call] = scene.send();
    scene.refuse(call, SECOND);
    scene.open();
    scene.gate.sends();
    scene.gate.sends();
    assert!(scene.gate.next(scene.now, 0).is_err());
    scene.gate.sends();
    scene.gate.line_is_empty();
    assert_eq!(scene.gate.next(scene.now, 0), Ok(()));
}

#[test]
fn the_rate_is_found_from_one_cycle_and_never_halved_twice() {
    let mut scene = Scene::new();
    for call in scene.send::<50>() {
        scene.succeed(call);
    }
    let [refused] = scene.send();
    scene.now = 4 * SECOND;
    scene.refuse(refused, SECOND);
    scene.open();
    assert_eq!(scene.gate.each, 4 * SECOND / 50, "reach, of 50 calls");
    let release = scene.gate.release.unwrap();
    assert_eq!(
        (release.round, release.first, release.group),
        (4 * SECOND, 50, 4)
    );
    let [call] = scene.send();
    scene.refuse(call, SECOND);
    scene.open();
    assert_eq!(
        scene.gate.each,
        8 * SECOND / 50,
        "no more than twice the last"
    );
}

#[test]
fn the_head_of_a_release_may_go_ahead_of_the_others() {
    let mut gate = Controller::new(0, true);
    let call = gate.sends();
    gate.refused(0, call, Some(SECOND), None);
    assert_eq!(gate.next(SECOND, 0), Ok(()));
    gate.sends();
    let due = gate.next(SECOND, 0).unwrap_err();
    assert_eq!(due, SECOND + 100 * MILLISECOND);
}

#[test]
fn the_rate_of_a_release_doubles_from_round_to_round() {
    let release = Release {
        from: SECOND,
        round: SECOND,
        first: 100,
        group: 1,
        head_start: false,
        gone: 0,
    };
    let due: Vec<_> = (0..3_100).map(|call| release.due(call)).collect();
    let gone = [2, 3, 4, 5].map(|n| due.iter().filter(|due| **due < n * SECOND).count());
    assert_eq!(gone, [100, 300, 700, 1_500]);
}
