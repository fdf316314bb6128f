//! The rules of a builder, and the checks on them.

use super::RetryPolicyBuilder;
use crate::error::ConfigError;
use crate::policy::Settings;
use crate::policy::rules::{
    Action, Conditions, Counter, OnExhausted, Predicate, Rule, ServerDelays, Wait,
};
use http::HeaderName;
use std::sync::Arc;
use std::time::Duration;

impl RetryPolicyBuilder {
    /// Adds a rule after those that the policy already has ([`rules`](crate::rules) has examples). The first rule that
    /// holds decides. Default no rule.
    ///
    /// `build` refuses a rule that is never reached, an invalid name, headers that no attempt would have or that only
    /// the client sets, and a policy to retry by that has rules of its own. It also refuses a wait without a limit,
    /// with a delay or a count of 0, or without a delay if the backoff is none.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::{Condition, Rule};
    ///
    /// // This service responds with 404 if it cannot reach its store, and with 500 to a bad query.
    /// let away = Condition::status([404])?.and(Condition::message("store is away")?);
    /// let wrong = Condition::status([500])?.and(Condition::message("syntax error")?);
    /// let policy = RetryPolicy::builder()
    ///     .rule(Rule::when(away).retry(RetryPolicy::user_facing()))
    ///     .rule(Rule::when(wrong).stop())
    ///     .build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn rule(self, rule: Rule) -> Self {
        let others = &self.settings.classifiers;
        let rule = rule.at(others.rule_count(), others.rules().next_back());
        match rule {
            Ok(rule) => self.with(|settings| settings.classifiers.add_rule(rule)),
            Err(error) => self.refuse(error),
        }
    }

    /// Sets the action if no rule holds. Default [`Action::Classify`]: the class of the outcome decides.
    ///
    /// [`Action::Retry`] accepts a success. [`Action::Stop`] reports a success as stopped too, [`Action::Accept`] does
    /// not. `build` refuses [`Action::Wait`] and [`Action::Failover`], which need a condition, and a policy to retry by
    /// that has rules of its own.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::{Action, Condition, Rule};
    ///
    /// // Only what the rules say is repeated.
    /// let lost = Rule::when(Condition::status([502])?).retry(RetryPolicy::user_facing());
    /// let policy = RetryPolicy::builder().rule(lost).otherwise(Action::Accept).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn otherwise(self, action: Action) -> Self {
        let error = |allowed| ConfigError::new("otherwise", "this action", allowed);
        match &action {
            Action::Wait(_) | Action::Failover(_) => self.refuse(error(
                "a rule alone waits or fails over: give it a condition",
            )),
            Action::Retry(policy) if policy.has_rules() => self.refuse(error(
                "the policy to retry by must have no rules of its own",
            )),
            _ => self.with(|settings| settings.rules.otherwise = action),
        }
    }

    /// Retries only these outcomes when no rule holds, whatever their class; at least one condition. It replaces an
    /// earlier list. Default those whose class is transient or throttled.
    ///
    /// The other limits stay: a request that may have been processed is repeated only if processing it twice does no
    /// harm.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::{Condition, ErrorGroup};
    ///
    /// let lost = [Condition::status([502, 503])?, Condition::error(ErrorGroup::Connect)];
    /// let policy = RetryPolicy::builder().retry_on(lost).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[doc(alias = "status_forcelist")]
    pub fn retry_on(self, conditions: impl IntoIterator<Item = impl Predicate>) -> Self {
        let list = listed(conditions);
        if list.is_empty() {
            self.refuse(empty("retry_on"))
        } else {
            self.with(|settings| settings.rules.retry_on = Some(list))
        }
    }

    /// Never retries these outcomes when no rule holds, even if [`retry_on`](Self::retry_on) lists them; at least one
    /// condition. It replaces an earlier list. Default none.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::Condition;
    ///
    /// // This service responds with 500 to a bad query.
    /// let policy = RetryPolicy::builder().stop_on([Condition::message("syntax error")?]).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn stop_on(self, conditions: impl IntoIterator<Item = impl Predicate>) -> Self {
        let list = listed(conditions);
        if list.is_empty() {
            self.refuse(empty("stop_on"))
        } else {
            self.with(|settings| settings.rules.stop_on = list)
        }
    }

    /// Sets the end of a request that was worth another attempt but has none left. Default [`OnExhausted::Last`]: the
    /// caller gets the last outcome. [`OnExhausted`] has an example of each. `build` refuses headers that only the
    /// client sets, and a response that [`check`](crate::rules::CannedResponse::check) refuses.
    pub fn on_exhausted(self, then: OnExhausted) -> Self {
        self.with(|settings| settings.rules.on_exhausted = then)
    }

    /// Sets the budget that pays for the retries by this policy, by name: one of
    /// `ServicesBuilder::budget`. Default the budget of the request's
    /// service, which also pays if there is none of this name.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::{Condition, Rule};
    ///
    /// // Retries of locked records do not spend what other calls need.
    /// let locked = RetryPolicy::builder().budget_named("locks").build()?;
    /// let policy = RetryPolicy::builder()
    ///     .rule(Rule::when(Condition::status([423])?).retry(locked))
    ///     .build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn budget_named(self, name: impl Into<Arc<str>>) -> Self {
        self.with(|settings| settings.rules.budget = Some(name.into()))
    }

    /// Sets the request headers that a failover to another server leaves out, besides those that it always does
    /// (`authorization`, `cookie`, `x-api-key` and the like, and those marked sensitive). It replaces an earlier list.
    /// Default none.
    ///
    /// ```
    /// use http::HeaderName;
    /// use http_retry::RetryPolicy;
    ///
    /// let own = [HeaderName::from_static("x-shop-signature")];
    /// let policy = RetryPolicy::builder().credentials(own).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn credentials(self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        let names: Arc<[HeaderName]> = names.into_iter().collect();
        self.with(|settings| settings.rules.credentials = names)
    }

    /// Sets the retries that the limit counts if a rule retries by this policy. Default [`Counter::Request`]: all
    /// retries of the request.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::{Condition, Counter, Rule};
    ///
    /// // Up to five retries while the record is locked, however many others came before.
    /// let locked = RetryPolicy::builder().max_retries(5).counter(Counter::Rule).build()?;
    /// let policy = RetryPolicy::builder()
    ///     .rule(Rule::when(Condition::status([423])?).retry(locked))
    ///     .build()?;
    /// assert_eq!(policy.worst_case().attempts, Some(1 + 5 + 4));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn counter(self, counter: Counter) -> Self {
        self.with(|settings| settings.rules.counter = counter)
    }

    /// Sets the treatment of a wait that a server asks for. Default [`ServerDelays::Respect`]: no retry is sent
    /// earlier, and a wait longer than [`max_server_delay`](Self::max_server_delay) stops the request.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::ServerDelays;
    /// use std::time::Duration;
    ///
    /// // Waits of more than 10 s are cut to 10 s; up to 2 s of spread come on top.
    /// let policy = RetryPolicy::builder()
    ///     .max_server_delay(Duration::from_secs(10))
    ///     .server_delays(ServerDelays::Clamp)
    ///     .build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn server_delays(self, server_delays: ServerDelays) -> Self {
        self.with(|settings| settings.rules.server_delays = server_delays)
    }

    /// Keeps the first error of a setter, which `build` returns.
    pub(crate) fn refuse(self, error: ConfigError) -> Self {
        Self {
            error: self.error.or(Some(error)),
            ..self
        }
    }
}

