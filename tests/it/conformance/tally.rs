//! Runs the cases of one file and counts.

use super::Check;
use serde_json::Value;
use std::fmt;
use std::panic::catch_unwind;
use std::path::Path;

/// How many of a file's cases hold, and what is wrong with the others.
pub(super) struct Tally {
    name: String,
    total: usize,
    failures: Vec<String>,
}

impl Tally {
    pub(super) fn of_file(folder: &Path, name: &str, check: Check) -> Self {
        let path = folder.join(format!("{name}.json"));
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::of_text(name, &text, check),
            Err(error) => Self::unread(name, &format!("{}: {error}", path.display())),
        }
    }

    fn of_text(name: &str, text: &str, check: Check) -> Self {
        match serde_json::from_str::<Vec<Value>>(text) {
            Ok(cases) if cases.is_empty() => Self::unread(name, &format!("{name}.json: no cases")),
            Ok(cases) => Self::of_cases(name, &cases, check),
            Err(error) => Self::unread(name, &format!("{name}.json: {error}")),
        }
    }

    fn of_cases(name: &str, cases: &[Value], check: Check) -> Self {
        let failures = cases.iter().enumerate().filter_map(|(index, case)| {
            let wrong = judged(case, check).err()?;
            let id = case["id"].as_str();
            let id = id.map_or_else(|| format!("number {index}, without an id"), str::to_owned);
            Some(format!("{id}: {wrong}"))
        });
        Self {
            name: name.to_owned(),
            total: cases.len(),
            failures: failures.collect(),
        }
    }

    fn unread(name: &str, why: &str) -> Self {
        Self {
            name: name.to_owned(),
            total: 0,
            failures: vec![why.to_owned()],
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A panic is one failed case and not the end of the others.
fn judged(case: &Value, check: Check) -> Result<(), String> {
    catch_unwind(|| check(case)).unwrap_or_else(|_| Err("it panicked".to_owned()))
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, total, .. } = self;
        let holding = total.saturating_sub(self.failures.len());
        write!(f, "{name} {holding}/{total}")?;
        self.failures
            .iter()
            .try_for_each(|failure| write!(f, "\n  {failure}"))
    }
}

mod tests {
    use super::*;

    fn below_two(case: &Value) -> Result<(), String> {
        match case["value"].as_u64() {
            Some(value) if value < 2 => Ok(()),
            Some(value) => Err(format!("wanted less than 2, got {value}")),
            // A panic that prints nothing.
            None => std::panic::resume_unwind(Box::new("no value")),
        }
    }

    fn report(text: &str) -> String {
        Tally::of_text("name", text, below_two).to_string()
    }

    #[test]
    fn every_case_that_fails_is_named_with_what_was_wanted_and_got() {
        let text = r#"[{"id": "a", "value": 1}, {"id": "b", "value": 2}, {"value": 3}]"#;
        assert_eq!(
            report(text),
            "name 1/3\n  b: wanted less than 2, got 2\n  number 2, without an id: wanted less than 2, got 3"
        );
    }

    #[test]
    fn a_case_that_panics_is_one_failure() {
        let text = r#"[{"id": "a"}, {"id": "b", "value": 0}]"#;
        assert_eq!(report(text), "name 1/2\n  a: it panicked");
    }

    #[test]
    fn what_is_no_list_of_cases_does_not_hold() {
        for text in ["[]", "{}", "[", ""] {
            let tally = Tally::of_text("name", text, below_two);
            assert!(!tally.holds(), "{text}");
            assert!(
                tally.to_string().starts_with("name 0/0\n  name.json: "),
                "{text}"
            );
        }
    }
}
