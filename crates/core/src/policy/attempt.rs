//! Which attempt this is.

use std::time::Duration;

/// The number and time limit of an attempt. `Runner::run` passes it to the operation;
/// adapters put it into the extensions of every repeated request, for services below.
///
/// A service below can tell a repeated request by it, for example to count it apart. The request of the first attempt has
/// none in its extensions, unless the adapter works `across_tasks`.
///
/// ```
/// use http_retry::Attempt;
///
/// fn is_repeated<B>(request: &http::Request<B>) -> bool {
///     let attempt = request.extensions().get::<Attempt>();
///     attempt.is_some_and(|attempt| attempt.number() > 1)
/// }
/// # assert!(!is_repeated(&http::Request::new(())));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    limit: Option<Duration>,
}

impl Attempt {
    /// An attempt of this number, the first being 1, that may take so long.
    #[must_use]
    #[inline]
    pub fn new(number: u32, limit: Option<Duration>) -> Self {
        Self { number, limit }
    }

    /// 1 for the first attempt, 2 for the first retry, and so on.
    #[must_use]
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The time limit of this attempt, from its start: the policy's attempt timeout or what is left of the deadline, the
    /// shorter of the two. `None` if neither the policy nor the request sets one.
    #[must_use]
    #[inline]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }
}
