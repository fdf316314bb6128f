//! What a response's head says about coming back: headers and the wall clock in, values out.

mod date;
mod duration;
mod quota;
mod server_delay;

pub use server_delay::ServerDelay;

pub(crate) use date::rfc3339;
pub(crate) use duration::{delay_in_prose, header_duration};
pub(crate) use server_delay::{digits, server_clock, until_reset};
