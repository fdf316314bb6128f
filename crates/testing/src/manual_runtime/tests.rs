use super::*;
use futures_util::FutureExt;
use std::collections::BTreeSet;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_wait_moves_both_clocks() {
    let runtime = ManualRuntime::new().with_wall(SECOND * 100);
    runtime.sleep(SECOND * 3).now_or_never().unwrap();
    let moment = runtime.moment();
    assert_eq!((moment.now, moment.wall), (SECOND * 3, SECOND * 103));
}

#[test]
fn a_paused_clock_waits_to_be_moved() {
    let runtime = ManualRuntime::paused();
    let mut sleep = runtime.sleep(SECOND);
    assert!((&mut sleep).now_or_never().is_none());
    runtime.advance(SECOND);
    assert!(sleep.now_or_never().is_some());
}

#[test]
fn randomness_repeats() {
    let draws = |seed| {
        let runtime = ManualRuntime::new().seeded(seed);
        [(); 4].map(|()| runtime.moment().random)
    };
    assert_eq!(draws(7), draws(7));
    assert_ne!(draws(7), draws(8));
}

#[test]
fn keys_follow_from_the_seed_the_runtime_and_the_count() {
    let keys = |number, seed| {
        let mut world = World {
            number,
            seed,
            ..World::default()
        };
        [(); 3].map(|()| world.next_key())
    };
    assert_eq!(keys(1, 7), keys(1, 7));
    let all = [keys(1, 7), keys(2, 7), keys(1, 8)].concat();
    let different: BTreeSet<u128> = all.iter().copied().collect();
    assert_eq!(different.len(), all.len());
}

#[test]
fn a_wait_does_not_pass_the_end_of_an_earlier_one() {
    let runtime = ManualRuntime::new();
    let (mut long, mut short) = (runtime.sleep(SECOND * 8), runtime.sleep(SECOND * 5));
    assert!((&mut long).now_or_never().is_none());
    assert!((&mut short).now_or_never().is_some());
    assert_eq!(runtime.now(), SECOND * 5);
    assert!(long.now_or_never().is_some());
    assert_eq!(runtime.sleeps(), [SECOND * 5, SECOND * 8]);
}

#[test]
fn a_wait_that_nobody_polls_holds_no_other_one_up() {
    let runtime = ManualRuntime::new();
    let _unpolled = runtime.sleep(SECOND);
    drop(runtime.sleep(SECOND * 2));
    let mut long = runtime.sleep(SECOND * 3);
    assert!((&mut long).now_or_never().is_none());
    assert!(long.now_or_never().is_some());
    assert_eq!(runtime.now(), SECOND * 3);
}