impl Settings {
    pub(super) fn check_waits(&self) -> Result<(), ConfigError> {
        let rules = self.classifiers.rules();
        let waits = rules.filter_map(|rule| match &rule.action {
            Action::Wait(wait) => Some((rule.name.as_deref().unwrap_or_default(), wait)),
            _ => None,
        });
        for (name, wait) in waits {
            // Checked by `build`, not by `rule`: the backoff and the deadline may be set later.
            self.check_wait(wait).map_err(|allowed| {
                let given = format!("the wait of the rule {name}");
                ConfigError::new("rule", given, allowed)
            })?;
        }
        Ok(())
    }

    fn check_wait(&self, wait: &Wait) -> Result<(), &'static str> {
        let is_bounded = wait.ends() || self.deadline.is_some();
        if wait.delay == Some(Duration::ZERO) {
            Err("its delay must be above 0, since a wait asks again and again")
        } else if wait.at_most == Some(0) {
            Err("at_most must be at least 1")
        } else if wait.delay.is_none() && self.backoff.is_none() {
            Err("it has no delay, and the backoff is none: give a delay")
        } else if !is_bounded {
            Err("it never ends: give at_most, max or a deadline")
        } else {
            Ok(())
        }
    }
}

fn empty(field: &'static str) -> ConfigError {
    ConfigError::new(field, "an empty list", "give at least one condition")
}

fn listed(conditions: impl IntoIterator<Item = impl Predicate>) -> Conditions {
    let conditions = conditions.into_iter();
    let conditions = conditions.map(|condition| -> Arc<dyn Predicate> { Arc::new(condition) });
    conditions.collect()
}
