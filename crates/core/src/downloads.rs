//! Building blocks for downloads that continue where their body broke.
//!
//! Such a download is a request for the rest, with a [`RestOfDownload`] in its extensions, and a session for the breaks:
//! [`SessionExt`] gives what it asks of one besides its plan. A [`DownloadRecorder`] tells the observers.
//! `http-retry-resume` is built on this module.

pub use crate::exchange::engine::DownloadLimits;
pub use crate::exchange::settings::RestOfDownload;
pub use crate::policy::session::ext::SessionExt;
pub use crate::report::recorder::DownloadRecorder;
