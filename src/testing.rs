//! Tools for tests of your own programs: a clock that jumps, a client that answers from a list, and
//! with the feature `redis` a store in memory for several processes of a fleet.

mod script;

#[cfg(feature = "redis")]
pub use crate::fleet::memory::MemoryStore;
#[doc(inline)]
pub use http_retry_core::testing::{ManualRuntime, body_work};
pub use script::Script;
