//! One request's own settings, and those that its service lets it set.

use super::{RetryOverride, RetryPolicy};
use std::sync::Arc;

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
            Self::FillOnly => own.filling(&policy.0),
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

    /// Declares that processing this request twice does no more harm than once, whatever its method, its headers and
    /// the policy's [`Methods`](crate::Methods) say. With `false`, even a GET is repeated only if it was not processed.
    ///
    /// ```
    /// use http_retry::RetryOverride;
    ///
    /// // A search, which its API takes by POST.
    /// let mut search = http::Request::post("https://api.example/search").body(())?;
    /// search.extensions_mut().insert(RetryOverride::new().idempotent(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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

    /// Returns `true` if an attempt of the request may send several copies of it.
    #[must_use]
    #[inline]
    pub fn may_hedge(&self) -> bool {
        !self.off && self.hedge != Some(false)
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
    use std::time::Duration;

    fn own() -> RetryOverride {
        RetryOverride::new()
            .max_retries(7)
            .deadline(Duration::from_secs(1))
            .whole_responses(0)
            .idempotent(true)
            .service("orders")
    }

    #[test]
    fn a_request_sets_only_what_its_service_allows() {
        let policy = RetryPolicy::builder().whole_responses(1).build().unwrap();
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
