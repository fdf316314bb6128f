//! The numbers of a storm under one kind of retries.

use super::WELL;
use super::watched::Seen;
use crate::report::Table;
use crate::units::short;
use http_retry_lab::run::Series;
use http_retry_lab::storm::{Aftermath, MAX_ATTEMPTS, Storm};
use serde_json::{Value, json};
use std::time::Duration;

/// The numbers of one contender.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    pub(super) name: String,
    pub(super) calls: usize,
    /// The share of calls that succeeded, 0 to 1: of all, and of those that were made in the outage.
    pub(super) success: f64,
    pub(super) success_in_outage: f64,
    /// The attempts at the server per call in the outage.
    pub(super) amplification: f64,
    /// The most attempts at the server in a second, as a multiple of the rate of calls.
    pub(super) peak: f64,
    /// The time from the end of the outage to the last call that did not succeed in time; `None` if that is the end.
    pub(super) recovery: Option<Duration>,
    /// The time after the outage in which calls were made.
    pub(super) watched: Duration,
    /// The attempts that were answered 429.
    pub(super) refused: usize,
    /// The attempts at other hosts.
    pub(super) elsewhere: usize,
    pub(super) longest_call: Duration,
    /// `true` if there were too many attempts to go on.
    pub(super) overrun: bool,
    pub(super) series: Series,
    /// The budget and the gate, if they were watched.
    pub(super) seen: Option<Seen>,
}

impl Numbers {
    pub(super) fn of(name: &str, storm: &Storm, after: &Aftermath) -> Self {
        let run = &after.run;
        let outage = storm.trouble_time();
        let in_outage = run.during(&outage);
        let second = run.most_attempts_in(Duration::from_secs(1));
        let last = run.last_unserved(storm.patience);
        let is_well = !after.overrun && last + WELL.min(storm.after / 2) < storm.end();
        Self {
            name: name.to_owned(),
            calls: run.calls.len(),
            success: run.success(),
            success_in_outage: in_outage.success(),
            amplification: in_outage.attempts_per_call(),
            peak: second as f64 / storm.rate,
            recovery: is_well.then(|| last.saturating_sub(outage.end)),
            watched: storm.after,
            refused: run.refused,
            elsewhere: after.elsewhere,
            longest_call: run.longest_call(),
            overrun: after.overrun,
            series: up_to(storm.end(), run.series()),
            seen: None,
        }
    }

    /// The cells below the titles.
    fn cells(&self) -> [String; 8] {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let recovery = match self.recovery {
            Some(recovery) => short(recovery),
            None if self.overrun => format!("never: {MAX_ATTEMPTS} attempts"),
            None => format!("not in {}", short(self.watched)),
        };
        [
            format!("{:.2}", self.amplification),
            format!("{:.2}", self.peak),
            recovery,
            percent(self.success),
            percent(self.success_in_outage),
            self.refused.to_string(),
            self.elsewhere.to_string(),
            short(self.longest_call),
        ]
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "calls": self.calls,
            "success": self.success,
            "success_in_outage": self.success_in_outage,
            "amplification": self.amplification,
            "peak": self.peak,
            "recovers": self.recovery.is_some(),
            "recovery_s": self.recovery.map(|recovery| recovery.as_secs_f64()),
            "refused": self.refused,
            "attempts_elsewhere": self.elsewhere,
            "longest_call_s": self.longest_call.as_secs_f64(),
            "too_many_attempts": self.overrun,
            "attempts_per_second": self.series.attempts,
            "successes_per_second": self.series.goodput,
            "budget_tokens": self.seen.as_ref().map(|seen| &seen.tokens),
            "waiting_at_the_gate": self.seen.as_ref().map(|seen| &seen.waiting),
        })
    }
}

/// The seconds in which calls are made, without those after.
fn up_to(end: Duration, mut series: Series) -> Series {
    let seconds = usize::try_from(end.as_secs()).unwrap_or(usize::MAX);
    series.attempts.truncate(seconds);
    series.goodput.truncate(seconds);
    series
}

const TITLES: [&str; 8] = [
    "attempts per call in the outage",
    "busiest second, x the rate",
    "well again after",
    "calls that succeed",
    "calls of the outage that succeed",
    "attempts answered 429",
    "attempts at other hosts",
    "longest call",
];

/// A column for each contender, and a row for each number.
pub(super) fn table(all: &[Numbers]) -> Table {
    let names = all.iter().map(|numbers| numbers.name.as_str());
    let head: Vec<&str> = [""].into_iter().chain(names).collect();
    let mut table = Table::new(&head);
    for (title, cells) in rows(all) {
        table.row([title.to_owned()].into_iter().chain(cells));
    }
    table
}

/// The number of each contender, under its title.
pub(super) fn rows(all: &[Numbers]) -> Vec<(&'static str, Vec<String>)> {
    let columns: Vec<[String; 8]> = all.iter().map(Numbers::cells).collect();
    let rows = TITLES.iter().enumerate().map(|(place, title)| {
        let cells = columns.iter().filter_map(|column| column.get(place));
        (*title, cells.cloned().collect())
    });
    rows.collect()
}
