//! One request's own settings, and which of them its service lets it set.

use super::whole_answers::MAX_ANSWER_BYTES;
use super::{RetryOverride, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;

/// The settings that a request may set at one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Overrides {
    #[default]
    Allow,
    /// Those of these names, and whether the request is idempotent.
    FillOnly(Vec<&'static str>),
    Deny,
}

impl Overrides {
    pub(crate) fn fill_only(policy: &RetryPolicy) -> Self {
        Self::FillOnly(RetryOverride::open_by(policy))
    }

    /// Returns what is left of a request's own settings.
    pub(crate) fn allowed(&self, own: RetryOverride) -> RetryOverride {
        match self {
            Self::Allow => own,
            Self::FillOnly(open) => own.only(open),
            Self::Deny => RetryOverride {
                idempotent: None,
                ..own.only(&[])
            },
        }
    }
}

impl RetryOverride {
    /// No retries for this request: it is sent once, and a failure stops with
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

    /// Settings that change nothing.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// The most retries after the first attempt; 0 means one attempt. It may be more than the policy allows, and counts with
    /// [`RetryPolicy::never`](crate::RetryPolicy::never) too. It bounds all that is sent, whatever the policy's
    /// [`max_refused`](crate::RetryPolicyBuilder::max_refused).
    #[must_use]
    pub fn max_retries(self, max_retries: u32) -> Self {
        Self {
            max_retries: Some(max_retries),
            ..self
        }
    }

    /// Whether processing this request twice does no more harm than once, whatever its method, its headers and the policy's
    /// [`Methods`](crate::Methods) say. With `false` even a GET is repeated only if it was not processed.
    ///
    /// ```
    /// use http_retry::RetryOverride;
    ///
    /// // A search, which its API takes by POST.
    /// let mut search = http::Request::post("https://api.example/search").body(()).unwrap();
    /// search.extensions_mut().insert(RetryOverride::new().idempotent(true));
    /// ```
    ///
    /// Like an idempotency key, it is about one server: a document's failover to another server relies on it only with
    /// `same_keys`.
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self {
            idempotent: Some(idempotent),
            ..self
        }
    }

    /// The longest time for the whole request, from the start of its first attempt, waits included. It may be longer
    /// than the policy's; with 0 the first attempt is sent with no time left, and none follows.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    /// The longest time of one attempt of this request, until its response head is there; it may be longer than the
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

    /// Reads the answer whole if it has at most so many bytes, whatever the policy says
    /// ([`RetryPolicyBuilder::whole_answers`](crate::RetryPolicyBuilder::whole_answers)). With 0 the caller gets it as it
    /// comes: for an answer that goes on under a plain content type, such as a watch. More than 64 MiB counts as 64 MiB.
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

    /// The request's service, instead of its host: it chooses the budget and names the events. With a document, it
    /// chooses the service there before any match;
    /// [`RetryReport::unknown_service`](crate::RetryReport::unknown_service) tells a name that the document does not
    /// have, and so does a log line for the first one.
    #[must_use]
    pub fn service(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            service: Some(name.into()),
            ..self
        }
    }

    /// Retries even inside another retry layer; attempts then multiply. Default the inner layer stands aside
    /// ([`StopReason::Nested`](crate::StopReason::Nested)).
    #[must_use]
    pub fn retry_when_nested(self) -> Self {
        Self {
            retry_when_nested: true,
            ..self
        }
    }

    /// Whether the body of the answer may be resumed where the client resumes downloads; with `false` it
    /// is the plain one. Default `true`.
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

    /// Returns the most retries, if the request says.
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

    /// Returns the most bytes of an answer that belong to its attempt, if the request says; 0 for none.
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
    fn a_request_may_say_what_the_document_lets_it_say() {
        assert_eq!(Overrides::Allow.allowed(own()), own());
        assert_eq!(
            Overrides::Deny.allowed(own()),
            RetryOverride::new().service("orders")
        );
        let open_deadline = Overrides::FillOnly(vec!["deadline"]);
        let left = RetryOverride::new()
            .deadline(Duration::from_secs(1))
            .idempotent(true)
            .service("orders");
        assert_eq!(open_deadline.allowed(own()), left);
        assert_eq!(
            open_deadline.allowed(RetryOverride::off()),
            RetryOverride::new()
        );
    }
}
