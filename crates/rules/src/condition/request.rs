//! Conditions on the request, and on the number of its attempts.

use super::{Condition, Test};
use http::Method;
use http_retry_core::ConfigError;
use http_retry_core::settings::path_pattern;
use std::ops::{Bound, RangeBounds};

impl Condition {
    /// Holds for requests with this method. [`or`](Self::or) joins several. Only the HTTP adapters know the method;
    /// elsewhere the condition never holds.
    pub fn method(method: Method) -> Self {
        Self::of(Test::Method(method))
    }

    /// Holds for requests to a path that matches this pattern, in which `*` matches anything, slashes too; `/v1/*` also
    /// matches `/v1`. The query and a final slash are ignored. If the path is not known, the condition does not hold.
    /// Pattern and path are compared in their normal form: `//v1/%70ay` is `/v1/pay`.
    ///
    /// ```
    /// use http::Method;
    /// use http_retry::rules::Condition;
    ///
    /// let exports = Condition::path("/v1/*/export")?.and(Condition::method(Method::GET));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A pattern that no path matches: one that starts with neither a slash nor `*`, has a query, or goes up by `..`
    /// from a `*`.
    pub fn path(pattern: impl Into<String>) -> Result<Self, ConfigError> {
        let given = pattern.into();
        match path_pattern(&given) {
            Ok(pattern) => Ok(Self::of(Test::Path(pattern))),
            Err(allowed) => Err(ConfigError::new(
                "path",
                given,
                format!("must be {allowed}"),
            )),
        }
    }

    /// Holds for requests that carry an idempotency key: in `idempotency-key`, `x-idempotency-key`, or the header of
    /// the policy's dialect for it.
    pub fn keyed() -> Self {
        Self::of(Test::Keyed)
    }

    /// Holds for requests that may be processed twice without harm: by their method, an idempotency key, their own
    /// setting ([`RetryOverride::idempotent`](http_retry_core::RetryOverride::idempotent)) or the policy's
    /// [`Methods`](http_retry_core::Methods).
    pub fn idempotent() -> Self {
        Self::of(Test::Idempotent(true))
    }

    /// Holds after these attempts; the first is 1. `..3` is the first two, `3..` the third and all later ones. Every
    /// attempt counts, including those that follow a rule's wait.
    ///
    /// ```
    /// use http_retry::rules::{Condition, Failover, Rule};
    ///
    /// // The third failure goes to another service.
    /// let rule = Rule::when(Condition::failure().and(Condition::attempt(3..)?))
    ///     .failover(Failover::to("backup"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A range that holds no attempt, or one that starts at 0.
    pub fn attempt(attempts: impl RangeBounds<u32>) -> Result<Self, ConfigError> {
        let first = match attempts.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 1,
        };
        let last = match attempts.end_bound() {
            Bound::Included(last) => *last,
            Bound::Excluded(end) => end.saturating_sub(1),
            Bound::Unbounded => u32::MAX,
        };
        if first == 0 || first > last {
            let given = format!("{first} to {last}");
            let allowed = "must hold at least one attempt, the first being 1";
            return Err(ConfigError::new("attempt", given, allowed));
        }
        Ok(Self::of(Test::Attempt(first..=last)))
    }
}
