//! Everything that is tested from outside, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::large_enum_variant,
    reason = "a test says what went wrong by panicking"
)]

mod architecture;
mod config;
mod config_stacks;
mod conformance;
mod dialect;
#[cfg(feature = "redis")]
mod fleet;
mod gate;
mod healthy_path;
mod in_flight;
mod in_time;
mod listening;
mod llm;
#[path = "../../examples/programs/llm_batch/server/server.rs"]
mod llm_server;
mod observation;
mod operation;
mod properties;
mod random;
mod reqwest_stack;
mod resume;
mod service_budgets;
mod services;
mod shared_account;
mod summaries;
mod tower_stack;
mod turned_away;
mod waiting;
mod whole_responses;
mod wire;
mod worked_documents;
mod worst_server;
