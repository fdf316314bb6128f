//! The tempo of releases: what is tried, and what stays.

use super::super::tempo::Tempo;
use super::super::*;

const EACH: u64 = 10 * MILLISECOND;

/// A tempo after a pause of a second, whose next release is a trial.
fn before_a_trial() -> Tempo {
    let mut tempo = Tempo::default();
    tempo.choose(None, SECOND, &mut EACH.clone());
    assert_eq!(tempo.faster(), None);
    tempo
}

/// The tempo of the next release, where so many calls succeeded in the last four seconds.
fn after(tempo: &mut Tempo, ok: u64, each: &mut u64) -> Option<u64> {
    tempo.choose(Some((ok, 4 * SECOND)), SECOND, each);
    tempo.faster()
}

#[test]
fn a_tempo_that_lets_more_through_stays() {
    let (mut tempo, mut each) = (before_a_trial(), EACH);
    let found = [100, 150, 150, 150].map(|ok| after(&mut tempo, ok, &mut each));
    assert_eq!(found, [Some(4); 4]);
    assert_eq!(
        after(&mut tempo, 150, &mut each),
        None,
        "the slow one is tried"
    );
    assert_eq!(after(&mut tempo, 100, &mut each), Some(4));
}

#[test]
fn a_tempo_that_lets_no_more_through_is_tried_ever_more_seldom() {
    let (mut tempo, mut each) = (before_a_trial(), EACH);
    let mut trials = Vec::new();
    for release in 0..60 {
        if after(&mut tempo, 100, &mut each).is_some() {
            trials.push(release);
        }
    }
    assert_eq!(trials, [0, 7, 20, 45]);
}

#[test]
fn a_lost_trial_leaves_the_rate_as_it_was() {
    let (mut tempo, mut each) = (before_a_trial(), EACH);
    assert!(after(&mut tempo, 100, &mut each).is_some());
    let mut found_in_the_trial = 2 * EACH;
    assert_eq!(after(&mut tempo, 50, &mut found_in_the_trial), None);
    assert_eq!(found_in_the_trial, EACH);
}

#[test]
fn nothing_is_tried_after_other_pauses_or_with_few_calls() {
    for (pause, mut each) in [(SECOND / 2, EACH), (5 * SECOND, EACH), (SECOND, SECOND / 3)] {
        let mut tempo = Tempo::default();
        for _ in 0..20 {
            tempo.choose(Some((100, 4 * SECOND)), pause, &mut each);
            assert_eq!(tempo.faster(), None);
        }
    }
}
