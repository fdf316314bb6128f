//! Downloads that go on where they broke.

mod breaks;
mod plain;
mod refused;
mod script;
mod tokens;
