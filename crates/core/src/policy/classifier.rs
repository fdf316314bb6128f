//! Classifiers, which judge outcomes before the standard tables, and choose the action that follows.
//!
//! A policy has one ordered list of them, [`Classifiers`], which is gone through twice. First for the meaning of an
//! outcome: the first of these that has a verdict gives its class and reach. A wait or a scope that it leaves open is
//! that of the next one that gives it.
//!
//! 1. those of [`RetryPolicyBuilder::classify`](crate::RetryPolicyBuilder::classify) and
//!    [`classifier`](crate::RetryPolicyBuilder::classifier), in the order of the calls;
//! 2. those of [`RetryPolicyBuilder::dialect`](crate::RetryPolicyBuilder::dialect), in the order of the calls, unless a
//!    header rule overrules them;
//! 3. the header rules;
//! 4. the standard tables.
//!
//! Then for the action, where the first [`Rule`] whose condition holds decides; the condition may test the class that
//! the first pass found. Those of [`RetryPolicyBuilder::rule`](crate::RetryPolicyBuilder::rule) come last in the list.
//! If no rule holds, [`RetryPolicyBuilder::otherwise`](crate::RetryPolicyBuilder::otherwise) does.

use super::classify::Class;
use super::outcome::Outcome;
use super::rules::{Action, ConditionInput, DecidedBy, Rule};
use super::verdict::{self, RowId, Verdict};
use super::{IntoVerdict, RetryPolicy};
use crate::error::ConfigError;
use crate::error_body::Pointer;
use crate::policy::outcome::ext::OutcomeExt;
use crate::request_head::RequestHead;
use crate::route::shared_map::SharedMap;
use http::HeaderName;
use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

