//! The progress of a download, for tasks that do not read it themselves.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The progress of a download, in the extensions of each response whose body is resumed if it breaks. Clones show the
/// same download, even while another task reads it. A response without one has a plain body.
///
/// ```
/// use http_retry::resume::ResumeProgress;
///
/// fn resumes<B>(response: &http::Response<B>) -> u32 {
///     let progress = response.extensions().get::<ResumeProgress>();
///     progress.map_or(0, ResumeProgress::resumes)
/// }
/// ```
#[derive(Clone, Default)]
pub struct ResumeProgress(Arc<ProgressCounts>);

#[derive(Default)]
struct ProgressCounts {
    resumes: AtomicU32,
    received: AtomicU64,
    read_twice: AtomicU64,
}

impl ResumeProgress {
    /// Returns the number of requests sent for the rest of the body, failed ones included.
    #[must_use]
    pub fn resumes(&self) -> u32 {
        self.0.resumes.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that the caller has read, each counted once.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.0.received.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that were compared with earlier ones or dropped: at most 1 KiB of each resume, or
    /// all before the first missing byte if the server sends the whole file again.
    #[must_use]
    pub fn read_twice(&self) -> u64 {
        self.0.read_twice.load(Ordering::Relaxed)
    }

    pub(super) fn count_resume(&self) {
        // Relaxed throughout: each counter stands for itself, and orders nothing else.
        self.0.resumes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_received(&self, bytes: u64) {
        self.0.received.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn count_read_twice(&self, bytes: u64) {
        self.0.read_twice.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for ResumeProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeProgress")
            .field("resumes", &self.resumes())
            .field("received", &self.received())
            .field("read_twice", &self.read_twice())
            .finish()
    }
}
