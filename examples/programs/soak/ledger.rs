//! What the server saw of every request, and what the caller was told.

use crate::server::Fault;
use anyhow::{Context, Result, ensure};
use http::Method;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// What the server saw of every request, and what the clients were told.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) seed: u64,
    requests: Vec<Entry>,
    outcomes: Mutex<BTreeMap<String, usize>>,
    pub(crate) faults: Mutex<BTreeMap<Fault, usize>>,
    /// What the server received and nobody can have sent.
    wrong: Mutex<Vec<anyhow::Error>>,
    pub(crate) connections: AtomicU64,
    pub(crate) open: watch::Sender<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) seen: AtomicU32,
    pub(crate) processed: AtomicU32,
    /// How often the caller was told of a success, and of anything.
    succeeded: AtomicU32,
    ended: AtomicU32,
}

impl Ledger {
    pub(crate) fn new(requests: usize, seed: u64) -> Self {
        Self {
            seed,
            requests: (0..requests).map(|_| Entry::default()).collect(),
            outcomes: Mutex::default(),
            faults: Mutex::default(),
            wrong: Mutex::default(),
            connections: AtomicU64::new(0),
            open: watch::Sender::new(0),
        }
    }

    pub(crate) fn entry(&self, number: usize) -> Result<&Entry> {
        let entry = self.requests.get(number);
        entry.with_context(|| format!("nobody sent request {number}"))
    }

    pub(crate) fn ended(&self, number: usize, outcome: String) -> Result<()> {
        let entry = self.entry(number)?;
        entry.ended.fetch_add(1, Relaxed);
        if outcome == SUCCESS {
            entry.succeeded.fetch_add(1, Relaxed);
        }
        count(&self.outcomes, outcome);
        Ok(())
    }

    pub(crate) fn wrong(&self, error: anyhow::Error) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.push(error);
    }

    pub(crate) fn check(&self, spent: u64) -> Result<()> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(wrong.is_empty(), "the server received {wrong:?}");
        for (number, entry) in self.requests.iter().enumerate() {
            entry
                .check(&method(number))
                .with_context(|| format!("request {number}: {entry:?}"))?;
        }
        let attempts = u64::try_from(self.requests.len())?.saturating_add(spent);
        let seen = self.sum(|entry| &entry.seen);
        println!("{attempts} attempts, of which {spent} retries; the server saw {seen}");
        ensure!(seen <= attempts, "the server saw attempts that nobody made");
        let unseen = attempts.saturating_sub(seen);
        let closed = self.connections.load(Relaxed);
        ensure!(unseen <= closed, "more attempts are lost than connections");
        Ok(())
    }

    fn sum(&self, of: impl Fn(&Entry) -> &AtomicU32) -> u64 {
        let all = self.requests.iter();
        all.map(|entry| u64::from(of(entry).load(Relaxed))).sum()
    }
}

impl Entry {
    fn check(&self, method: &Method) -> Result<()> {
        let processed = self.processed.load(Relaxed);
        let succeeded = self.succeeded.load(Relaxed) > 0;
        ensure!(self.ended.load(Relaxed) == 1, "it was lost, or ended twice");
        ensure!(
            processed > 0 || !succeeded,
            "a success that nobody processed"
        );
        let given_up_early = method == Method::GET && self.seen.load(Relaxed) < 3;
        ensure!(succeeded || !given_up_early, "it was given up early");
        ensure!(processed <= 1 || method == Method::GET, "processed twice");
        Ok(())
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        for (fault, count) in faults.iter() {
            writeln!(f, "{count:>8} x {fault:?}")?;
        }
        let outcomes = self.outcomes.lock();
        for (outcome, count) in outcomes.unwrap_or_else(PoisonError::into_inner).iter() {
            writeln!(f, "{count:>8} calls ended with: {outcome}")?;
        }
        let connections = self.connections.load(Relaxed);
        write!(f, "{connections} connections")
    }
}

pub(crate) fn count<K: Ord>(counts: &Mutex<BTreeMap<K, usize>>, key: K) {
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}

pub(crate) const SUCCESS: &str = "success";

/// Every other pair of requests is a POST that must be processed once.
pub(crate) fn method(number: usize) -> Method {
    match number % 4 {
        0 | 1 => Method::GET,
        _ => Method::POST,
    }
}
