//! Tools for tests of your own programs: a clock that jumps, and a client that answers from a list.

mod manual_runtime;
mod script;

pub use manual_runtime::ManualRuntime;
pub use script::Script;
