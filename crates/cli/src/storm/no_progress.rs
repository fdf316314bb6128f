//! Replaces `progress` where there is no terminal, as in a browser.

use http_retry_lab::storm::Storm;

pub(super) struct NoProgress;

pub(super) fn progress(_: &Storm) -> NoProgress {
    NoProgress
}

impl NoProgress {
    pub(super) fn set_message(&self, _: String) {}

    pub(super) fn set_position(&self, _: u64) {}

    pub(super) fn finish_and_clear(&self) {}
}
