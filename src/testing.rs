//! Tools for tests of your own programs: a clock that jumps, a client that answers from a list, and
//! with the feature `redis` a store in memory for several processes of a fleet.

mod manual_runtime;
mod script;

#[cfg(feature = "redis")]
pub use crate::fleet::memory::MemoryStore;
pub use manual_runtime::ManualRuntime;
pub use script::Script;
