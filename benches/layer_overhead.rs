//! What a request that succeeds at once costs on top of the bare client, in instructions.
//!
//! ```text
//! cargo bench --all-features --bench layer_overhead
//! ```
//!
//! It runs itself under valgrind's callgrind, and is skipped where that is not installed.
#![allow(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and says what went wrong by panicking"
)]

mod callgrind;
mod stacks;
mod table;

use anyhow::Result;
use table::Target::{AtMost, None};

fn main() -> Result<()> {
    if let Some((case, times)) = callgrind::wanted() {
        let mut call = stacks::call(&case).unwrap();
        (0..times).for_each(|_| call());
        return Ok(());
    }
    if !table::is_wanted() {
        return Ok(());
    }
    if !callgrind::is_there() {
        table::skipped(
            "instructions added to a success",
            "valgrind is not installed",
        );
        return Ok(());
    }
    table::head("instructions added to a success");
    let ours = added("tower/http-retry", "tower/bare")?;
    let peer = added("tower/tower::retry", "tower/bare")?;
    table::beside("tower, tower::retry", ours, peer, AtMost(1.05));
    let uncopied = [
        ("tower/never", "tower/bare"),
        ("tower/off", "tower/bare, off"),
        ("tower/nested", "tower/http-retry"),
    ];
    for (case, under) in uncopied {
        table::beside(case, added(case, under)?, peer, None);
    }
    let ours = added("reqwest/http-retry", "reqwest/bare")?;
    let peer = added("reqwest/reqwest-retry", "reqwest/bare")?;
    table::beside("reqwest, reqwest-retry", ours, peer, AtMost(1.0));
    let uncopied = [
        ("reqwest/never", "reqwest/bare"),
        ("reqwest/off", "reqwest/bare, off"),
        ("reqwest/nested", "reqwest/http-retry"),
    ];
    for (case, under) in uncopied {
        table::beside(case, added(case, under)?, peer, AtMost(0.25));
    }
    Ok(())
}

fn added(case: &str, under: &str) -> Result<f64> {
    Ok(callgrind::per_call(case)? - callgrind::per_call(under)?)
}
