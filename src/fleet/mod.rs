//! A fleet: one budget and one gate for all processes that call the same services, on Redis or Valkey.
//!
//! Each process of a program has 20 retry tokens and a gate of its own, so that a thousand of them hold 20,000 tokens and
//! no one knows what another was refused. In a fleet they share one budget for each service.
//!
//! ```
//! use http_retry::fleet::Fleet;
//!
//! let fleet = Fleet::redis("redis://cache:6379")?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```
//!
//! The store is Redis 6.2 or later, or Valkey 7.2 or later. A user of it with these rights is enough, where the prefix
//! is `http-retry`:
//!
//! ```text
//! ~http-retry:* &http-retry:* -@all +evalsha +script|load +hmget +hset +get +set +pexpire +time +publish +subscribe +ping +hello
//! ```
//!
//! No key, value or channel holds anything of a request but its service's name, or its host and port.

#![cfg_attr(
    not(test),
    expect(dead_code, reason = "the members of a fleet come next")
)]

mod builder;
mod names;
mod redis;
#[cfg(test)]
pub(crate) mod server;
mod store;

pub use builder::FleetBuilder;

use crate::error::ConfigError;
use redis::RedisStore;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One budget and one gate for each service, shared by all processes whose fleets have the same store and prefix; clones
/// are the same fleet.
///
/// Nothing of it can fail a request or hold it up for more than [`wait`](FleetBuilder::wait): a process that cannot reach
/// the store goes on with a share of its own.
///
/// It connects in the background, from its first use inside a tokio runtime on.
#[derive(Clone)]
pub struct Fleet(Arc<Shared>);

/// What all clones of a fleet share.
struct Shared {
    store: RedisStore,
    prefix: Arc<str>,
    wait: Duration,
}

impl Fleet {
    /// A fleet on the server at this URL, such as `redis://cache:6379` or `redis://user:password@cache:6379/0`, with the
    /// default settings. For `rediss://` turn on a TLS feature of the crate `redis`.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] of the field `fleet.redis` if the URL is none of a server. It does not repeat the URL.
    pub fn redis(url: &str) -> Result<Self, ConfigError> {
        Self::builder().redis(url)
    }

    /// A fleet on the server that this client connects to, for TLS, credentials or a Unix socket that are set up
    /// already. The fleet makes a connection of its own.
    #[must_use]
    pub fn redis_client(client: ::redis::Client) -> Self {
        Self::builder().on(RedisStore::of(client))
    }

    /// A builder that starts from the default settings.
    pub fn builder() -> FleetBuilder {
        FleetBuilder::default()
    }

    fn new(store: RedisStore, prefix: Arc<str>, wait: Duration) -> Self {
        Self(Arc::new(Shared {
            store,
            prefix,
            wait,
        }))
    }
}

/// Shows where the server is, and neither the user name nor the password.
impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("store", &self.0.store)
            .field("prefix", &self.0.prefix)
            .field("wait", &self.0.wait)
            .finish_non_exhaustive()
    }
}
