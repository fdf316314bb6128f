//! Where the report of a request goes that has no response.

use super::RetryReport;
use std::sync::{Arc, Mutex, PoisonError};

/// A slot for one request's [`RetryReport`]: make it by [`RetryReport::slot`] and put it into the request's extensions.
///
/// Clones share the slot. It stays empty while the request runs, and if its call is dropped. Of several requests with one
/// slot, the last to end overwrites the others.
///
/// ```
/// use http_retry::RetryReport;
///
/// let slot = RetryReport::slot();
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(slot.clone());
/// // send it, then:
/// assert!(slot.take().is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReportSlot(Arc<Mutex<Option<RetryReport>>>);

impl ReportSlot {
    /// Takes the report out of the slot, once the request is over; `None` before, and when it was taken already.
    #[must_use]
    pub fn take(&self) -> Option<RetryReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(in crate::report) fn put(&self, report: RetryReport) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }
}
