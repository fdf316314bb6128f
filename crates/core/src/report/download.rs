//! The events of one download.

use super::{Observer, RetryEventKind, Subject};
use crate::policy::{ErrorKind, ResumeFailure};
use std::sync::Arc;
use std::time::Duration;

/// The recorder of one download: its service, and the observers of its events.
pub struct DownloadRecorder {
    subject: Subject,
    observers: Arc<[Arc<dyn Observer>]>,
}

impl DownloadRecorder {
    /// Creates a recorder that reports to these observers.
    pub fn new(subject: Subject, observers: Arc<[Arc<dyn Observer>]>) -> Self {
        Self { subject, observers }
    }

    /// Returns the name of the download's service.
    #[must_use]
    pub fn service(&self) -> Arc<str> {
        Arc::clone(&self.subject.service)
    }

    /// Reports that the body broke, and that its rest will be requested.
    pub fn resuming(
        &self,
        (at, length): (u64, u64),
        kind: ErrorKind,
        delay: Duration,
        now: Duration,
    ) {
        let event = RetryEventKind::Resuming {
            at,
            length,
            kind,
            delay,
        };
        self.emit(now, event);
        super::span::log_resume(&self.subject, (at, length), kind, delay);
    }

    /// Reports that the rest has begun to arrive.
    pub fn resumed(&self, at: u64, kind: ErrorKind, now: Duration) {
        self.emit(now, RetryEventKind::Resumed { at, kind });
    }

    /// Reports that the download broke for good.
    pub fn interrupted(
        &self,
        (at, length): (u64, u64),
        kind: Option<ErrorKind>,
        why: ResumeFailure,
        now: Duration,
    ) {
        self.emit(now, RetryEventKind::Interrupted { at, kind, why });
        super::span::log_interrupted(&self.subject, (at, length), kind, why);
    }

    fn emit(&self, at: Duration, kind: RetryEventKind<'_>) {
        self.subject.emit(&self.observers, at, kind);
    }
}
