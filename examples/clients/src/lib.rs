//! What the programs of this folder share: a server on the loopback that fails first and keeps every request, and the
//! comparison of what it has seen with what was meant.

mod daemon;
pub mod load;
pub mod proxy;
mod server;

pub use daemon::{Daemon, free_port};
pub use server::{Answer, Server, answer, grpc, json, status};

use std::time::Instant;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// What each attempt of a call must have brought to the server.
pub struct Meant<'a> {
    pub attempts: usize,
    pub method: &'a str,
    pub target: &'a str,
    pub body: &'a [u8],
}

impl Meant<'_> {
    /// Compares it with what the server saw, and prints the client's line.
    pub fn check(&self, client: &str, server: &Server, started: Instant) -> Result {
        let seen = server.take();
        let said = |what: &str| format!("{client}: {what}: {seen:#?}");
        if seen.len() != self.attempts {
            return Err(said(&format!("not {} attempts", self.attempts)).into());
        }
        for request in &seen {
            let target = request
                .uri()
                .path_and_query()
                .map_or("", |target| target.as_str());
            if request.method() != self.method || target != self.target {
                return Err(said(&format!("not {} {}", self.method, self.target)).into());
            }
            if request.body() != self.body {
                return Err(said(&format!("not this body: {:?}", self.body)).into());
            }
        }
        println!(
            "{client:<28} {} attempts, each {} {} with the same {} bytes, {:.1} s",
            self.attempts,
            self.method,
            self.target,
            self.body.len(),
            started.elapsed().as_secs_f64(),
        );
        Ok(())
    }
}

/// An error that says what differs, unless both are the same.
pub fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(is: T, meant: U) -> Result {
    if is == meant {
        Ok(())
    } else {
        Err(format!("got {is:?}, not {meant:?}").into())
    }
}
