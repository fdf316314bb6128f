//! Processes that share their budgets by a server of the test's own, through the public API of both stacks. Those that
//! start one are ignored by default: they need redis-server or valkey-server on PATH.

mod addresses;
mod bounds;
mod broken_store;
mod cluster;
mod downloads;
mod gates;
mod member;
mod process;
mod proxied;
mod proxy;
mod returning;
mod scripts;
mod secrets;
#[path = "../../crates/fleet/src/tests/server.rs"]
mod server;
mod silence;
mod told;
mod two_processes;
