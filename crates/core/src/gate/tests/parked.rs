//! Waiters that are not polled: each delays the others by a tenth of a second, once.

use super::tokio_clock::{Tokio, wait_at_once};
use super::*;
use crate::gate::ext::GateExt;
use futures_util::future::{join_all, poll_fn};
use std::ops::Range;

/// Returns the time at which the last of 100 waiters goes after a cooldown of a second. Those that are parked are
/// polled once and never again.
async fn last(parked: Range<usize>) -> Duration {
    let (gate, runtime): (_, Arc<dyn Runtime>) = (Gate::new(), Arc::new(Tokio));
    for _ in 0..100 {
        wait_at_once(&gate, &runtime).succeeded(None);
    }
    let calls = [(); 4].map(|()| wait_at_once(&gate, &runtime));
    calls
        .into_iter()
        .for_each(|call| call.refused(Some(SECOND), None));
    let started = runtime.now();
    let waits = (0..100).map(|number| {
        let (gate, runtime, parked) =
            (gate.clone(), Arc::clone(&runtime), parked.contains(&number));
        async move {
            let ask = ask(&gate, "a", CallKind::Retry);
            let mut wait = wait(&gate, ask, &runtime);
            if parked {
                poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx).is_pending())).await;
                runtime.sleep(SECOND * 100).await;
            }
            wait.await.admission.unwrap().succeeded(None);
            if parked {
                Duration::ZERO
            } else {
                runtime.now().saturating_sub(started)
            }
        }
    });
    let went = join_all(waits.map(tokio::spawn)).await;
    went.into_iter().map(Result::unwrap).max().unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_parked_waiter_costs_a_tenth_of_a_second_once() {
    let none = last(0..0).await;
    for parked in [0..1, 99..100, 0..5, 40..45, 93..98, 0..99] {
        let most = none + MILLI * 102 * u32::try_from(parked.len()).unwrap();
        let took = last(parked.clone()).await;
        assert!(took <= most, "{parked:?}: {took:?} for {none:?}");
    }
}

#[test]
fn an_unused_permit_is_void_after_the_next_cooldown() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    let mut waits: Vec<_> = (0..2).map(|_| Some(scene.waiter())).collect();
    scene.play(&mut waits, Duration::ZERO);
    let mut asleep = [waits[0].take()];
    let went = scene.play(&mut waits, SECOND * 10);
    assert!(went[1] > Some(SECOND));
    scene.clock.advance(SECOND * 10);
    scene.refuse("a", SECOND * 30);
    let until = scene.clock.now() + SECOND * 30;
    assert_eq!(scene.play(&mut asleep, SECOND), [None]);
    assert!(scene.play(&mut asleep, SECOND * 40)[0] >= Some(until));
}

#[test]
fn a_dropped_permit_is_no_longer_in_flight() {
    let scene = Scene::new();
    scene.refuse("a", SECOND);
    let mut waits: Vec<_> = (0..2).map(|_| Some(scene.waiter())).collect();
    scene.play(&mut waits, Duration::ZERO);
    let asleep = waits[0].take();
    scene.play(&mut waits, SECOND * 10);
    drop(asleep);
    scene.clock.advance(SECOND * 10);
    assert!(scene.is_open("a"));
    let slot = scene.gate.0.map.find(scene.gate.key("a", None)).unwrap();
    assert!(
        slot.counters.unused_since().is_some(),
        "nothing is in flight"
    );
}

#[test]
fn a_parked_first_waiter_delays_no_one_who_waits_for_a_quota() {
    let quota = |remaining| quota(remaining, SECOND * 60);
    let scene = Scene::new();
    let busy = [(); 5].map(|()| scene.go("a"));
    scene.go("a").succeeded(quota(5));
    let mut waits: Vec<_> = (0..8).map(|_| Some(scene.waiter())).collect();
    scene.play(&mut waits, MILLI);
    let asleep: Vec<_> = waits[..3].iter_mut().map(Option::take).collect();
    waits.truncate(5);
    for call in busy {
        call.succeeded(quota(8));
    }
    let went = scene.play(&mut waits, SECOND * 2);
    let late = went[3..].iter().all(|went| *went <= Some(MILLI * 310));
    assert!(late && went[3..].iter().all(Option::is_some), "{went:?}");
    drop(asleep);
}
