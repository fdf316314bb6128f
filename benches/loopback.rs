//! A client and a server that talk over loopback HTTP.

mod client;
pub(crate) mod processes;
mod server;

/// What a client measured of one short run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) requests: f64,
    /// Seconds by the clock.
    pub(crate) took: f64,
    /// Seconds for which the client had a processor.
    pub(crate) on_cpu: f64,
}
