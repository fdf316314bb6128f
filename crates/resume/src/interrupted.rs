//! The error of a download that broke for good.

use http::StatusCode;
use http_retry_core::policy::ResumeFailure;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a download that broke and is not resumed. The bytes that were read before it are complete and correct.
/// To resume by hand, request the bytes from [`at`](Self::at) on, counted from the start of the range that you asked
/// for. Start again from the beginning if [`reason`](Self::reason) says that the file has changed.
///
/// The error of the body is or carries it; [`Interrupted::of`] finds it. It holds no URL and no header value. Its
/// source is the error by which the body broke, if there was one.
#[derive(Debug)]
pub struct Interrupted {
    at: u64,
    length: u64,
    why: ResumeFailure,
    by: Option<Arc<str>>,
    status: Option<StatusCode>,
    source: Option<BoxError>,
}

impl Interrupted {
    pub(super) fn new((at, length): (u64, u64), why: ResumeFailure) -> Self {
        Self {
            at,
            length,
            why,
            by: None,
            status: None,
            source: None,
        }
    }

    pub(super) fn stopped_by(self, by: Option<Arc<str>>) -> Self {
        Self { by, ..self }
    }

    pub(super) fn caused_by(self, source: Option<BoxError>) -> Self {
        Self { source, ..self }
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        let status = Some(status);
        Self { status, ..self }
    }

    /// Returns the interruption that an error is or carries, anywhere in its source chain and inside an I/O error.
    ///
    /// ```
    /// use http_retry::resume::Interrupted;
    /// # let error = std::io::Error::other("no download");
    ///
    /// match Interrupted::of(&error) {
    ///     Some(cut) => eprintln!("{} of {}: {}", cut.at(), cut.length(), cut.reason()),
    ///     None => eprintln!("{error}"),
    /// }
    /// ```
    #[must_use]
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        links(error).find_map(<dyn Error>::downcast_ref)
    }

    /// Returns the number of bytes of the body that were read, from 0 up to [`length`](Self::length).
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the full length of the body in bytes, by the head of the first response: for a range its own length, not
    /// the file's.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the reason that the rest does not come.
    #[must_use]
    pub fn reason(&self) -> ResumeFailure {
        self.why
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, length, .. } = self;
        write!(f, "the download broke at byte {at} of {length} and ")?;
        match self.status {
            Some(status) => write!(f, "its rest was answered with {}: ", status.as_u16())?,
            None => f.write_str("is not resumed: ")?,
        }
        let reason = match self.why {
            ResumeFailure::Stopped(why) => why.explain_by(self.by.as_deref()),
            why => why.explain().into(),
        };
        write!(f, "{}. {reason}", self.why)
    }
}

impl Error for Interrupted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source: &(dyn Error + 'static) = self.source.as_deref()?;
        Some(source)
    }
}

/// Returns the chain, including the payloads of I/O errors, with a bound in case it never ends.
fn links<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    const MAX_LINKS: usize = 64;
    let next = |error: &&'a (dyn Error + 'static)| -> Option<&'a (dyn Error + 'static)> {
        let error: &'a (dyn Error + 'static) = *error;
        // The `source()` of either is that of the error which it carries.
        #[cfg(feature = "reqwest")]
        if let Some(reqwest_middleware::Error::Middleware(error)) = error.downcast_ref() {
            return Some(error.as_ref());
        }
        match error.downcast_ref().and_then(io::Error::get_ref) {
            Some(payload) => Some(payload),
            None => error.source(),
        }
    };
    std::iter::successors(Some(error), next).take(MAX_LINKS)
}
