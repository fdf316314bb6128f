//! Conditions in the tables of a service: on one response, without a policy and its rules.

use super::{Condition, Test};
use http_retry_core::Outcome;
use http_retry_core::policy::{ErrorBody, Pointer};
use http_retry_core::rules::{BodyView, ConditionInput, Predicate};
use std::fmt;
use std::sync::Arc;

impl Condition {
    /// Returns `Some(true)` if a response meets the condition, and `None` if that is undecided (see [`BodyView`]).
    ///
    /// Conditions on the number of the attempt and on idempotence never hold here. Those on the class
    /// ([`success`](Self::success), [`failure`](Self::failure), [`retryable`](Self::retryable)) look at the class that
    /// the outcome has already. [`is_about_calls`](Self::is_about_calls) finds them all.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use http_retry::Outcome;
    /// use http_retry::policy::ErrorBody;
    /// use http_retry::rules::Condition;
    /// use http_retry_core::rules::BodyView;
    ///
    /// let locked = Condition::status([409])?.and(Condition::message("locked")?);
    /// let headers = HeaderMap::new();
    /// let response = Outcome::response(StatusCode::CONFLICT, &headers);
    /// assert_eq!(locked.matches(&response, BodyView::Head), None);
    /// let body = ErrorBody::read(b"the record is locked");
    /// assert_eq!(locked.matches(&response.with_body(&body), BodyView::Body), Some(true));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn matches(&self, outcome: &Outcome<'_>, view: BodyView) -> Option<bool> {
        self.holds(&ConditionInput::new(outcome, view))
    }

    /// Holds if this function returns `true` for a response whose body has been read; `name` is for `Debug`. It must
    /// not panic.
    ///
    /// ```
    /// use http_retry::rules::Condition;
    ///
    /// let shouts = Condition::function("shouts", |_, body| body.text().ends_with('!'));
    /// ```
    pub fn function(
        name: &'static str,
        holds: impl Fn(&Outcome<'_>, &ErrorBody) -> bool + Send + Sync + 'static,
    ) -> Self {
        let holds = Arc::new(holds);
        Self::of(Test::Function(Function { name, holds }))
    }

    /// Returns the conditions that [`and`](Self::and) has joined, each on its own.
    pub fn parts(&self) -> impl Iterator<Item = Self> {
        self.0.iter().cloned().map(Self::of)
    }

    /// Returns the locations in a JSON body that it looks at.
    #[must_use]
    pub fn pointers(&self) -> Vec<Pointer> {
        let tests = self.tests().into_iter();
        let pointers = tests.filter_map(|test| match test {
            #[cfg(feature = "json")]
            Test::Json { pointer, .. } => Some(pointer.clone()),
            _ => None,
        });
        pointers.collect()
    }

    /// Returns `true` if it looks at the body.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        self.tests().into_iter().any(|test| match test {
            #[cfg(feature = "json")]
            Test::Json { .. } | Test::Code(_) => true,
            Test::Xml { .. } | Test::Message(_) | Test::Function(_) => true,
            _ => false,
        })
    }

    /// Returns `true` if it asks for a status that is a success, 100 to 399.
    #[must_use]
    pub fn tests_success_status(&self) -> bool {
        self.0.iter().any(|test| match test {
            // As by the standard table of statuses.
            Test::Status(ranges) => ranges.iter().any(|range| *range.start() < 400),
            _ => false,
        })
    }

    /// Returns `true` if it looks at more than a response: at the number of the attempt, at idempotence, at an error
    /// without a response, or at the class of the outcome.
    #[must_use]
    pub fn is_about_calls(&self) -> bool {
        self.tests().into_iter().any(|test| {
            matches!(
                test,
                Test::Attempt(_)
                    | Test::Retryable(_)
                    | Test::Idempotent(_)
                    | Test::Success(_)
                    | Test::Error(_)
            )
        })
    }

    /// Returns its tests at any depth, without those that join others.
    fn tests(&self) -> Vec<&Test> {
        let (mut tests, mut pending) = (Vec::new(), vec![self]);
        while let Some(condition) = pending.pop() {
            for test in condition.0.iter() {
                match test {
                    Test::Any(conditions) | Test::All(conditions) => pending.extend(conditions),
                    Test::Not(condition) => pending.push(condition),
                    test => tests.push(test),
                }
            }
        }
        tests
    }
}

/// A function as a test, with its name.
#[derive(Clone)]
pub(crate) struct Function {
    name: &'static str,
    pub(super) holds: Arc<Holds>,
}

type Holds = dyn Fn(&Outcome<'_>, &ErrorBody) -> bool + Send + Sync;

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        // Closures have no equality: two are equal if one is a clone of the other.
        Arc::ptr_eq(&self.holds, &other.holds)
    }
}

impl Eq for Function {}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
