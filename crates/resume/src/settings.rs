//! Settings of resumed downloads.

use http_retry_core::ConfigError;
use http_retry_core::downloads::DownloadLimits;
use std::time::Duration;

/// The settings that only resumed downloads have. Give them to `RetryLayer::resume` or `RetryMiddleware::resume`. The
/// retry layer's policy, budget and clock also bound a resume.
///
/// ```
/// use http_retry::resume::Resume;
/// use std::time::Duration;
///
/// let resume = Resume::new().idle_timeout(Duration::from_secs(10))?;
/// # let _ = resume;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume(DownloadLimits);

const MIN_IDLE_TIMEOUT: Duration = Duration::from_millis(1);
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);

impl Resume {
    /// Creates the default settings: an idle timeout of 30 s, and no deadline.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time after which a body that brings no byte while the caller reads counts as broken. 1 ms to 1 h,
    /// default 30 s. Once all bytes have arrived, the response must end within at most 1 s.
    ///
    /// A caller that does not read causes no stall: the time runs from a read that finds nothing. The timeout also
    /// bounds each attempt to get the head of a continuation if the policy has no
    /// [`attempt_timeout`](http_retry_core::RetryPolicyBuilder::attempt_timeout), but not with `reqwest::Client` directly below
    /// the tower layer, whose requests carry no settings.
    ///
    /// # Errors
    ///
    /// If the time is out of its range.
    pub fn idle_timeout(self, idle_timeout: Duration) -> Result<Self, ConfigError> {
        if (MIN_IDLE_TIMEOUT..=MAX_IDLE_TIMEOUT).contains(&idle_timeout) {
            Ok(Self(DownloadLimits {
                idle_timeout,
                ..self.0
            }))
        } else {
            Err(refused(
                "resume.idle_timeout",
                idle_timeout,
                "must be 1 ms to 1 h",
            ))
        }
    }

    /// Ends a download that is not whole after this time with
    /// [`DeadlineExceeded`](http_retry_core::StopReason::DeadlineExceeded). The time runs from the head of the first response,
    /// and covers every wait: for bytes, a retry, or a head. Bytes at hand are handed out first. At least 1 ms; default
    /// none, so that a download may take as long as its bytes do.
    ///
    /// The deadline of the policy bounds the head of the first response and that of each continuation separately.
    ///
    /// # Errors
    ///
    /// If the time is out of its range.
    pub fn deadline(self, deadline: Duration) -> Result<Self, ConfigError> {
        if deadline >= MIN_IDLE_TIMEOUT {
            Ok(Self(DownloadLimits {
                deadline: Some(deadline),
                ..self.0
            }))
        } else {
            Err(refused(
                "resume.deadline",
                deadline,
                "must be at least 1 ms",
            ))
        }
    }
}

fn refused(name: &'static str, given: Duration, allowed: &'static str) -> ConfigError {
    ConfigError::new(name, format_args!("{given:?}"), allowed)
}

impl From<Resume> for DownloadLimits {
    fn from(Resume(limits): Resume) -> Self {
        limits
    }
}

impl Default for Resume {
    fn default() -> Self {
        Self(DownloadLimits::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_timeout_has_bounds() {
        for (wanted, allowed) in [(0, false), (1, true), (3_600_000, true), (3_600_001, false)] {
            let made = Resume::new().idle_timeout(Duration::from_millis(wanted));
            assert_eq!(made.is_ok(), allowed, "{wanted} ms");
        }
        let error = Resume::new().idle_timeout(Duration::ZERO).unwrap_err();
        let text = "resume.idle_timeout: 0ns is not allowed: must be 1 ms to 1 h";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn the_deadline_is_a_time() {
        assert!(Resume::new().deadline(MIN_IDLE_TIMEOUT).is_ok());
        assert!(Resume::new().deadline(Duration::MAX).is_ok());
        let error = Resume::new().deadline(Duration::ZERO).unwrap_err();
        let text = "resume.deadline: 0ns is not allowed: must be at least 1 ms";
        assert_eq!(error.to_string(), text);
    }
}
