//! Conversion of a level's layers to its policy, with the public builder.

use super::builder::Ceiling;
use super::layers::Resolver;
use super::reader::{Spanned, is_written};
use super::retry::{
    CapMode, DialectChoice, ExhaustedAction, Field, Growth, Limit, Retry, deadline, value,
};
use super::value::Value;
use super::values::Word;
use http_retry_core::policy::{Classify, Decimal};
use http_retry_core::rules::{self, Action, CannedResponse};
use http_retry_core::{Backoff, ConfigError, Jitter, RetryPolicy, RetryPolicyBuilder};
use http_retry_dialects::dialect::{Dialect, Dialects};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parts from which the policy of a level, or of a rule that retries, is built.
pub(super) struct LevelParts<'a> {
    pub(super) retry: &'a Retry,
    pub(super) rules: Vec<rules::Rule>,
    /// The rules that classify responses, as rows.
    pub(super) class_rows: Dialect,
    pub(super) otherwise: Option<Action>,
    /// The budget of the level, which its policy need not name.
    pub(super) budget: Option<Arc<str>>,
    /// The origin of each setting.
    pub(super) origins: Vec<Field>,
    /// The services that it fails over to, each with the first path that names it.
    pub(super) failovers: BTreeMap<Arc<str>, Arc<str>>,
}

impl<'a> LevelParts<'a> {
    /// Creates the parts of a level without rules.
    pub(super) fn of(retry: &'a Retry) -> Self {
        Self {
            retry,
            rules: Vec::new(),
            class_rows: Dialect::named("rules"),
            otherwise: None,
            budget: None,
            origins: Vec::new(),
            failovers: BTreeMap::new(),
        }
    }
}

