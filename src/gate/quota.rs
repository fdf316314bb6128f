//! What the gate takes of a response's quota.

use super::controller::Quota;
use super::micros;
use crate::server_hints;
use std::time::Duration;

/// A spent quota whose reset is nought seconds away comes back within the second.
const LEAST_RESET: Duration = Duration::from_secs(1);

impl Quota {
    /// How long until it is whole again.
    pub(crate) fn reset(&self) -> Duration {
        Duration::from_micros(self.reset)
    }
}

impl From<server_hints::Quota> for Quota {
    fn from(read: server_hints::Quota) -> Self {
        let at_once = read.remaining == 0 && read.reset.is_zero();
        Self {
            limit: read.limit,
            remaining: read.remaining,
            reset: micros(if at_once { LEAST_RESET } else { read.reset }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Outcome;
    use http::{HeaderMap, HeaderValue, StatusCode};

    fn reset(line: &'static str) -> Duration {
        let mut headers = HeaderMap::new();
        headers.insert("ratelimit", HeaderValue::from_static(line));
        let outcome = Outcome::response(StatusCode::OK, &headers);
        Quota::from(outcome.quota(Duration::ZERO).unwrap()).reset()
    }

    #[test]
    fn a_spent_quota_is_never_back_at_once() {
        assert_eq!(reset("remaining=0, reset=0"), Duration::from_secs(1));
        assert_eq!(reset("remaining=0, reset=2"), Duration::from_secs(2));
        assert_eq!(reset("remaining=1, reset=0"), Duration::ZERO);
    }
}