/// Judges outcomes before the standard tables.
///
/// It is for outcomes that neither a rule ([`rules`](super::rules)) nor a row of a dialect (`Dialect`) can describe. It
/// sees no clock and does no I/O. A closure is a classifier too.
///
/// It runs once for each attempt, and again only once more is known: after the start of the response's body or the error's
/// message has been read, and after an attempt that ran out of time could not be cut and has ended.
///
/// Only [`classify`](Self::classify) is required. The other methods serve rules and a service's own tables: a [`Rule`]
/// and a `Dialect` are classifiers, too.
///
/// ```
/// use http::StatusCode;
/// use http_retry::policy::{Classify, Scope, Verdict};
/// use http_retry::rules::ReadBody;
/// use http_retry::{Class, Outcome, Reach, RetryPolicy};
///
/// struct Ours;
///
/// impl Classify for Ours {
///     fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
///         outcome.status() == Some(StatusCode::CONFLICT)
///     }
///
///     fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
///         let code = outcome.body()?.json("/error/code").next()?;
///         let busy = Verdict::new(Class::Throttled, Reach::Refused).scope(Scope::Account);
///         (code == "busy").then_some(busy)
///     }
/// }
///
/// let policy = RetryPolicy::background().to_builder().classifier(Ours).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait Classify: Send + Sync + 'static {
    /// Returns the verdict on an outcome, or `None` to leave it to the next classifier, which also gives the wait and the
    /// scope if the verdict has none. A [`Class::Success`] for an
    /// error counts as `None`, since there is no response to hand over. It must not panic.
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict>;

    /// Returns `true` if it needs the start of the response's body to judge this outcome. Default `false`.
    ///
    /// The layer then reads up to 64 KiB, for at most 2 s, and [`Outcome::body`] holds what was read; the caller still
    /// gets the whole response. The method is not called if the body has been read already.
    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        let _ = outcome;
        false
    }

    /// Returns `true` if it may judge a response whose status is a success (100 to 399). Default `true`.
    ///
    /// A policy without such a classifier hands successes over without calling any.
    fn judges_successes(&self) -> bool {
        true
    }

    /// Returns the locations in a JSON body that [`classify`](Self::classify) looks at with `ReadBody::json` of
    /// http-retry-rules, so that one walk over the body finds them all. Default none: each lookup
    /// then walks the body on its own.
    fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        let _ = outcome;
        Vec::new()
    }

    /// Returns the name of a row that gave a verdict ([`Verdict::by_row`]), such as `shop[0]`, for reports. Default
    /// `None`.
    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        let _ = row;
        None
    }

    /// Returns the place in a file where a row is written, for the report of a stop that is due to it
    /// ([`RetryReport::stopped_by`](crate::RetryReport::stopped_by)). Default `None`: its name says enough.
    fn row_origin(&self, row: u32) -> Option<Arc<str>> {
        let _ = row;
        None
    }

    /// Returns its rule: an action on outcomes that meet a condition. Default none. A [`Rule`] is a classifier with a
    /// rule and no verdicts.
    ///
    /// Rules are tried after all verdicts, in the order of the classifiers. The first that holds decides, and its
    /// condition may test the class of the outcome. `build` does not check this rule; [`check`](Self::check) does.
    ///
    /// ```
    /// use http_retry::policy::{Classify, Scope, Verdict};
    /// use http_retry::rules::{Condition, Rule};
    /// use http_retry::{Class, Outcome, Reach, RetryPolicy};
    ///
    /// /// A shop that closes with a 423: no call is worth a retry until it opens again.
    /// struct Shop(Rule);
    ///
    /// impl Classify for Shop {
    ///     fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
    ///         let closed = Verdict::new(Class::Throttled, Reach::Refused).scope(Scope::Account);
    ///         (outcome.status()? == 423).then_some(closed)
    ///     }
    ///
    ///     fn rule(&self) -> Option<&Rule> {
    ///         Some(&self.0)
    ///     }
    /// }
    ///
    /// let shop = Shop(Rule::when(Condition::status([423])?).named("closed").stop());
    /// let policy = RetryPolicy::builder().classifier(shop).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    fn rule(&self) -> Option<&Rule> {
        None
    }

    /// Returns the header in which the service takes an idempotency key, besides the usual ones. Default `None`. If
    /// several classifiers return one, the first counts. `build` refuses one that only a client sets, such as
    /// `content-length`.
    fn key_header(&self) -> Option<HeaderName> {
        None
    }

    /// Returns `Some(true)` if idempotency keys that a layer makes are sent in quotes. Default `None`, which counts as
    /// `false`. If several classifiers return a value, the first counts.
    fn quotes_keys(&self) -> Option<bool> {
        None
    }

    /// Returns its lines of [`RetryPolicy::explain`](crate::RetryPolicy::explain). Default none.
    fn describe(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks its settings; [`RetryPolicyBuilder::build`](crate::RetryPolicyBuilder::build) returns the error. Default
    /// `Ok`.
    ///
    /// # Errors
    ///
    /// A setting that cannot work.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

impl<F> Classify for F
where
    F: Fn(&Outcome<'_>) -> Option<Verdict> + Send + Sync + 'static,
{
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self(outcome)
    }
}

/// A shared classifier, such as one that several policies use.
impl Classify for Arc<dyn Classify> {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        (**self).classify(outcome)
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        (**self).reads_body(outcome)
    }

    fn judges_successes(&self) -> bool {
        (**self).judges_successes()
    }

    fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        (**self).pointers(outcome)
    }

    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        (**self).row_name(row)
    }

    fn row_origin(&self, row: u32) -> Option<Arc<str>> {
        (**self).row_origin(row)
    }

    fn rule(&self) -> Option<&Rule> {
        (**self).rule()
    }

    fn key_header(&self) -> Option<HeaderName> {
        (**self).key_header()
    }

    fn quotes_keys(&self) -> Option<bool> {
        (**self).quotes_keys()
    }

    fn describe(&self) -> Vec<String> {
        (**self).describe()
    }

    fn check(&self) -> Result<(), ConfigError> {
        (**self).check()
    }
}

