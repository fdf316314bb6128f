//! What was read of an outcome beyond its head.

#[cfg(feature = "llm")]
use crate::server_hints::delay_in_prose;
use std::fmt;
use std::time::Duration;

/// The start of an error body, or an error's words, and what was found in it.
#[derive(Clone, Default)]
pub(crate) struct ErrorBody {
    /// All of it, in lower case.
    pub(crate) text: String,
    /// The tokens under the keys that APIs use for them; none has a blank.
    pub(crate) codes: Vec<String>,
    /// The tokens that tell what failed: the codes that are no echo of the request, those that are a phrase, and the
    /// keys that name an exception.
    pub(crate) labels: Vec<String>,
    /// The messages, one to a line; of a body that is no JSON its text.
    pub(crate) prose: String,
    /// The longest delay that a field asks for.
    pub(crate) retry_delay: Option<Duration>,
    /// A quota that was broken is said to be zero.
    #[cfg(any(feature = "serde", feature = "llm"))]
    pub(crate) has_zero_quota: bool,
    /// The JSON is an error by its shape: `{"error": ...}`, `{"type": "error"}`, `{"...Exception": ...}`.
    pub(crate) is_error: bool,
}

#[cfg(feature = "llm")]
impl ErrorBody {
    /// The longest delay that a field or the prose asks for. Nothing at all, as in `reset after 0s`, is no wish: it must not
    /// hide what the headers say.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let asked = self.retry_delay.max(delay_in_prose(&self.prose));
        asked.filter(|delay| !delay.is_zero())
    }

    /// Whether the prose itself says when to come back.
    pub(crate) fn names_a_time(&self) -> bool {
        delay_in_prose(&self.prose).is_some_and(|delay| !delay.is_zero())
    }
}

/// What a server wrote is nobody else's to read.
impl fmt::Debug for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorBody").finish_non_exhaustive()
    }
}
