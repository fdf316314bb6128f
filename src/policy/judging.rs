//! How a policy judges outcomes and errors: its own word, its dialects, and the header rules.

use super::meanings::Said;
use super::verdict::RowId;
use super::{Class, IntoVerdict, Meanings, Outcome, Pointer, RetryPolicy, Verdict, header_rules};
use std::any::Any;
use std::error::Error;
use std::sync::Arc;

/// What the user taught the policy about one error type.
#[derive(Clone)]
pub(crate) struct OwnError {
    seen: fn(&dyn Any) -> Option<&(dyn Error + 'static)>,
    judge: ErrorRule,
}

type ErrorRule = Arc<dyn Fn(&(dyn Error + 'static)) -> Option<Verdict> + Send + Sync>;

impl OwnError {
    pub(crate) fn new<E, V>(judge: impl Fn(&E) -> V + Send + Sync + 'static) -> Self
    where
        E: Error + 'static,
        V: IntoVerdict,
    {
        Self {
            seen: |value| value.downcast_ref::<E>().map(|error| error as _),
            judge: Arc::new(move |error| judge(error.downcast_ref::<E>()?).into_verdict()),
        }
    }
}

impl RetryPolicy {
    /// The outcome as this policy judges it: by its own classifier if that has a verdict, else by its dialect and
    /// the header rules ([`RetryPolicyBuilder::header_rules`](crate::RetryPolicyBuilder::header_rules)), of which
    /// `x-should-retry` goes before the dialect, else unchanged.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use http_retry::{Class, Outcome, Reach, RetryPolicy};
    ///
    /// let policy = RetryPolicy::builder()
    ///     .classify(|outcome| {
    ///         let locked = outcome.status() == Some(StatusCode::LOCKED);
    ///         locked.then_some((Class::Transient, Reach::Refused))
    ///     })
    ///     .build()?;
    /// let headers = HeaderMap::new();
    /// let locked = policy.classify(Outcome::response(StatusCode::LOCKED, &headers));
    /// assert_eq!(locked.class(), Class::Transient);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn classify<'a>(&self, outcome: Outcome<'a>) -> Outcome<'a> {
        let own = self.own_verdict(&outcome);
        own.map_or(outcome, |own| outcome.judged(own))
    }

    /// The row of a dialect that has judged an outcome, such as `github[1]`; `None` where none has. The outcome is one that
    /// this policy has [classified](Self::classify).
    #[must_use]
    pub fn row_of(&self, outcome: &Outcome<'_>) -> Option<Arc<str>> {
        let row = outcome.row()?;
        let table = match row.judges {
            true => &self.0.judged,
            false => &self.0.meanings,
        };
        table.as_ref()?.name_of(row)
    }

    /// What says more of an outcome than the standard tables.
    pub(crate) fn own_verdict(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let own = self.0.classify.as_ref();
        let own = || own.and_then(|own| own.classify(outcome));
        let own = verdict_in(&self.0.judged, outcome, true).or_else(own);
        // There is nothing to hand over as a success where there is no response.
        let own = own.filter(|own| own.class != Class::Success || !outcome.is_error());
        own.or_else(|| self.verdict_of_the_service(outcome))
    }

    fn verdict_of_the_service(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let said = verdict_in(&self.0.meanings, outcome, false);
        if !self.0.header_rules {
            return said;
        }
        header_rules::last_word(outcome, said.or_else(|| header_rules::verdict(outcome)))
    }

    /// Whether anything but the standard tables judges an answer that is a success by its status.
    #[inline]
    pub(crate) fn judges_successes(&self) -> bool {
        self.0.judges_successes
    }

    /// Whether the classifier or a table must see the start of the answer's body.
    pub(crate) fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        if outcome.body().is_some() {
            return false;
        }
        let own = self.0.classify.as_ref();
        let tables = [&self.0.judged, &self.0.meanings];
        let mut said = tables
            .into_iter()
            .flatten()
            .map(|table| table.say(outcome, false));
        own.is_some_and(|own| own.reads_body(outcome)) || said.any(|said| said == Said::Unread)
    }

    /// Whether who judges an outcome may ask what request it is about.
    pub(crate) fn asks_for_the_request(&self) -> bool {
        self.0.classify.is_some()
            || self.0.meanings.is_some()
            || self.0.judged.is_some()
            || self.has_rules()
    }

    /// The places of a JSON body that a table looks at.
    pub(crate) fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        let tables = [&self.0.judged, &self.0.meanings];
        let tables = tables.into_iter().flatten();
        tables
            .flat_map(|table| table.pointers(outcome).iter().cloned())
            .collect()
    }

    /// The error behind a value of any type, if the policy was taught that type.
    pub(crate) fn own_error<'a>(&self, value: &'a dyn Any) -> Option<&'a (dyn Error + 'static)> {
        self.0.own_errors.iter().find_map(|own| (own.seen)(value))
    }

    /// What the policy was taught about an error.
    pub(crate) fn judge(&self, error: &(dyn Error + 'static)) -> Option<Verdict> {
        self.0.own_errors.iter().find_map(|own| (own.judge)(error))
    }
}

/// What a table says of an outcome of which nothing more will be read, and whether by a rule.
fn verdict_in(
    table: &Option<Arc<dyn Meanings>>,
    outcome: &Outcome<'_>,
    judges: bool,
) -> Option<Verdict> {
    let Said::This(verdict) = table.as_ref()?.say(outcome, true) else {
        return None;
    };
    let row = verdict.row.map(|row| RowId { judges, ..row });
    Some(Verdict { row, ..verdict })
}
