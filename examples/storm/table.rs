//! The table of a scenario: the worst that any world has shown of each number.

use crate::lab::scenarios::Scenario;
use crate::lab::verdict::{Bound, Row};
use std::fmt;

/// The rows of one scenario, each of them over all worlds.
#[derive(Debug)]
pub(crate) struct Table {
    id: &'static str,
    title: &'static str,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    case: &'static str,
    contender: &'static str,
    cells: Vec<Cell>,
}

#[derive(Debug)]
struct Cell {
    name: &'static str,
    worst: f64,
    bound: Bound,
}

impl Table {
    pub(crate) fn of(scenario: &Scenario, rows: &[Row]) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        for row in rows {
            let same =
                |line: &&mut Line| line.case == row.scenario && line.contender == row.contender;
            match lines.iter_mut().find(same) {
                Some(line) => line.also(row),
                None => lines.push(Line::of(row)),
            }
        }
        lines.sort_by_key(|line| line.case);
        Self {
            id: scenario.id,
            title: scenario.title,
            lines,
        }
    }

    /// How many bounds do not hold.
    pub(crate) fn broken(&self) -> usize {
        let cells = self.lines.iter().flat_map(|line| &line.cells);
        cells.filter(|cell| !cell.holds()).count()
    }
}

impl Line {
    fn of(row: &Row) -> Self {
        let cells = row.measures.iter().map(|measure| Cell {
            name: measure.name,
            worst: measure.value,
            bound: measure.bound,
        });
        Self {
            case: row.scenario,
            contender: row.contender,
            cells: cells.collect(),
        }
    }

    fn also(&mut self, row: &Row) {
        for (cell, measure) in self.cells.iter_mut().zip(&row.measures) {
            // The farther from its bound the worse, where each world has a bound of its own.
            let before = room(cell.bound, cell.worst);
            let now = room(measure.bound, measure.value);
            if now < before {
                (cell.worst, cell.bound) = (measure.value, measure.bound);
            }
        }
    }
}

/// How far a value is from breaking its bound; the largest is the worst where there is none.
fn room(bound: Bound, value: f64) -> f64 {
    match bound {
        Bound::AtMost(most) => most - value,
        Bound::AtLeast(least) => value - least,
        Bound::None => -value,
    }
}

impl Cell {
    fn holds(&self) -> bool {
        self.bound.holds(self.worst)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}. {}", self.id, self.title)?;
        for line in &self.lines {
            writeln!(f, "  {:<17} {}", line.case, line.contender)?;
            for cell in &line.cells {
                writeln!(f, "      {cell}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<34} {:>10.4}", self.name, self.worst)?;
        match self.bound {
            Bound::AtMost(most) => write!(f, "   at most  {most:>9.4}")?,
            Bound::AtLeast(least) => write!(f, "   at least {least:>9.4}")?,
            Bound::None => return Ok(()),
        }
        f.write_str(if self.holds() {
            "   holds"
        } else {
            "   DOES NOT HOLD"
        })
    }
}
