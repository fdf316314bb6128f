//! Successes that contradict a refusal, and the credit that they give.

use super::*;

#[test]
fn a_success_sent_before_the_refused_call_contradicts_nothing() {
    let mut scene = Scene::new();
    let [early, refused] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(early);
    assert_eq!(scene.pause(), Some(SECOND));
}

#[test]
fn one_of_two_contradicts_only_with_a_second_or_the_last() {
    let mut scene = Scene::new();
    let [refused, a, b, c, d] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    scene.refuse(b, SECOND);
    assert_eq!((scene.gate.witnesses.later, scene.gate.closed), (2, true));
    scene.succeed(c);
    assert!(scene.gate.closed, "two of four, and one is out");
    scene.succeed(d);
    assert!(!scene.gate.closed, "the last of them, and three of five");

    let mut scene = Scene::new();
    let [refused, a, b, _out] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    assert!(scene.gate.closed);
    scene.succeed(b);
    assert!(!scene.gate.closed, "two for one");
}

#[test]
fn a_contradiction_neither_finds_a_rate_nor_voids_tickets() {
    let mut scene = Scene::new();
    let [first] = scene.send();
    scene.refuse(first, SECOND);
    scene.open();
    let (each, from) = (scene.gate.each, scene.gate.release.unwrap().from);
    let [refused, a] = scene.send();
    let gone = scene.gate.release.unwrap().gone;
    scene.now += 7;
    scene.refuse(refused, SECOND);
    scene.now += 500;
    scene.succeed(a);
    assert!(!scene.gate.closed);
    assert_eq!(scene.gate.each, each);
    assert_eq!(scene.gate.release.unwrap().gone, gone);
    assert_eq!((scene.gate.opening, scene.gate.credit), (1, CREDIT));
    assert_eq!(scene.gate.release.unwrap().from, from + 500);
}

#[test]
fn witnesses_that_are_heard_after_the_pause_give_credit_alone() {
    let mut scene = Scene::new();
    let [refused, a, b] = scene.send();
    scene.refuse(refused, SECOND);
    scene.open();
    let [again] = scene.send();
    assert!(again.0 > b.0);
    for slow in [a, b] {
        scene.succeed(slow);
    }
    assert_eq!((scene.gate.credit, scene.gate.opening), (CREDIT, 1));
}

#[test]
fn a_dropped_witness_leaves_the_last_word_to_the_others() {
    let mut scene = Scene::new();
    let [refused, a, b] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    assert!(scene.gate.closed);
    scene.gate.ended(0, b, None);
    assert!(scene.gate.closed, "a drop says nothing by itself");
    assert!(scene.gate.witnesses.later == 0);
}

#[test]
fn a_credit_of_twelve_pays_for_six_refusals() {
    let mut scene = Scene::new();
    let [refused, a, b] = scene.send();
    scene.refuse(refused, SECOND);
    scene.succeed(a);
    scene.succeed(b);
    for paid in scene.send::<6>() {
        scene.refuse(paid, SECOND);
        assert!(!scene.gate.closed);
    }
    let [seventh] = scene.send();
    scene.refuse(seventh, SECOND);
    assert!(scene.gate.closed);
}

#[test]
fn successes_fill_a_credit_that_there_is_up_to_its_most() {
    let mut scene = Scene::new();
    for call in scene.send::<3>() {
        scene.succeed(call);
    }
    assert_eq!(scene.gate.credit, 0);
    scene.gate.credit = 1;
    for call in scene.send::<40>() {
        scene.succeed(call);
    }
    assert_eq!(scene.gate.credit, FULL_CREDIT);
}
