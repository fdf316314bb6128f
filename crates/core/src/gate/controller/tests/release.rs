//! The paced release after a cooldown, and its search for a pace.

use super::*;

#[test]
fn a_release_finds_the_pace_of_a_server_and_keeps_near_it() {
    let mut scene = Scene::new();
    scene.cool_down();
    let interval = 20 * MILLISECOND;
    scene.play(interval, NONE, 20 * SECOND);
    let (taken, refused) = scene.play(interval, NONE, 60 * SECOND);
    assert!(taken >= 2_400, "{taken} of 3,000, {refused} refused");
    assert!(refused <= taken / 2, "{refused} refused, {taken} taken");
}

#[test]
fn a_release_begins_at_the_recent_pace() {
    let mut scene = Scene::new();
    scene.succeed_each(100 * MILLISECOND, 36_000);
    scene.cool_down();
    assert_eq!(scene.next(), NextTurn::First);
    scene.goes(false, true);
    let NextTurn::At(due) = scene.next() else {
        panic!("all go at once");
    };
    assert!(due - scene.now >= 20 * MILLISECOND, "{}", due - scene.now);
}

#[test]
fn the_pace_doubles_after_each_clean_round() {
    let mut scene = Scene::new();
    scene.succeed_each(400 * MILLISECOND, 20);
    assert_eq!(scene.cool_down(), ROUND);
    let first = scene.round(NONE);
    for times in [2, 4, 8] {
        assert_eq!(scene.round(NONE), first / times);
    }
}

#[test]
fn the_pace_is_searched_between_a_clean_and_a_refused_one() {
    let mut scene = Scene::new();
    scene.succeed_each(400 * MILLISECOND, 20);
    scene.cool_down();
    let first = scene.round(NONE);
    assert_eq!(scene.round(NONE), first / 2);
    let refused = first / 4;
    assert_eq!(scene.round(2), refused);
    // Back to the last clean pace, and then half way to the refused one.
    let mut clean = first / 2;
    assert_eq!(scene.round(NONE), clean);
    for _ in 0..3 {
        clean = clean * refused * 2 / (clean + refused);
        assert_eq!(scene.round(NONE), clean);
    }
    // The two differ by less than a tenth: one more round at this pace, and then faster again.
    assert!(clean - refused < refused / 10);
    assert_eq!(scene.round(NONE), clean);
    assert_eq!(scene.round(NONE), clean / 2);
}

#[test]
fn a_release_after_a_refused_one_begins_at_the_last_clean_pace() {
    let mut scene = Scene::new();
    scene.succeed_each(400 * MILLISECOND, 20);
    scene.cool_down();
    let first = scene.round(NONE);
    assert_eq!(scene.round(NONE), first / 2);
    assert_eq!(scene.round(2), first / 4);
    let clean = scene.round(NONE);
    assert_eq!(clean, first / 2);
    // Refused while it searches a faster pace: all successes together came faster than one clean round.
    scene.cool_down();
    assert_eq!(scene.round(NONE), clean);
}

#[test]
fn a_first_pace_that_is_refused_at_most_halves() {
    let released = || {
        let mut scene = Scene::new();
        scene.succeed_each(50 * MILLISECOND, 200);
        scene.cool_down();
        scene
    };
    let first = released().round(NONE);
    let mut scene = released();
    assert_eq!(scene.next(), NextTurn::First);
    // One success in the round, which would be a pace of one call per round.
    let (good, bad) = (scene.goes(false, true), scene.goes(false, true));
    scene.is_refused(bad, false);
    scene.succeed_at_last(good);
    scene.now += ROUND;
    assert_eq!(scene.round(NONE), 2 * first);
}

#[test]
fn a_lifted_refusal_leaves_its_round_clean() {
    let released = || {
        let mut scene = Scene::new();
        scene.succeed_each(400 * MILLISECOND, 20);
        scene.cool_down();
        assert_eq!(scene.next(), NextTurn::First);
        scene
    };
    let first = released().round(NONE);

    let mut scene = released();
    let (held, _) = scene.hold(ASKED);
    scene.lift(held);
    scene.now += ROUND;
    assert_eq!(scene.round(NONE), first / 2);
}

#[test]
fn a_stray_refusal_does_not_slow_a_release() {
    let mut scene = Scene::new();
    scene.succeed_each(10 * MILLISECOND, 100);
    scene.cool_down();
    let seconds = (0..30).map(|_| scene.play(MILLISECOND, 32, SECOND));
    let calls: Vec<u64> = seconds.map(|(taken, refused)| taken + refused).collect();
    assert!(calls.last() >= Some(&500), "{calls:?}");
}

#[test]
fn a_release_is_over_after_a_round_that_held_no_call_up() {
    let mut scene = Scene::new();
    scene.cool_down();
    // The first round is for the calls that the cooldown held up.
    for _ in 0..2 {
        assert_eq!(scene.next(), NextTurn::First);
        let permit = scene.go();
        scene.succeed_at_last(permit);
        scene.now += ROUND;
    }
    scene.controller.line_is_empty(scene.now);
    assert!(scene.controller.is_idle());
}

#[test]
fn a_release_is_over_once_nobody_waits() {
    let mut scene = Scene::new();
    scene.cool_down();
    assert_eq!(scene.next(), NextTurn::First);
    let lone = scene.go();
    scene.succeed(lone);
    scene.now += 10 * SECOND;
    scene.controller.line_is_empty(scene.now);
    assert!(scene.controller.is_idle());
}
