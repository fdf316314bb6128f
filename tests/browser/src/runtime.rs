//! The browser's clocks, timers and randomness.

use crate::Outcome;
use crate::calls::{holds, same, wait};
use http_retry::runtime::{BrowserRuntime, Runtime, within};
use std::collections::BTreeSet;
use std::future::ready;
use std::time::Duration;

pub(crate) async fn a_wait_lasts_as_long_as_it_was_asked_to() -> Outcome {
    for millis in [0, 1, 30, 120] {
        let before = BrowserRuntime.now();
        wait(millis).await;
        let took = BrowserRuntime.now().saturating_sub(before);
        holds(took >= Duration::from_millis(millis), took)?;
        holds(took < Duration::from_secs(20), took)?;
    }
    Ok(())
}

/// `setTimeout` takes a wait of more than 24 days for none.
pub(crate) async fn the_longest_wait_never_ends() -> Outcome {
    for long in [Duration::from_secs(60 * 86_400), Duration::MAX] {
        let shorter = BrowserRuntime.sleep(Duration::from_millis(50));
        let ended = within(shorter, BrowserRuntime.sleep(long)).await;
        holds(ended.is_none(), long)?;
    }
    let at_once = within(BrowserRuntime.sleep(Duration::MAX), ready(1)).await;
    same(at_once, Some(1))
}

pub(crate) async fn random_numbers_and_keys_differ() -> Outcome {
    let numbers: BTreeSet<u64> = (0..100).map(|_| BrowserRuntime.moment().random).collect();
    let keys: BTreeSet<u128> = (0..100).map(|_| BrowserRuntime.key_entropy()).collect();
    same((numbers.len(), keys.len()), (100, 100))
}

pub(crate) async fn the_wall_clock_is_right() -> Outcome {
    let wall = BrowserRuntime.moment().wall;
    // 2026 to 2100.
    holds(
        (1_767_225_600..4_102_444_800).contains(&wall.as_secs()),
        wall,
    )
}
