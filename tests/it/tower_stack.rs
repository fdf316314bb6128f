//! The tower layer: over a mock service that is driven step by step, over services that answer from a list, and over
//! real ones.

mod attempt_timeouts;
mod bodies;
mod budgets;
mod cancellation;
mod composition;
mod copied_bodies;
mod deadlines;
mod kept_types;
mod local;
mod methods;
mod nesting;
mod readiness;
mod recorded_bodies;
mod reports;
mod request_settings;
mod server_delays;
mod several_requests;
mod shared_bodies;
mod stack;
