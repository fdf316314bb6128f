//! A fleet on a real server: what the server does a second, how long a question and a word to all take, what an outage
//! costs, and how a quota is kept by twenty members.
//!
//! ```text
//! cargo bench --all-features --bench fleet
//! ```
//!
//! It starts a Redis or Valkey server of its own on the loopback, and is skipped where neither is on PATH. All members of a
//! fleet are in this process, each with a [`Fleet`](http_retry::fleet::Fleet) and a connection of its own, so that the
//! members and the server share the processors of this machine.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and says what went wrong by panicking"
)]

mod member;
mod outage;
mod quota;
#[path = "../../tests/it/fleet/scripts.rs"]
mod scripts;
#[allow(dead_code, unreachable_pub, reason = "it is the tests'")]
#[path = "../../crates/fleet/src/tests/server.rs"]
mod server;
mod steps;
#[path = "../table.rs"]
mod table;
mod told;

use server::Server;
use tokio::runtime::Builder;

fn main() {
    if !table::is_wanted() {
        return;
    }
    if server::engine().is_none() {
        table::skipped(
            "a fleet on a real server",
            "neither redis-server nor valkey-server is on PATH",
        );
        return;
    }
    let server = Server::start(&[]);
    let tokio = Builder::new_current_thread().enable_all().build().unwrap();
    table::head("a fleet on a real server");
    tokio.block_on(steps::measure(&server));
    told::measure(&server);
    tokio.block_on(async {
        outage::measure(&server).await;
        table::head("600 calls, 60 at once, 100 per 2 s: 20 members; the peer is each for itself");
        quota::measure(&server).await;
    });
}