/// The classifiers of a policy, in the order in which they are called: the caller's own, the dialects, the rules.
#[derive(Clone)]
pub(super) struct Classifiers {
    list: Vec<Arc<dyn Classify>>,
    /// The index of the first dialect; no header rule overrules the classifiers before it.
    first_dialect: usize,
    /// The index of the first of the policy's rules.
    first_rule: usize,
    pub(super) header_rules: bool,
    // Derived from the list whenever it changes, so that no request has to walk it.
    rule_count: u32,
    /// The rules that may hold for a plain success, if there are any.
    success_rules: Option<Arc<SuccessRules>>,
    judges_successes: bool,
    /// In a box: few policies have one, and a document may make a policy for each of its rules.
    pub(super) key_header: Option<Box<HeaderName>>,
    pub(super) quotes_keys: bool,
}

/// The indices of the classifiers with a rule that may hold for a plain success, so that a success costs the same beside
/// one rule for another path and beside a thousand.
#[derive(Clone, Default)]
struct SuccessRules {
    /// Those that hold only for paths with one of some starts, under each of these.
    by_start: SharedMap<Vec<usize>>,
    /// The lengths of these starts.
    lengths: Vec<usize>,
    /// Those that may hold for any path.
    others: Vec<usize>,
}

impl SuccessRules {
    fn add(&mut self, index: usize, rule: &Rule) {
        let starts = rule.when.path_starts();
        if starts.is_empty() {
            self.others.push(index);
        }
        for start in starts {
            add_in_order(&mut self.lengths, start.len());
            self.by_start.update(start, |rules| rules.push(index));
        }
    }

    /// Returns the rules that may hold for a path, in the order in which they are tried.
    fn of_path(&self, path: &str) -> Cow<'_, [usize]> {
        let starts = self.lengths.iter().filter_map(|length| path.get(..*length));
        let found = starts.filter_map(|start| self.by_start.get(start));
        let mut rules = Vec::new();
        for rule in found.flatten() {
            add_in_order(&mut rules, *rule);
        }
        if rules.is_empty() {
            return Cow::Borrowed(&self.others);
        }
        for rule in &self.others {
            add_in_order(&mut rules, *rule);
        }
        Cow::Owned(rules)
    }
}

/// Adds a number to those of a list, unless it is among them.
fn add_in_order(list: &mut Vec<usize>, number: usize) {
    if let Err(at) = list.binary_search(&number) {
        list.insert(at, number);
    }
}

impl Default for Classifiers {
    /// Returns the header rules alone.
    fn default() -> Self {
        Self {
            list: Vec::new(),
            first_dialect: 0,
            first_rule: 0,
            header_rules: true,
            rule_count: 0,
            success_rules: None,
            judges_successes: false,
            key_header: None,
            quotes_keys: false,
        }
    }
}

impl Classifiers {
    /// Adds a classifier that no header rule overrules.
    pub(super) fn add(&mut self, classifier: Arc<dyn Classify>) {
        // Before the dialects, whatever the order of the calls.
        self.list.insert(self.first_dialect, classifier);
        self.first_dialect = self.first_dialect.saturating_add(1);
        self.first_rule = self.first_rule.saturating_add(1);
        self.update();
    }

    /// Adds a dialect, which the header rules may overrule.
    pub(super) fn add_dialect(&mut self, dialect: Arc<dyn Classify>) {
        self.list.insert(self.first_rule, dialect);
        self.first_rule = self.first_rule.saturating_add(1);
        self.update();
    }

    /// Adds a rule after the others.
    pub(super) fn add_rule(&mut self, rule: Rule) {
        let index = self.list.len();
        if rule.is_for_successes {
            let rules = self.success_rules.get_or_insert_default();
            Arc::make_mut(rules).add(index, &rule);
        }
        self.list.push(Arc::new(rule));
        self.rule_count = self.rule_count.saturating_add(1);
    }

