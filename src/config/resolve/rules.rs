//! What a place says beyond numbers: its rules, and what becomes of a request that has no retries left.

use super::{Inside, Resolver, deadline, no_deadline, of, value};
use crate::config::block::Path;
use crate::config::given::Given;
use crate::config::retry::{Exhausted, Growth, Retry};
use crate::config::rule::{ActionSpec, RuleSpec};
use crate::dialect::Dialect;
use crate::policy::{
    Action, CannedResponse, OnExhausted, RetryPolicy, Rule, Rules, ServerDelays, Wait,
};
use std::sync::Arc;

impl Resolver<'_> {
    pub(super) fn rule(&self, spec: &RuleSpec, retry: &Retry, inside: &mut Inside<'_>) -> Rule {
        let action = self.action(&spec.action, retry, inside);
        match &action {
            Action::Wait(wait) => self.check_wait(wait, &spec.said, retry),
            Action::Failover(to) => {
                let from = spec.said.as_str().into();
                inside.names.failovers.push((Arc::clone(&to.service), from));
            }
            _ => {}
        }
        Rule {
            name: Some(Arc::clone(&spec.name)),
            when: spec.when.clone(),
            action,
            set: spec.set.clone(),
        }
    }

    pub(super) fn action(
        &self,
        spec: &ActionSpec,
        retry: &Retry,
        inside: &mut Inside<'_>,
    ) -> Action {
        match spec {
            ActionSpec::Known(action) => action.clone(),
            ActionSpec::Retry(block) => {
                Action::Retry(self.own_policy(block.as_deref(), retry, inside))
            }
            // It decides nothing.
            ActionSpec::Judge(_) => Action::Classify,
        }
    }

    fn check_wait(&self, wait: &Wait, path: &Path, retry: &Retry) {
        let is_backoff_none = of(&retry.backoff, |backoff| &backoff.growth) == Some(Growth::None);
        if wait.delay.is_none() && is_backoff_none {
            let cause = "has no delay, and the backoff is none: give delay";
            self.problems.add(path, &"", cause);
        }
        let read = !self.problems.are_within(path.as_str());
        if read && !wait.ends() && deadline(retry).is_none() {
            let cause = "never ends: give at_most, max or a deadline";
            let cause = format!("{cause}{}", no_deadline(retry));
            self.problems.add(path, &"", cause);
        }
    }

    /// A policy of a rule's own. Where it retries is the rule's to say, so a list from outside does not narrow it.
    fn own_policy(
        &self,
        block: Option<&Retry>,
        outer: &Retry,
        inside: &mut Inside<'_>,
    ) -> RetryPolicy {
        if let Some(block) = block {
            self.check_is_of_the_place(&block.classify_error, "classify_error");
            self.check_is_of_the_place(&block.hold_streams, "hold_streams");
        }
        let outer = Retry {
            retry_on: None,
            ..outer.clone()
        };
        let retry = match block {
            Some(block) => self.layer(block).over(&outer),
            None => outer,
        };
        let rules = self.rules(&retry, inside);
        self.policy("rule", &retry, (rules, Dialect::named("rules")))
    }

    /// An outcome is judged before a rule is asked.
    fn check_is_of_the_place<T>(&self, given: &Option<Given<T>>, key: &str) {
        if let Some(given) = given {
            let cause =
                format!("{key} has no effect in a rule: write it in the retry of the service");
            self.wrong(given, cause);
        }
    }

    pub(super) fn rules(&self, retry: &Retry, inside: &mut Inside<'_>) -> Rules {
        let budget = value(&retry.budget).filter(|name| Some(name) != inside.budget.as_ref());
        if let Some(given) = &retry.budget {
            self.check_budget(given);
        }
        self.check_error_types(retry);
        let delays = &retry.retry_after;
        let ignores = of(delays, |delays| &delays.ignored).unwrap_or_default();
        Rules {
            retry_on: value(&retry.retry_on),
            stop_on: value(&retry.stop_on).unwrap_or_default(),
            counter: value(&retry.counter).unwrap_or_default(),
            server_delays: match ignores {
                true => ServerDelays::Ignore,
                false => of(delays, |delays| &delays.over).unwrap_or_default(),
            },
            budget,
            on_exhausted: self.on_exhausted(retry, inside),
            credentials: value(&retry.credentials).unwrap_or_default(),
            ..Rules::default()
        }
    }

    fn on_exhausted(&self, retry: &Retry, inside: &mut Inside<'_>) -> OnExhausted {
        let Some(given) = retry.exhausted() else {
            return OnExhausted::Last;
        };
        match &given.value {
            Exhausted::Last => OnExhausted::Last,
            Exhausted::Fail => OnExhausted::Fail,
            Exhausted::Failover(to, set) => {
                let from = given.from.to_string().into();
                inside.names.failovers.push((Arc::clone(&to.service), from));
                OnExhausted::Failover {
                    to: to.clone(),
                    set: set.clone(),
                }
            }
            Exhausted::DeadLetter(name) => {
                self.check_dead_letter(given, name);
                OnExhausted::DeadLetter {
                    name: Arc::clone(name),
                }
            }
            Exhausted::Respond => {
                let canned = self.canned_response(retry, given);
                canned.map_or(OnExhausted::Last, OnExhausted::Respond)
            }
        }
    }

    fn canned_response(&self, retry: &Retry, given: &Given<Exhausted>) -> Option<CannedResponse> {
        let last = retry.on_exhausted.as_ref();
        let response = last.and_then(|last| last.respond.as_ref());
        let response = response.cloned().unwrap_or_default();
        let status = value(&response.status);
        if status.is_none() && !self.problems.are_within(&given.from.to_string()) {
            let cause = "respond has no status: write {respond: {status: 503}}";
            self.wrong(given, cause);
        }
        Some(CannedResponse {
            status: status?,
            headers: value(&response.headers).unwrap_or_default(),
            body: value(&response.body).unwrap_or_default(),
        })
    }
}
