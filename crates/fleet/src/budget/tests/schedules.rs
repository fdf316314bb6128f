//! A fleet on a network that loses, delays and repeats messages: it never spends more than its initial tokens and its
//! earnings.

mod fleet;

use super::numbers::usual;
use super::*;
use fleet::Fleet;

const SCHEDULES: u64 = 20_000;
const STEPS: u64 = 60;
const TOKEN: i64 = 1_000_000;
/// Faults in a thousand commands.
const FAULTS: [u64; 4] = [0, 50, 200, 500];

fn terms() -> StoreTerms {
    StoreTerms {
        capacity: 1_000 * TOKEN,
        growth_ms: 0,
        ..usual()
    }
}

/// Returns the number of schedules that spend more than there was, and the average share that is spent.
fn overspent(schedules: u64, keeps_records: bool) -> (u64, f64) {
    let (mut over, mut reached) = (0, 0.0);
    for schedule in 0..schedules {
        let faults = FAULTS[usize::try_from(schedule % 4).unwrap()];
        let mut fleet = Fleet::new(schedule, faults, keeps_records);
        (0..STEPS).for_each(|_| fleet.step());
        let (used, had) = fleet.balance();
        over += u64::from(used > had);
        reached += used as f64 / had as f64;
    }
    (over, reached / schedules as f64)
}

#[test]
fn no_schedule_of_faults_makes_tokens() {
    let (over, reached) = overspent(SCHEDULES, true);
    assert_eq!(over, 0);
    assert!(reached > 0.9, "{reached}");
}

#[test]
fn without_the_records_faults_make_tokens() {
    let (over, _) = overspent(2_000, false);
    assert!(over > 100, "{over}");
}
