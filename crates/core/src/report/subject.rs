//! Whom a request goes to.

use super::{Observer, RetryEvent, RetryEventKind};
use http::Method;
use std::sync::Arc;
use std::time::Duration;

/// The service of a request.
#[derive(Debug, Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct Subject {
    /// The name that the caller gave, else the authority.
    pub service: Arc<str>,
    /// Host and port.
    pub authority: Arc<str>,
    /// The request's method; `None` for an operation that is not HTTP.
    pub method: Option<Method>,
}

impl Subject {
    /// Tells observers what has happened to a request for the service.
    pub(super) fn tell(
        &self,
        observers: &[Arc<dyn Observer>],
        at: Duration,
        kind: RetryEventKind<'_>,
    ) {
        let event = RetryEvent {
            service: &self.service,
            method: self.method.as_ref(),
            at,
            kind,
        };
        for observer in observers {
            observer.on_event(&event);
        }
    }

    /// The authority without its port.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn address(&self) -> &str {
        self.host_and_port()
            .map_or(&self.authority, |(host, _)| host)
    }

    /// The port that the authority names.
    #[cfg(feature = "tracing")]
    pub(super) fn port(&self) -> Option<u16> {
        self.host_and_port().map(|(_, port)| port)
    }

    #[cfg(feature = "tracing")]
    fn host_and_port(&self) -> Option<(&str, u16)> {
        let (host, port) = self.authority.rsplit_once(':')?;
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits)?;
        Some((host, port))
    }
}
