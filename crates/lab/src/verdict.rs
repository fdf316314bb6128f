//! Rows of a table: the numbers of one contender in one scenario, and their bounds.

use super::run::Series;

/// A bound of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The number must not be larger.
    AtMost(f64),
    /// The number must not be smaller.
    AtLeast(f64),
    /// The number is for comparison.
    None,
}

impl Bound {
    /// Returns `true` if the value is within the bound.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::None => true,
        }
    }
}

/// A number that was read off a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// The name of the number, with its unit.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// The bound of the number.
    pub bound: Bound,
}

/// One contender in one scenario, in one world.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The scenario, or one of its cases.
    pub scenario: &'static str,
    /// The retry layer.
    pub contender: &'static str,
    /// The numbers of the run.
    pub measures: Vec<Measure>,
    /// The attempts and successes of each second.
    pub series: Series,
}

impl Row {
    pub(crate) fn new(scenario: &'static str, contender: &'static str, series: Series) -> Self {
        Self {
            scenario,
            contender,
            measures: Vec::new(),
            series,
        }
    }

    /// Numbers that were read off a run at another time.
    pub(crate) fn without_series(scenario: &'static str, contender: &'static str) -> Self {
        let series = Series {
            attempts: Vec::new(),
            goodput: Vec::new(),
        };
        Self::new(scenario, contender, series)
    }

    pub(crate) fn measure(self, name: &'static str, value: f64) -> Self {
        self.must(name, value, Bound::None)
    }

    /// Without a bound if that is infinite.
    pub(crate) fn at_most(self, name: &'static str, value: f64, most: f64) -> Self {
        let bound = if most.is_finite() {
            Bound::AtMost(most)
        } else {
            Bound::None
        };
        self.must(name, value, bound)
    }

    pub(crate) fn at_least(self, name: &'static str, value: f64, least: f64) -> Self {
        self.must(name, value, Bound::AtLeast(least))
    }

    fn must(mut self, name: &'static str, value: f64, bound: Bound) -> Self {
        self.measures.push(Measure { name, value, bound });
        self
    }
}
