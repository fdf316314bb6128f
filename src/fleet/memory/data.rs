//! What a store in memory knows, each part for as long as a server would keep it.

use crate::budget::fleet::{BudgetAnswer, BudgetWords, StoredBucket, StoredRecord, settle};
use crate::fleet::names::{BudgetKeys, GateKeys};
use crate::gate::{GateAnswer, GatePush, GateWords, StoredGate, step};
use std::collections::HashMap;
use std::time::Duration;

#[derive(Clone, Default)]
pub(super) struct Data {
    buckets: Kept<StoredBucket>,
    records: Kept<StoredRecord>,
    gates: Kept<StoredGate>,
}

/// Each value with the time from which on it is forgotten.
type Kept<T> = HashMap<String, (T, Duration)>;

/// How long the scripts keep what no step touches.
const SHARED: Duration = Duration::from_secs(3_600);
const OF_A_PROCESS: Duration = Duration::from_secs(60);

/// A server's clock is far ahead of a process's.
const AHEAD: Duration = Duration::from_secs(1_800_000_000);

impl Data {
    pub(super) fn settle(
        &mut self,
        keys: &BudgetKeys,
        words: &BudgetWords,
        now: Duration,
    ) -> BudgetAnswer {
        let mut bucket = known(&self.buckets, &keys.budget, now);
        let mut record = known(&self.records, &keys.record, now);
        let time = (AHEAD + now).as_millis().try_into().unwrap_or(i64::MAX);
        let answer = settle(&mut bucket, &mut record, words, time);
        keep(&mut self.buckets, &keys.budget, bucket, now + SHARED);
        keep(&mut self.records, &keys.record, record, now + OF_A_PROCESS);
        answer
    }

    pub(super) fn step(
        &mut self,
        keys: &GateKeys,
        words: &GateWords,
        now: Duration,
    ) -> (GateAnswer, Option<GatePush>) {
        let mut gate = known(&self.gates, &keys.gate, now);
        let time = (AHEAD + now).as_micros().try_into().unwrap_or(u64::MAX);
        let answer = step(&mut gate, words, time);
        keep(&mut self.gates, &keys.gate, gate, now + SHARED);
        answer
    }
}

fn known<T: Copy>(kept: &Kept<T>, key: &str, now: Duration) -> Option<T> {
    let (value, until) = kept.get(key)?;
    (now < *until).then_some(*value)
}

fn keep<T>(kept: &mut Kept<T>, key: &str, value: Option<T>, until: Duration) {
    let Some(value) = value else { return };
    match kept.get_mut(key) {
        Some(known) => *known = (value, until),
        None => {
            kept.insert(key.to_owned(), (value, until));
        }
    }
}
