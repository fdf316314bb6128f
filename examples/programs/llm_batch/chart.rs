//! Calls per second as bars of text, one column for each run.

use crate::server::Second;
use std::fmt::{self, Write};

/// The longest bar.
const BAR: usize = 20;
/// A column, with the numbers behind its bar.
const COLUMN: usize = BAR + 12;

pub(crate) struct Chart<'a> {
    pub(crate) columns: &'a [(&'a str, Vec<Second>)],
}

impl fmt::Display for Chart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "calls per second: # accepted, x rejected")?;
        write!(f, "   s")?;
        for (name, _) in self.columns {
            write!(f, " | {name:<COLUMN$}")?;
        }
        let seconds = self.columns.iter().map(|(_, seconds)| seconds.len()).max();
        for second in 0..seconds.unwrap_or_default() {
            write!(f, "\n{second:>4}")?;
            for (_, seconds) in self.columns {
                let cell = seconds.get(second).map(|second| self.cell(*second));
                write!(f, " | {:<COLUMN$}", cell.unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

impl Chart<'_> {
    fn cell(&self, second: Second) -> String {
        let most = self.most();
        let (accepted, rejected) = (length(second.accepted, most), length(second.rejected, most));
        let mut cell = "#".repeat(accepted) + &"x".repeat(rejected);
        let _a_string_takes_it = write!(cell, " {}", second.accepted);
        if second.rejected > 0 {
            let _a_string_takes_it = write!(cell, " + {}", second.rejected);
        }
        cell
    }

    /// The calls of the busiest second.
    fn most(&self) -> u32 {
        let seconds = self.columns.iter().flat_map(|(_, seconds)| seconds);
        let calls = seconds.map(|second| second.accepted.saturating_add(second.rejected));
        calls.max().unwrap_or_default()
    }
}

/// Rounded, but one call is seen.
fn length(calls: u32, most: u32) -> usize {
    let [calls, most] = [calls, most].map(|calls| usize::try_from(calls).unwrap_or(usize::MAX));
    let length = calls.saturating_mul(BAR).saturating_add(most / 2);
    let rounded = length.checked_div(most).unwrap_or_default();
    rounded.max(usize::from(calls > 0))
}
