//! Whom a request goes to.

use super::{Observer, RetryEvent, RetryEventKind};
use http::Method;
use std::sync::Arc;
use std::time::Duration;

/// The service of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// The name that the caller gave, else the authority.
    pub(crate) service: Arc<str>,
    /// Host and port.
    #[cfg_attr(
        not(any(feature = "tower", feature = "reqwest", feature = "tracing")),
        expect(dead_code, reason = "only requests have one, and only spans tell it")
    )]
    pub(crate) authority: Arc<str>,
    pub(crate) method: Option<Method>,
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
    pub(crate) fn address(&self) -> &str {
        let port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self.authority.rsplit_once(':') {
            Some((host, text)) if port(text) => host,
            _ => &self.authority,
        }
    }
}
