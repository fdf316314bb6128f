//! Conditions on an outcome, as a policy asks them.

use crate::policy::Pointer;
use crate::policy::outcome::Outcome;
use crate::request_head::RequestHead;
use http::Method;
use std::fmt::{self, Display};

/// A condition on the outcome of an attempt, for a [`Rule`](super::Rule), for `retry_on` and for `stop_on`.
///
/// `Condition` of http-retry-rules is one, and so is a function:
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::rules::{ConditionInput, Rule};
///
/// let locked = |input: &ConditionInput<'_>| Some(input.outcome.status().is_some_and(|status| status == 423));
/// let policy = RetryPolicy::builder().rule(Rule::when(locked).stop()).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// It is called in the request's task, and more than once for an outcome: it must be quick, and must not panic.
pub trait Predicate: Send + Sync + 'static {
    /// Returns `true` if the condition holds, and `None` if that depends on parts of the response that have not been
    /// read yet ([`ConditionInput::view`]). The layer then reads the body of a failure, and asks again.
    fn holds(&self, input: &ConditionInput<'_>) -> Option<bool>;

    /// Returns the locations in a JSON body that it looks at, which are then found in one walk. Default none.
    fn pointers(&self) -> Vec<Pointer> {
        Vec::new()
    }

    /// Writes it as [`RetryPolicy::explain`](crate::RetryPolicy::explain) shows it, without secrets. Default `a function`.
    ///
    /// # Errors
    ///
    /// That of the writer.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }

    /// Returns `true` if it holds for every outcome: `build` refuses a rule after one with such a condition. Default
    /// `false`.
    fn is_always(&self) -> bool {
        false
    }

    /// Returns `true` if it may hold for a plain success: an outcome of class [`Class::Success`](crate::Class::Success)
    /// whose status, if it has one, is 100 to 399. Default `true`. A rule whose condition cannot hold for one is not
    /// asked about it, so that it costs a success nothing. Asked once, when the rule is made. Bodies of successes are not
    /// read for rules.
    fn may_hold_for_success(&self) -> bool {
        true
    }

    /// Returns texts of which the path of the request, in its normal form, starts with at least one whenever it holds.
    /// Default none: it may hold for any path. A success is then asked about by fewer rules: only by those with a start of
    /// its path, and by those without any. Asked when the rule is added to a policy.
    fn path_starts(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl<F> Predicate for F
where
    F: Fn(&ConditionInput<'_>) -> Option<bool> + Send + Sync + 'static,
{
    fn holds(&self, input: &ConditionInput<'_>) -> Option<bool> {
        self(input)
    }
}

impl Display for dyn Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)
    }
}

impl fmt::Debug for dyn Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}

/// The input of a [`Predicate`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConditionInput<'a> {
    /// The outcome, as the policy has classified it.
    pub outcome: &'a Outcome<'a>,
    /// The number of the attempt that ended: 1, 2, and so on; 0 if it is not known.
    pub attempt: u32,
    /// The method of the request, or `None` if it is not known.
    pub method: Option<&'a Method>,
    /// `true` if repeating the request does no more harm than sending it once.
    pub idempotent: bool,
    /// The part of the response that is there to decide by.
    pub view: BodyView,
    /// `true` if the bodies of successes may be read; if not, no test of them holds.
    pub reads_successes: bool,
}

impl<'a> ConditionInput<'a> {
    /// Creates the input of a condition on a response alone, without a policy, as the tables of dialects test it: no
    /// attempt has a number, the request is not idempotent, and bodies of successes are read.
    #[must_use]
    pub fn new(outcome: &'a Outcome<'a>, view: BodyView) -> Self {
        Self {
            outcome,
            // Attempts count from 1, so no test of their number holds.
            attempt: 0,
            method: outcome.request().and_then(RequestHead::method),
            idempotent: false,
            view,
            reads_successes: true,
        }
    }
}

/// The part of a response that is there for a [`Predicate`] to decide by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyView {
    /// The head, and the body of a failure if it has been read. It may still be read later, so a test of an unread body
    /// is undecided. A test of the body of a success is always undecided.
    Head,
    /// The head and the body; nothing more will be read. A test of an unread body does not hold. For a success, only a
    /// whole body of JSON or XML counts; without one, a test of it is undecided, even behind a `!`.
    Body,
    /// The same, but a test of a body that is unread, incomplete or ambiguous is undecided, even behind a `!`: for
    /// decisions that must not be wrong, such as that the server has not processed the request.
    Certain,
}

/// Joins tests if all must hold: `false` beats unknown, and unknown beats `true`.
pub fn all_hold(tests: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all_known = true;
    for test in tests {
        match test {
            Some(false) => return Some(false),
            Some(true) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(true)
}

/// Joins tests if one is enough: `true` beats unknown, and unknown beats `false`.
pub fn any_holds(tests: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    // De Morgan's law, which holds with unknown results too.
    all_hold(tests.map(|test| test.map(|holds| !holds))).map(|none| !none)
}

/// The most items of a list that are written.
const MAX_LISTED: usize = 10;

/// Joins items by a word, and says how many more there are if they are many.
#[must_use]
pub fn joined(items: &[impl Display], word: &str) -> String {
    let mut listed: Vec<String> = items
        .iter()
        .take(MAX_LISTED)
        .map(ToString::to_string)
        .collect();
    let more = items.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(word)
}

#[cfg(test)]
pub(crate) mod tests;
