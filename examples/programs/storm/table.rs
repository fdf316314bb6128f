//! The table: of each number the worst that any world has shown, or the mean where nothing is asked of it.

use http_retry_lab::scenarios::Scenario;
use http_retry_lab::verdict::{Bound, Measure, Row};
use std::collections::BTreeSet;
use std::fmt;

/// The names of the columns.
pub(crate) const HEAD: &str = "case                      who                               what                                    worst or mean";

/// The part of the table that is about one scenario.
#[derive(Debug)]
pub(crate) struct Table {
    id: &'static str,
    title: &'static str,
    lines: Vec<Line>,
}

/// One number of one contender, in all worlds.
#[derive(Debug)]
struct Line {
    case: &'static str,
    contender: &'static str,
    what: &'static str,
    /// Each with its bound, which may be another in another world.
    values: Vec<(f64, Bound)>,
}

impl Table {
    pub(crate) fn of(scenario: &Scenario, rows: &[Row]) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        let measures = rows
            .iter()
            .flat_map(|row| row.measures.iter().map(move |measure| (row, measure)));
        for (row, measure) in measures {
            let value = (measure.value, measure.bound);
            match lines.iter_mut().find(|line| line.is_about(row, measure)) {
                Some(line) => line.values.push(value),
                None => lines.push(Line {
                    case: row.scenario,
                    contender: row.contender,
                    what: measure.name,
                    values: vec![value],
                }),
            }
        }
        let mut cases: Vec<_> = lines.iter().map(|line| line.case).collect();
        let mut seen = BTreeSet::new();
        cases.retain(|case| seen.insert(*case));
        lines.sort_by_key(|line| cases.iter().position(|case| *case == line.case));
        Self {
            id: scenario.id,
            title: scenario.title,
            lines,
        }
    }

    /// How many bounds do not hold.
    pub(crate) fn broken(&self) -> usize {
        let worst = self.lines.iter().map(Line::worst);
        worst.filter(|(value, bound)| !bound.holds(*value)).count()
    }
}

impl Line {
    fn is_about(&self, row: &Row, measure: &Measure) -> bool {
        (self.case, self.contender, self.what) == (row.scenario, row.contender, measure.name)
    }

    fn worst(&self) -> (f64, Bound) {
        let mean =
            self.values.iter().map(|(value, _)| value).sum::<f64>() / self.values.len() as f64;
        let bounded = self
            .values
            .iter()
            .filter(|(_, bound)| *bound != Bound::None);
        let worst = bounded.min_by(|one, other| room(one).total_cmp(&room(other)));
        worst.copied().unwrap_or((mean, Bound::None))
    }
}

/// How far a value is from breaking its bound.
fn room((value, bound): &(f64, Bound)) -> f64 {
    match bound {
        Bound::AtMost(most) => most - value,
        Bound::AtLeast(least) => value - least,
        Bound::None => f64::INFINITY,
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}. {}", self.id, self.title)?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, bound) = self.worst();
        write!(
            f,
            "{:<25} {:<33} {:<38} {value:>10.4}",
            self.case, self.contender, self.what
        )?;
        match bound {
            Bound::AtMost(most) => write!(f, "  at most  {most:>9.4}")?,
            Bound::AtLeast(least) => write!(f, "  at least {least:>9.4}")?,
            Bound::None => return Ok(()),
        }
        f.write_str(if bound.holds(value) {
            "  holds"
        } else {
            "  DOES NOT HOLD"
        })
    }
}