    fn update(&mut self) {
        self.rule_count = u32::try_from(self.rules().count()).unwrap_or(u32::MAX);
        let mut successes = SuccessRules::default();
        let rules = self.list.iter().map(Classify::rule).enumerate();
        let rules = rules.filter_map(|(index, rule)| Some((index, rule?)));
        let mut rules = rules.filter(|(_, rule)| rule.is_for_successes).peekable();
        let has_any = rules.peek().is_some();
        rules.for_each(|(index, rule)| successes.add(index, rule));
        self.success_rules = has_any.then(|| Arc::new(successes));
        let mut all = self.list.iter();
        self.judges_successes = all.any(Classify::judges_successes);
        self.key_header = self
            .list
            .iter()
            .find_map(Classify::key_header)
            .map(Box::new);
        let quotes = self.list.iter().find_map(Classify::quotes_keys);
        self.quotes_keys = quotes.unwrap_or_default();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns `true` if a rule may hold for a plain success.
    #[inline]
    pub(super) fn has_success_rules(&self) -> bool {
        self.success_rules.is_some()
    }

    /// Returns all rules, in the order in which they are tried.
    pub(super) fn rules(&self) -> impl DoubleEndedIterator<Item = &Rule> {
        self.list.iter().filter_map(Classify::rule)
    }

    /// Returns the number of the rules.
    pub(super) fn rule_count(&self) -> u32 {
        self.rule_count
    }

    /// Returns the rule of the classifier at this index.
    pub(super) fn rule(&self, index: usize) -> Option<&Rule> {
        self.list.get(index)?.rule()
    }

    /// Returns the index of the first classifier whose rule holds, `Some(None)` if none does, and `None` if that depends
    /// on parts that have not been read yet.
    fn first_rule(&self, input: &ConditionInput<'_>) -> Option<Option<usize>> {
        if !input.outcome.is_plain_success() {
            return self.first_of(0..self.list.len(), input);
        }
        let Some(rules) = &self.success_rules else {
            return Some(None);
        };
        let path = input.outcome.request().map(RequestHead::path);
        let rules = rules.of_path(path.unwrap_or_default());
        self.first_of(rules.iter().copied(), input)
    }

    /// Returns the first of these indices whose classifier has a rule that holds, as [`first_rule`](Self::first_rule)
    /// does.
    fn first_of(
        &self,
        indices: impl Iterator<Item = usize>,
        input: &ConditionInput<'_>,
    ) -> Option<Option<usize>> {
        let rules = indices.filter_map(|index| Some((index, self.rule(index)?)));
        for (index, rule) in rules {
            // An undecided rule ends the search: no later rule may decide before it.
            if rule.when.holds(input)? {
                return Some(Some(index));
            }
        }
        Some(None)
    }

    /// Returns the verdict on an outcome, or `None` if no classifier has one. The first that has one gives class and
    /// reach; a wait or a scope that it leaves open is that of the next one that gives it.
    pub(super) fn verdict(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let judging = self.judging().iter().enumerate();
        let mut verdicts = judging.filter_map(|(index, classifier)| {
            let verdict = classifier.classify(outcome);
            // An error has no response to hand over as a success.
            let verdict =
                verdict.filter(|found| found.class != Class::Success || !outcome.is_error());
            Some((index, verdict?))
        });
        let Some((index, first)) = verdicts.next() else {
            let by_headers = self.header_rules.then(|| verdict::by_headers(outcome));
            return by_headers.flatten();
        };
        // The index only finds the row's name for a report, so a list that is too long loses no verdict.
        let first = first.of_classifier(u16::try_from(index).unwrap_or(u16::MAX));
        let first = if self.header_rules && index >= self.first_dialect {
            first.overruled_by_headers(outcome)
        } else {
            first
        };
        // A success is handed over, so that nothing waits for it.
        if first.class == Class::Success {
            return Some(first);
        }
        Some(verdicts.fold(first, |verdict, (_, next)| verdict.completed_by(&next)))
    }

    pub(super) fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        self.judging().iter().any(|one| one.reads_body(outcome))
    }

    /// Returns the classifiers before the policy's rules, which judge nothing.
    fn judging(&self) -> &[Arc<dyn Classify>] {
        self.list.get(..self.first_rule).unwrap_or_default()
    }

