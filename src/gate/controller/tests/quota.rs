//! What is taken of an answer's quota.

use super::*;
use crate::policy::Outcome;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::time::Duration;

fn reset(line: &'static str) -> Duration {
    let mut headers = HeaderMap::new();
    headers.insert("ratelimit", HeaderValue::from_static(line));
    let outcome = Outcome::response(StatusCode::OK, &headers);
    Quota::from(outcome.quota(Duration::ZERO).unwrap()).reset()
}

#[test]
fn a_spent_quota_is_never_back_at_once() {
    assert_eq!(reset("remaining=0, reset=0"), Duration::from_secs(1));
    assert_eq!(reset("remaining=0, reset=2"), Duration::from_secs(2));
    assert_eq!(reset("remaining=1, reset=0"), Duration::ZERO);
}

fn quota(remaining: u64, reset: u64) -> Option<Quota> {
    Some(Quota {
        limit: Some(10),
        remaining,
        reset,
    })
}

#[test]
fn a_wish_goes_before_the_reset_of_its_answer() {
    let mut scene = Scene::new();
    let [call] = scene.send();
    let told = quota(0, 90 * SECOND);
    scene.gate.refused(0, call, Some(5 * SECOND), told);
    assert_eq!(scene.pause(), Some(5 * SECOND));
    scene.open();
    assert_eq!(scene.gate.next(scene.now, 0), Ok(()), "the quota is whole");

    let mut scene = Scene::new();
    let [call] = scene.send();
    scene.gate.refused(0, call, None, told);
    assert_eq!(scene.pause(), Some(90 * SECOND));
}

#[test]
fn no_more_calls_are_in_flight_than_remain() {
    let mut scene = Scene::new();
    let [first] = scene.send();
    scene.gate.succeeded(0, first, quota(3, 10 * SECOND));
    let [a, b, _c] = scene.send();
    assert_eq!(scene.gate.next(0, 0), Err(10 * SECOND));
    scene.gate.succeeded(0, a, quota(2, 10 * SECOND));
    assert_eq!(scene.gate.next(0, 0), Err(10 * SECOND));
    scene.gate.ended(0, b, None);
    assert_eq!(scene.gate.quota.left, 1, "the server may have counted it");
    scene.now = 10 * SECOND;
    assert_eq!(scene.send::<10>().len(), 10);
    assert_eq!(scene.gate.next(scene.now, 0), Err(20 * SECOND));
}

#[test]
fn answers_of_another_turn_say_nothing_of_this_one() {
    let mut scene = Scene::new();
    let [first, old] = scene.send();
    scene.gate.succeeded(0, first, quota(3, SECOND));
    scene.now = SECOND;
    let [new] = scene.send();
    scene.gate.succeeded(SECOND, old, quota(0, SECOND));
    assert_eq!((scene.gate.quota.left, scene.gate.quota.flying), (10, 1));
    scene.gate.succeeded(SECOND, new, None);
    assert!(!scene.gate.quota.known, "there is no quota any more");
}

#[test]
fn a_turn_of_which_nothing_is_heard_lets_one_call_ask() {
    let mut scene = Scene::new();
    let [first] = scene.send();
    scene.gate.succeeded(0, first, quota(1, SECOND));
    scene.now = SECOND;
    for call in scene.send::<10>() {
        scene.gate.ended(SECOND, call, None);
    }
    assert_eq!(scene.gate.quota.left, 1);
}

#[test]
fn a_turn_after_a_pause_is_paced_where_others_use_the_quota() {
    for (ours, paced) in [(5, false), (4, true)] {
        let mut scene = Scene::new();
        for call in scene.send::<10>().into_iter().take(ours) {
            scene.succeed(call);
        }
        let [refused] = scene.send();
        scene.gate.refused(0, refused, None, quota(0, SECOND));
        scene.open();
        assert_eq!(scene.gate.release.is_some(), paced, "{ours} of 10");
    }
}
