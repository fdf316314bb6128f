//! The budget and the gate of a document during a storm, second by second.

use http_retry::report::{RetryEvent, RetryEventKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The budgets and the gates of all processes, as their observers see them.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The name of the first budget that paid for a call. Others are those of failovers.
    budget: Option<String>,
    /// The tokens that each process has, once a call of it has ended.
    tokens: Vec<Option<f64>>,
    /// The tokens of all processes at the start of each second.
    sampled: Vec<Option<f64>>,
    /// The time from which a call waited at a gate, and that at which it was sent.
    waits: Vec<(Duration, Duration)>,
}

/// The numbers that were seen, by second.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// The tokens in the budgets of all processes; `None` as long as no call has ended, and without a limit.
    pub(super) tokens: Vec<Option<f64>>,
    /// The calls that wait at the gate, on the average of the second.
    pub(super) waiting: Vec<f64>,
}

impl Watch {
    /// An observer for one more process.
    pub(super) fn process(&self) -> impl Fn(&RetryEvent<'_>) + Send + Sync + use<> {
        let watch = self.clone();
        let mut state = self.lock();
        let process = state.tokens.len();
        state.tokens.push(None);
        move |event| watch.lock().note(process, event)
    }

    /// Samples each second that has begun by now.
    pub(super) fn sample(&self, now: Duration) {
        let mut state = self.lock();
        let tokens = state.tokens.iter().flatten().copied();
        let all = tokens.reduce(|one, other| one + other);
        while (state.sampled.len() as u64) <= now.as_secs() {
            state.sampled.push(all);
        }
    }

    /// Returns the numbers of so many seconds.
    pub(super) fn seen(&self, seconds: usize) -> Seen {
        let state = self.lock();
        let mut tokens = state.sampled.clone();
        tokens.resize(seconds, state.sampled.last().copied().flatten());
        let mut waiting = vec![0.0; seconds];
        for (from, to) in &state.waits {
            let first = usize::try_from(from.as_secs()).unwrap_or(usize::MAX);
            for (second, waiting) in waiting.iter_mut().enumerate().skip(first) {
                let (start, end) = (second as f64, second as f64 + 1.0);
                let share = to.as_secs_f64().min(end) - from.as_secs_f64().max(start);
                if share <= 0.0 {
                    break;
                }
                *waiting += share;
            }
        }
        // A thousandth of a call is enough, and the same on every machine.
        for number in waiting.iter_mut().chain(tokens.iter_mut().flatten()) {
            *number = (*number * 1_000.0).round() / 1_000.0;
        }
        Seen { tokens, waiting }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, process: usize, event: &RetryEvent<'_>) {
        match event.kind {
            RetryEventKind::Stopped(report) => {
                let budget = report.budget.as_deref();
                let (Some(budget), Some(tokens)) = (budget, report.tokens_left) else {
                    return;
                };
                let known = self.budget.get_or_insert_with(|| budget.to_owned());
                if let Some(now) = self.tokens.get_mut(process).filter(|_| known == budget) {
                    *now = Some(tokens.micros() as f64 / 1e6);
                }
            }
            RetryEventKind::WaitedAtGate { waited, .. } => {
                self.waits.push((event.at.saturating_sub(waited), event.at));
            }
            _ => {}
        }
    }
}
