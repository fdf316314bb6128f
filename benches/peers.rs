//! Requests per second over loopback HTTP: this crate, its peers and the bare clients, in short runs that take turns.
//!
//! ```text
//! cargo bench --all-features --bench peers
//! ```
//!
//! Client and server are processes of their own, each on a processor of its own where `taskset` is there. The client
//! sends on 32 connections, each with its next request as soon as the one before is answered, and is the busier one, so
//! all that a layer adds is seen. What is compared is the median of the ratios of neighbouring runs, with the interval
//! in which that median lies 19 times out of 20; once by the clock, and once by the time that the client had a processor,
//! which other programs disturb less.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and says what went wrong by panicking"
)]

mod callgrind;
mod loopback;
mod stacks;
mod table;

use loopback::{Run, processes};
use table::Target;

const LEAST: Target = Target::AtLeast(0.98);
/// What is sent, through which client, with what on it; and what is asked of that.
const ROWS: [(&str, &str, &str, Target); 8] = [
    ("hyper-util, GET", "hyper-util/get", "http-retry", LEAST),
    (
        "hyper-util, POST of 1 KiB",
        "hyper-util/post",
        "http-retry",
        LEAST,
    ),
    (
        "  tower::retry, GET",
        "hyper-util/get",
        "peer",
        Target::None,
    ),
    (
        "  tower::retry, POST of 1 KiB",
        "hyper-util/post",
        "peer",
        Target::None,
    ),
    ("reqwest, GET", "reqwest/get", "http-retry", LEAST),
    (
        "reqwest, POST of 1 KiB",
        "reqwest/post",
        "http-retry",
        LEAST,
    ),
    ("  reqwest-retry, GET", "reqwest/get", "peer", Target::None),
    (
        "  reqwest-retry, POST of 1 KiB",
        "reqwest/post",
        "peer",
        Target::None,
    ),
];

fn main() {
    if processes::is_one() {
        return;
    }
    if !table::is_wanted() {
        return;
    }
    let server = processes::Server::start();
    added(&server);
    table::head("requests per second over loopback; the peer is the bare client");
    for (what, sent, layer, target) in ROWS {
        let pairs = server.client(sent, layer);
        by(what, &pairs, |run| run.requests / run.took, target);
        let cpu = |run: &Run| run.requests / run.on_cpu;
        by("  - of the client's processor", &pairs, cpu, Target::None);
    }
}

/// What a layer adds to a request over loopback, outside of the kernel: ours beside the peer's.
fn added(server: &processes::Server) {
    if !callgrind::is_there() {
        table::skipped("instructions of a request", "valgrind is not installed");
        return;
    }
    table::head("instructions added to a request over loopback; the peer is another layer");
    for (what, sent) in [
        (
            "hyper-util, GET without headers; tower::retry",
            "hyper-util/get",
        ),
        ("hyper-util, POST of 1 KiB; tower::retry", "hyper-util/post"),
        ("reqwest, GET without headers; reqwest-retry", "reqwest/get"),
        ("reqwest, POST of 1 KiB; reqwest-retry", "reqwest/post"),
    ] {
        let bare = server.instructions(sent, "bare");
        let ours = server.instructions(sent, "http-retry") - bare;
        let peer = server.instructions(sent, "peer") - bare;
        table::beside(what, ours, peer, Target::None);
        table::alone("  - of the bare client's request", bare, Target::None);
    }
}

/// The median of the ratios of what each pair of runs measured.
fn by(what: &str, pairs: &[(Run, Run)], measured: impl Fn(&Run) -> f64, target: Target) {
    let ratios = pairs
        .iter()
        .map(|(ours, bare)| measured(ours) / measured(bare));
    let bare = pairs.iter().map(|(_, bare)| measured(bare)).collect();
    let (low, ratio, high) = table::median_within(ratios.collect());
    let bare = table::median(bare);
    table::likely(what, ratio * bare, bare, (low, ratio, high), target);
}
