//! Tells the events of one download.

use super::{Observer, RetryEventKind, Subject};
use crate::policy::{ErrorKind, ResumeFailure};
use std::sync::Arc;
use std::time::Duration;

/// The service of a download, and its observers.
pub(crate) struct DownloadRecorder {
    subject: Subject,
    observers: Arc<[Arc<dyn Observer>]>,
}

impl DownloadRecorder {
    pub(crate) fn new(subject: Subject, observers: Arc<[Arc<dyn Observer>]>) -> Self {
        Self { subject, observers }
    }

    pub(crate) fn service(&self) -> Arc<str> {
        Arc::clone(&self.subject.service)
    }

    pub(crate) fn resuming(
        &self,
        (at, length): (u64, u64),
        kind: ErrorKind,
        delay: Duration,
        now: Duration,
    ) {
        let kind_of_event = RetryEventKind::Resuming {
            at,
            length,
            kind,
            delay,
        };
        self.tell(now, kind_of_event);
        super::span::log_resume(&self.subject, (at, length), kind, delay);
    }

    pub(crate) fn resumed(&self, at: u64, kind: ErrorKind, now: Duration) {
        self.tell(now, RetryEventKind::Resumed { at, kind });
    }

    pub(crate) fn interrupted(
        &self,
        (at, length): (u64, u64),
        kind: Option<ErrorKind>,
        why: ResumeFailure,
        now: Duration,
    ) {
        self.tell(now, RetryEventKind::Interrupted { at, kind, why });
        super::span::log_interrupted(&self.subject, (at, length), kind, why);
    }

    fn tell(&self, at: Duration, kind: RetryEventKind<'_>) {
        self.subject.tell(&self.observers, at, kind);
    }
}