impl Resolver<'_> {
    /// Returns the policy of a level.
    pub(super) fn policy(&self, name: String, level: LevelParts<'_>) -> RetryPolicy {
        let retry = level.retry;
        let builder = self.limits(retry).name(name).backoff(self.backoff(retry));
        self.check_budget(retry);
        self.check_error_types(retry);
        let builder = builder.on_exhausted(self.on_exhausted(retry));
        // Classifiers are asked in the order of these calls: the document's `as` rules, those of code, that of a
        // preset. A dialect follows all of them, whenever it is added.
        let builder = if level.class_rows.is_empty() {
            builder
        } else {
            builder.classifier(level.class_rows)
        };
        let builder = self.with_dialect(builder, retry);
        let builder = self.extended(builder, retry);
        let budget = value(&retry.budget).map(|name| name.0);
        // The budget of a level is passed on as a handle; only a rule with another budget has one to name.
        let budget = budget.filter(|name| Some(name) != level.budget.as_ref());
        let builder = budget
            .into_iter()
            .fold(builder, RetryPolicyBuilder::budget_named);
        let rules = level.rules.into_iter();
        let builder = rules.fold(builder, RetryPolicyBuilder::rule);
        let otherwise = level.otherwise.into_iter();
        let builder = otherwise.fold(builder, RetryPolicyBuilder::otherwise);
        builder
            .origins(level.origins)
            .build()
            .unwrap_or_else(|error| {
                self.refused(retry, &error);
                // Never used: a document with a problem is rejected.
                RetryPolicy::default()
            })
    }

    /// Returns a builder with the numeric limits set.
    fn limits(&self, retry: &Retry) -> RetryPolicyBuilder {
        let limit = value(&retry.max_retries);
        let retries = match (limit, &retry.max_retries) {
            (Some(Limit::Retries(retries)), _) => retries,
            (Some(Limit::Unlimited), Some(given)) => {
                self.check_ends(given, retry);
                u32::MAX
            }
            _ => 0,
        };
        // Only a policy made from `never()` counts as off; one with 0 retries does not.
        let builder = if limit == Some(Limit::Never) {
            RetryPolicy::never().to_builder()
        } else {
            RetryPolicy::builder()
        };
        let builder = retry.set_plain(builder);
        let gated = value(&retry.gate).is_some_and(|gate| gate.wait.is_some());
        // The builder rejects a limit without effect, and a preset's may remain where the level turned its gate off.
        let refused = value(&retry.max_refused).filter(|_| gated && retries > 0);
        builder
            .max_retries(retries)
            .max_refused(refused.map(|refused| refused.0).unwrap_or_default())
    }

    fn with_dialect(&self, builder: RetryPolicyBuilder, retry: &Retry) -> RetryPolicyBuilder {
        let Some(given) = &retry.dialect else {
            return builder;
        };
        match &given.value {
            DialectChoice::Nobody => builder,
            DialectChoice::ByHost => {
                let inspect = value(&retry.inspect_success).unwrap_or_default();
                builder.dialect(Dialects::by_host().inspect_success(inspect))
            }
            DialectChoice::These(names) => {
                let Some(dialect) = self.dialect_of(given, names) else {
                    return builder;
                };
                // `build` would refuse it too, but would not know its path.
                if let Err(error) = dialect.check() {
                    self.wrong(given, format!("{} {}", error.given, error.allowed));
                    return builder;
                }
                builder.dialect(dialect)
            }
        }
    }

    /// Adds the extensions from code, after those that the document names, and those for language models.
    fn extended(&self, builder: RetryPolicyBuilder, retry: &Retry) -> RetryPolicyBuilder {
        let named = value(&retry.classify_error).map_or_else(Vec::new, |names| names.0);
        let named = named
            .iter()
            .filter_map(|name| self.names.error_types.get(&name.0));
        let errors = named.chain(&self.names.errors);
        let builder = errors.fold(builder, |builder, teach| teach(builder));
        let own = self.names.classifiers.iter().cloned();
        let own = own.chain(preset_classifier(retry));
        let builder = own.fold(builder, RetryPolicyBuilder::classifier);
        for_models(builder, retry)
    }

    /// Checks that unlimited retries have a deadline.
    fn check_ends(&self, limit: &Spanned<Limit<0>>, retry: &Retry) {
        if deadline(retry).is_none() {
            let also = no_deadline(retry);
            let cause = format!("unlimited needs a deadline: write deadline: 2m{also}");
            self.wrong(limit, cause);
        }
    }

    fn on_exhausted(&self, retry: &Retry) -> rules::OnExhausted {
        use rules::OnExhausted;
        let block = retry.on_exhausted.as_ref();
        let Some(given) = block.and_then(|block| block.end.as_ref()) else {
            return OnExhausted::Last;
        };
        match &given.value {
            ExhaustedAction::Last => OnExhausted::Last,
            ExhaustedAction::Fail => OnExhausted::Fail,
            ExhaustedAction::Failover(to, None) => OnExhausted::failover(to.clone()),
            ExhaustedAction::Failover(to, Some(set)) => {
                OnExhausted::failover_with(to.clone(), Arc::clone(set))
            }
            ExhaustedAction::DeadLetter(name) => {
                self.check_dead_letter(given, name);
                OnExhausted::dead_letter(Arc::clone(name))
            }
            ExhaustedAction::Respond => {
                // Without a response there is a problem, and the fallback is never used.
                let canned = self.canned_response(retry, given);
                canned.map_or(OnExhausted::Last, OnExhausted::Respond)
            }
        }
    }

    fn canned_response(
        &self,
        retry: &Retry,
        given: &Spanned<ExhaustedAction>,
    ) -> Option<CannedResponse> {
        let block = retry.on_exhausted.as_ref();
        let response = block
            .and_then(|block| block.respond.clone())
            .unwrap_or_default();
        let status = value(&response.status);
        // A status that could not be read would look like a missing one.
        if status.is_none() && !self.problems.are_within(&given.from) {
            let cause = "respond has no status: write {respond: {status: 503}}";
            self.wrong(given, cause);
        }
        let status = http::StatusCode::from_u16(u16::try_from(status?.0).ok()?).ok()?;
        let canned = CannedResponse::new(status);
        let headers = value(&response.headers).into_iter();
        let canned = headers.fold(canned, |canned, headers| canned.headers(headers.0));
        let body = value(&response.body).into_iter();
        let canned = body.fold(canned, |canned, body| canned.body(body.0));
        if let Err(error) = canned.check() {
            let cause = format!("{} is not allowed: {}", error.given, error.allowed);
            match (&response.headers, &response.body) {
                (Some(headers), _) if error.field.ends_with("headers") => {
                    self.wrong(headers, cause);
                }
                (_, Some(body)) => self.wrong(body, cause),
                _ => self.wrong(given, cause),
            }
            return None;
        }
        Some(canned)
    }

    fn backoff(&self, retry: &Retry) -> Backoff {
        let base = value(&retry.base).map(|base| base.0).unwrap_or_default();
        let growth = retry.backoff.as_ref();
        let backoff = match growth.and_then(|backoff| value(&backoff.growth)) {
            Some(Growth::None) => Backoff::none(),
            Some(Growth::Fixed) => Backoff::fixed(base),
            Some(Growth::Linear) => Backoff::linear(base),
            None | Some(Growth::Exponential) => Backoff::exponential(base),
            Some(Growth::Schedule(delays)) => Backoff::schedule(delays),
            Some(Growth::Custom(name)) => self.custom_backoff(&name, retry),
        };
        let jitter = retry.jitter.clone().unwrap_or_default();
        let (least, most) = (value(&jitter.min), value(&jitter.max));
        // A word and a map both set `decorrelated`, so that it is known which of the two is above the other.
        let jitter = match (value(&jitter.decorrelated), least, most) {
            (Some(true), ..) => Jitter::Decorrelated,
            (_, None, None) => Jitter::Full,
            (_, min, max) => {
                Jitter::between(min.unwrap_or(Decimal::ZERO), max.unwrap_or(Decimal::ONE))
            }
        };
        let backoff = backoff.jitter(jitter);
        let factor = value(&retry.factor).map(|factor| factor.0);
        let backoff = factor.into_iter().fold(backoff, Backoff::factor);
        let first_step = value(&retry.first_step).map(|step| step.0);
        let backoff = first_step.into_iter().fold(backoff, Backoff::first_step);
        let max_delay = value(&retry.max_delay).map(|most| most.0);
        let backoff = max_delay.into_iter().fold(backoff, Backoff::max_delay);
        match value(&retry.cap) {
            Some(Word(CapMode::Before)) => backoff.cap_before_jitter(),
            Some(Word(CapMode::After)) => backoff.cap_after_jitter(),
            Some(Word(CapMode::Both)) | None => backoff,
        }
    }

    pub(super) fn custom_backoff(&self, name: &str, retry: &Retry) -> Backoff {
        let backoff = retry.backoff.as_ref();
        let Some(given) = backoff.and_then(|backoff| backoff.growth.as_ref()) else {
            return Backoff::none();
        };
        let Some(make) = self.names.backoffs.get(name) else {
            let known = self.names.backoffs.keys().map(|name| &**name);
            self.unknown(given, name, "is no custom backoff of this program", known);
            return Backoff::none();
        };
        let args = backoff.and_then(|backoff| backoff.args.as_ref());
        // A schedule without arguments is read from a null, which suits `()` and `Option`.
        let made: Result<Ceiling, String> = make(args.map_or(&Value::Null, |args| &args.0.value.0));
        match made {
            Ok(ceiling) => Backoff::custom(move |retry| ceiling(retry)),
            Err(cause) => {
                let from = args.map_or(&given.from, |args| &args.0.from);
                self.problems.add(&from, &name, cause);
                Backoff::none()
            }
        }
    }

    /// Reports an error of the builder at the path that caused it.
    fn refused(&self, retry: &Retry, error: &ConfigError) {
        let field = key_of(&error.field);
        let all = retry.given();
        let written = |wanted: &str| {
            let entry = all.iter().find(|(field, ..)| field == wanted);
            entry.map(|(_, text, from)| (&**text, &**from))
        };
        let given = written(field);
        let (text, from) = given.unwrap_or((&error.given, field));
        let is_built_in = given.is_some_and(|(_, from)| !is_written(from));
        // A default cannot be edited, so the problem is reported at the bound that is written.
        let (path, cause) = match error.bound.map(key_of).and_then(written) {
            Some((most, path)) if is_built_in && is_written(path) => {
                let least = format!("must be at least {field}, which is {text} ({from})");
                let cause = format!("{most} is not allowed: {least}: give {field} too");
                (path, cause)
            }
            most => {
                let allowed = error
                    .allowed
                    .replace("use Backoff::none()", "write backoff: none");
                // A bound from another block is named with its path, since it is not in sight.
                let far = most.filter(|(_, most)| block_of(most) != block_of(from));
                let at = far.map_or_else(String::new, |(_, far)| format!(" ({far})"));
                (from, format!("{text} is not allowed: {allowed}{at}"))
            }
        };
        self.problems.add(&path, &text, cause);
    }
}

