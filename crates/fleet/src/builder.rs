//! The settings of a fleet.

use super::Fleet;
use super::names::is_prefix;
use super::redis::RedisStore;
use super::shared::Shared;
use super::store::Store;
use http_retry_core::ConfigError;
use std::sync::Arc;
use std::time::Duration;

/// A builder for a [`Fleet`]; the server comes last, and checks the settings.
///
/// ```
/// use http_retry::fleet::Fleet;
/// use std::time::Duration;
///
/// let fleet = Fleet::builder()
///     .prefix("shop")
///     .wait(Duration::from_millis(20))
///     .redis("redis://cache:6379")?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct FleetBuilder {
    pub(super) prefix: Arc<str>,
    pub(super) wait: Duration,
}

const PREFIX: &str = "http-retry";
const WAIT: Duration = Duration::from_millis(50);
const MIN_WAIT: Duration = Duration::from_millis(1);
const MAX_WAIT: Duration = Duration::from_secs(1);

impl FleetBuilder {
    /// Sets the prefix of all keys and channels: 1 to 64 of the characters `A-Z a-z 0-9 . _ - :`. Default `http-retry`.
    ///
    /// Fleets with the same prefix on the same store are one fleet, so use another prefix for programs that call the
    /// same services with other budgets. The keys are `PREFIX:1:{SERVICE}:..`, which an access list can allow by
    /// `PREFIX:*`.
    pub fn prefix(mut self, prefix: impl Into<Arc<str>>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the longest time that a retry waits for the store: 1 ms to 1 s. Default 50 ms, about a hundred times the
    /// latency of a store in the same data centre.
    ///
    /// Only retries wait, for their tokens. After a reply that took longer, none waits: until a reply is in time again,
    /// the process spends its own share of the budget. So a store whose latency is always above this limit is never
    /// joined.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Builds the fleet on the server at this URL; see [`Fleet::redis`].
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first invalid setting: `fleet.prefix`, `fleet.wait` or `fleet.redis`. It does
    /// not repeat the URL.
    pub fn redis(self, url: &str) -> Result<Fleet, ConfigError> {
        self.check()?;
        Ok(self.on_redis(RedisStore::open(url)?))
    }

    /// Builds the fleet on the server that this client connects to; see [`Fleet::redis_client`].
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first invalid setting: `fleet.prefix` or `fleet.wait`.
    #[cfg(not(target_family = "wasm"))]
    pub fn redis_client(self, client: ::redis::Client) -> Result<Fleet, ConfigError> {
        self.check()?;
        Ok(self.on_redis(RedisStore::of(client)))
    }

    pub(super) fn on_redis(self, store: RedisStore) -> Fleet {
        let address = store.address();
        self.on(Box::new(store), address)
    }

    /// Builds the fleet on a store; the address is for display.
    pub(super) fn on(self, store: Box<dyn Store>, address: String) -> Fleet {
        Fleet::new(Shared::new(store, address, self.prefix, self.wait))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !is_prefix(&self.prefix) {
            let allowed = "must be 1 to 64 of the characters A-Z a-z 0-9 . _ - :";
            return Err(ConfigError::new("fleet.prefix", &self.prefix, allowed));
        }
        if !(MIN_WAIT..=MAX_WAIT).contains(&self.wait) {
            let wait = format!("{:?}", self.wait);
            return Err(ConfigError::new("fleet.wait", wait, "must be 1 ms to 1 s"));
        }
        Ok(())
    }
}

impl Default for FleetBuilder {
    fn default() -> Self {
        Self {
            prefix: PREFIX.into(),
            wait: WAIT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "redis://localhost:1";

    #[test]
    fn a_wait_out_of_bounds_is_refused() {
        for (micros, allowed) in [
            (999, false),
            (1_000, true),
            (1_000_000, true),
            (1_000_001, false),
        ] {
            let wait = Duration::from_micros(micros);
            let made = Fleet::builder().wait(wait).redis(URL);
            assert_eq!(made.is_ok(), allowed, "{micros} us");
        }
        let error = Fleet::builder().wait(Duration::ZERO).redis(URL);
        let text = "fleet.wait: 0ns is not allowed: must be 1 ms to 1 s";
        assert_eq!(error.unwrap_err().to_string(), text);
    }

    #[test]
    fn a_prefix_with_other_characters_is_refused() {
        for (prefix, allowed) in [
            ("shop", true),
            ("a.b_c-d:E9", true),
            ("", false),
            ("{a}", false),
            ("a b", false),
            ("ä", false),
        ] {
            let made = Fleet::builder().prefix(prefix).redis(URL);
            assert_eq!(made.is_ok(), allowed, "{prefix}");
        }
        assert!(Fleet::builder().prefix("a".repeat(64)).redis(URL).is_ok());
        let error = Fleet::builder().prefix("a".repeat(65)).redis(URL);
        assert_eq!(error.unwrap_err().field, "fleet.prefix");
    }

    #[test]
    fn a_given_client_has_the_same_bounds() {
        let client = || ::redis::Client::open(URL).unwrap();
        assert!(Fleet::builder().redis_client(client()).is_ok());
        let error = Fleet::builder().prefix("").redis_client(client());
        assert_eq!(error.unwrap_err().field, "fleet.prefix");
    }
}
