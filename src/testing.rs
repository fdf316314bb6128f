//! Tools for tests of your own programs: a clock that jumps, a client that responds from a script, and with the feature
//! `redis` a store in memory for several processes of a fleet.

#[cfg(feature = "redis")]
#[doc(inline)]
pub use http_retry_fleet::MemoryStore;
#[cfg(feature = "rules")]
#[doc(inline)]
pub use http_retry_rules::body_work;
#[doc(inline)]
pub use http_retry_testing::{ManualRuntime, Script, ScriptBody};
