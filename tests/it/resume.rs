//! Downloads that go on where they broke.

mod alike;
mod answers;
mod breaks;
mod clients;
mod elsewhere;
mod origins;
mod plain;
mod raw;
mod refused;
mod schedules;
pub(crate) mod script;
mod sockets;
mod steered;
mod time_limits;
mod tokens;
mod world;
