//! A row of the table: one contender in one scenario, and what must hold for it.

use super::run::Series;

/// What a number must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// It is there to be compared with.
    None,
}

impl Bound {
    pub(crate) fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::None => true,
        }
    }
}

/// A number that was read off a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) bound: Bound,
}

/// One contender in one scenario, in one world.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) scenario: &'static str,
    pub(crate) contender: &'static str,
    pub(crate) measures: Vec<Measure>,
    pub(crate) series: Series,
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
