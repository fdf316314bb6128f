//! How downloads are resumed.

use crate::engine::IDLE_TIMEOUT;
use crate::error::ConfigError;
use std::time::Duration;

/// How downloads are resumed: the settings that only they have.
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
pub struct Resume {
    pub(crate) idle_timeout: Duration,
}

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(60 * 60);

impl Resume {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a body as broken that has brought no byte for this long while the caller reads. 1 ms to 1 h, default 30 s.
    ///
    /// A caller that does not read is no stall: the time runs from a read that finds nothing.
    ///
    /// # Errors
    ///
    /// If the time is out of its range.
    pub fn idle_timeout(self, idle_timeout: Duration) -> Result<Self, ConfigError> {
        match (SHORTEST..=LONGEST).contains(&idle_timeout) {
            true => Ok(Self { idle_timeout }),
            false => Err(ConfigError::new(
                "resume.idle_timeout",
                format_args!("{idle_timeout:?}"),
                "must be 1 ms to 1 h",
            )),
        }
    }
}

impl Default for Resume {
    fn default() -> Self {
        Self {
            idle_timeout: IDLE_TIMEOUT,
        }
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
}
