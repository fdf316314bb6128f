//! One request's own settings, and those that its service lets it set.

use super::bodies::MAX_ANSWER_BYTES;
use super::{RetryOverride, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;

/// The settings that a request may override with a [`RetryOverride`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestOverrides {
    /// All of them. The default.
    #[default]
    Allow,
    /// Only settings that the policy leaves open: a deadline if it has none, whole responses if it reads none,
    /// and whether the request is idempotent.
    FillOnly,
    /// Nothing but the service's name.
    Deny,
}

impl RequestOverrides {
    /// Returns the part of a request's own settings that a service with this policy allows.
    pub(crate) fn allowed(self, own: RetryOverride, policy: &RetryPolicy) -> RetryOverride {
        match self {
            Self::Allow => own,
            Self::FillOnly => own.filling(policy),
            Self::Deny => RetryOverride {
                service: own.service,
                retry_when_nested: own.retry_when_nested,
                never_resumed: own.never_resumed,
                ..RetryOverride::NOTHING
            },
        }
    }
}

impl RetryOverride {
    /// Turns retries off for this request: it is sent once, and a failure stops with
    /// [`StopReason::Disabled`](crate::StopReason::Disabled).
    ///
    /// ```
    /// use http_retry::RetryOverride;
    ///
    /// let mut request = http::Request::new(());
    /// request.extensions_mut().insert(RetryOverride::off());
    /// ```
    #[must_use]
    pub const fn off() -> Self {
        let mut own = Self::NOTHING;
        own.off = true;
        own
    }

    /// Creates settings that change nothing.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of retries after the first attempt; 0 means one attempt. It may be more than the policy
    /// allows, and applies with [`RetryPolicy::never`](crate::RetryPolicy::never) too. It bounds all attempts, whatever
    /// the policy's [`max_refused`](crate::RetryPolicyBuilder::max_refused).
    #[must_use]
    pub fn max_retries(self, max_retries: u32) -> Self {
        Self {
            max_retries: Some(max_retries),
            ..self
        }
    }

    /// Declares that processing this request twice does no more harm than once, whatever its method, its headers and
    /// the policy's [`Methods`](crate::Methods) say. With `false`, even a GET is repeated only if it was not processed.
    ///
    /// ```
    /// use http_retry::RetryOverride;
    ///
    /// // A search, which its API takes by POST.
    /// let mut search = http::Request::post("https://api.example/search").body(()).unwrap();
    /// search.extensions_mut().insert(RetryOverride::new().idempotent(true));
    /// ```
    ///
    /// Like an idempotency key, it holds for one server: a document's failover to another server relies on it only with
    /// `same_keys`.
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self {
            idempotent: Some(idempotent),
            ..self
        }
    }

    /// Sets the longest time for the whole request, from the start of its first attempt, waits included. It may be
    /// longer than the policy's; with 0 the first attempt is sent with no time left, and none follows.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    /// Sets the longest time of one attempt of this request, up to its response head; it may be longer than the
    /// [policy's](crate::RetryPolicyBuilder::attempt_timeout). With 0 every attempt is cut at once.
    ///
    /// ```
    /// use http_retry::RetryOverride;
    /// use std::time::Duration;
    ///
    /// // A report that takes its time.
    /// let slow = RetryOverride::new().attempt_timeout(Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn attempt_timeout(self, attempt_timeout: Duration) -> Self {
        Self {
            attempt_timeout: Some(attempt_timeout),
            ..self
        }
    }

    /// Reads the response whole if its body has at most this many bytes, whatever the policy says
    /// ([`RetryPolicyBuilder::whole_answers`](crate::RetryPolicyBuilder::whole_answers)). With 0 the caller gets it as
    /// it comes: for a response that need not end under a plain content type, such as a watch. More than 64 MiB counts
    /// as 64 MiB.
    #[must_use]
    pub fn whole_answers(self, bytes: usize) -> Self {
        let bytes = u64::try_from(bytes)
            .unwrap_or(u64::MAX)
            .min(MAX_ANSWER_BYTES);
        Self {
            whole_answers: u32::try_from(bytes).ok(),
            ..self
        }
    }

    /// Sets the request's service, instead of its host: it chooses the budget and names the events. With a document, it
    /// chooses the service there before any match; a name that the document does not have is reported by
    /// [`RetryReport::unknown_service`](crate::RetryReport::unknown_service), and the first one by a log line.
    #[must_use]
    pub fn service(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            service: Some(name.into()),
            ..self
        }
    }

    /// Retries even inside another retry layer; attempts then multiply. By default the inner layer stands aside
    /// ([`StopReason::Nested`](crate::StopReason::Nested)).
    #[must_use]
    pub fn retry_when_nested(self) -> Self {
        Self {
            retry_when_nested: true,
            ..self
        }
    }

    /// Allows or forbids resuming the response's body if the client resumes downloads; with `false` it is the plain
    /// one. Default `true`.
    #[must_use]
    pub fn resume(self, resume: bool) -> Self {
        Self {
            never_resumed: !resume,
            ..self
        }
    }

    /// Returns `true` if the request wants no retries.
    #[must_use]
    #[inline]
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Returns the maximum number of retries, if the request sets one.
    #[must_use]
    #[inline]
    pub fn retries(&self) -> Option<u32> {
        self.max_retries
    }

    /// Returns the service, if the request names one.
    #[must_use]
    #[inline]
    pub fn service_name(&self) -> Option<&Arc<str>> {
        self.service.as_ref()
    }

    /// Returns the most bytes of a response's body that belong to its attempt, if the request sets them; 0 for none.
    #[must_use]
    #[inline]
    pub fn whole_answer_bytes(&self) -> Option<u32> {
        self.whole_answers
    }

    /// Returns `true` if the request is retried even inside another retry layer.
    #[must_use]
    #[inline]
    pub fn ignores_nesting(&self) -> bool {
        self.retry_when_nested
    }

    /// Returns `true` if a download may be resumed.
    #[must_use]
    #[inline]
    pub fn may_resume(&self) -> bool {
        !self.never_resumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> RetryOverride {
        RetryOverride::new()
            .max_retries(7)
            .deadline(Duration::from_secs(1))
            .whole_answers(0)
            .idempotent(true)
            .service("orders")
    }

    #[test]
    fn a_request_sets_only_what_its_service_allows() {
        let policy = RetryPolicy::builder().whole_answers(1).build().unwrap();
        let allowed = |by: RequestOverrides, own| by.allowed(own, &policy);
        assert_eq!(allowed(RequestOverrides::Allow, own()), own());
        assert_eq!(
            allowed(RequestOverrides::Deny, own()),
            RetryOverride::new().service("orders")
        );
        let left = RetryOverride::new()
            .deadline(Duration::from_secs(1))
            .idempotent(true)
            .service("orders");
        assert_eq!(allowed(RequestOverrides::FillOnly, own()), left);
        assert_eq!(
            allowed(RequestOverrides::FillOnly, RetryOverride::off()),
            RetryOverride::new()
        );
    }
}