/// Returns a hint with the path that removes the deadline, or an empty text.
pub(super) fn no_deadline(retry: &Retry) -> String {
    let given = retry.deadline.as_ref();
    given.map_or_else(String::new, |given| format!(" ({} is none)", given.from))
}

/// Returns the document's key for a field of the builder.
fn key_of(field: &str) -> &str {
    match field.trim_start_matches("backoff.") {
        // A document writes a schedule as a list under `backoff`.
        "schedule" => "backoff",
        key => key,
    }
}

fn block_of(from: &str) -> Option<&str> {
    let (block, _) = from.rsplit_once('.')?;
    // A bound is under `jitter` if it is from a map, and beside it if it is from a word.
    Some(block.trim_end_matches(".jitter"))
}

fn preset_classifier(retry: &Retry) -> Option<Arc<dyn Classify>> {
    let is_llm = value(&retry.classifier) == Some(true);
    is_llm.then(|| Arc::new(http_retry_dialects::llm::LlmClassifier::new()) as Arc<dyn Classify>)
}

fn for_models(builder: RetryPolicyBuilder, retry: &Retry) -> RetryPolicyBuilder {
    use super::retry::{FirstEvent, KeptPart};
    use http_retry_dialects::llm::{HoldStreams, Truncation};
    let builder = match value(&retry.truncate).and_then(|cut| cut.0) {
        Some((keep, share)) => {
            let truncation = match keep {
                KeptPart::Head => Truncation::keep_head(),
                KeptPart::Tail => Truncation::keep_tail(),
                KeptPart::Ends => Truncation::keep_ends(),
            };
            builder.rewrite(share.into_iter().fold(truncation, Truncation::share))
        }
        None => builder,
    };
    match value(&retry.hold_streams).and_then(|hold| hold.0) {
        Some(most) => {
            let most = most.into_iter().map(|FirstEvent(most)| most);
            builder.hold_streams(most.fold(HoldStreams::new(), HoldStreams::first_event_timeout))
        }
        None => builder,
    }
}