    pub(super) fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        let mut pointers = Vec::new();
        for one in &self.list {
            pointers.extend(one.pointers(outcome));
        }
        pointers
    }

    pub(super) fn row_name(&self, row: RowId) -> Option<Arc<str>> {
        self.list
            .get(usize::from(row.classifier))?
            .row_name(row.row)
    }

    /// Returns the place where a row is written, or its name if that is not known.
    pub(super) fn row_place(&self, row: RowId) -> Option<Arc<str>> {
        let classifier = self.list.get(usize::from(row.classifier))?;
        classifier
            .row_origin(row.row)
            .or_else(|| classifier.row_name(row.row))
    }

    /// Returns the lines of [`RetryPolicy::explain`](crate::RetryPolicy::explain).
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let plain = "no header rules: the status alone decides what a response means";
        let plain = (!self.header_rules).then(|| plain.to_owned());
        let rules = self.list.iter().skip(self.first_rule);
        let judging = self.judging().iter().flat_map(Classify::describe);
        judging
            .chain(plain)
            .chain(rules.flat_map(Classify::describe))
    }
}

/// The user's function that judges errors of one type.
#[derive(Clone)]
pub(crate) struct ErrorJudge {
    pub(super) downcast: fn(&dyn Any) -> Option<&(dyn Error + 'static)>,
    pub(super) judge: ErrorRule,
}

type ErrorRule = Arc<dyn Fn(&(dyn Error + 'static)) -> Option<Verdict> + Send + Sync>;

impl ErrorJudge {
    pub(crate) fn new<E, V>(judge: impl Fn(&E) -> V + Send + Sync + 'static) -> Self
    where
        E: Error + 'static,
        V: IntoVerdict,
    {
        Self {
            downcast: |value| value.downcast_ref::<E>().map(|error| error as _),
            // The type is erased, so that one list holds the functions for all error types.
            judge: Arc::new(move |error| judge(error.downcast_ref::<E>()?).into_verdict()),
        }
    }
}

impl RetryPolicy {
    /// Returns the outcome as this policy judges it: by the first classifier that has a verdict, else by its dialects
    /// and the header rules ([`RetryPolicyBuilder::header_rules`](crate::RetryPolicyBuilder::header_rules)), else
    /// unchanged. The header `x-should-retry` overrules a dialect. A wait and a scope that the verdict leaves open are
    /// those of the next classifier or dialect that gives them.
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

    /// Returns the row of a dialect that judged an outcome, such as `github[1]`, or `None` if none did. The outcome
    /// must be one that this policy has [classified](Self::classify).
    #[must_use]
    #[inline]
    pub fn row_of(&self, outcome: &Outcome<'_>) -> Option<Arc<str>> {
        self.0.classifiers.row_name(outcome.row()?)
    }

    /// Returns the verdict of the policy's classifiers and header rules, or `None` if there is none.
    pub(crate) fn own_verdict(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self.0.classifiers.verdict(outcome)
    }

    /// Returns the source of the action on a judged outcome: the first rule that holds, or what the policy does
    /// otherwise. `None` if that depends on parts that have not been read yet.
    pub(in crate::policy) fn decide(&self, input: &ConditionInput<'_>) -> Option<DecidedBy> {
        if !self.has_rules() {
            return Some(DecidedBy::Policy);
        }
        let rule = self.0.classifiers.first_rule(input)?;
        let by = rule.map_or(DecidedBy::Otherwise, DecidedBy::Rule);
        Some(match self.action_of(by) {
            // Whoever leaves an outcome to its class leaves it to the policy.
            Action::Classify => DecidedBy::Policy,
            _ => by,
        })
    }

    /// Returns `true` if a classifier may judge a response whose status is a success.
    #[inline]
    pub(crate) fn judges_successes(&self) -> bool {
        self.0.classifiers.judges_successes
    }

    /// Returns `true` if a classifier must see the start of the response's body.
    pub(crate) fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        outcome.body().is_none() && self.0.classifiers.reads_body(outcome)
    }

    /// Returns `true` if the body of this outcome, which was judged by its head, may make it permanent.
    pub(crate) fn may_be_overruled_by_body(&self, outcome: &Outcome<'_>) -> bool {
        outcome.body().is_none()
            && self.0.classifiers.header_rules
            && matches!(outcome.class(), Class::Transient | Class::Throttled)
            && verdict::may_rule_out_retry(outcome)
    }
}

#[cfg(test)]
mod tests;
