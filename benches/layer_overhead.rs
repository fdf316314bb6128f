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

const DIALECT: &str = "  a dialect that reads no success; beside none";
/// The instructions that a dialect may add to a success whose body none of its rows look at.
const MOST_OF_A_DIALECT: f64 = 100.0;
const SWITCHES: &str = "  whole responses and resumes set up, and off; beside none";
/// Counts differ by a few instructions from run to run.
const MOST_OF_SWITCHES: f64 = 10.0;
#[cfg(feature = "redis")]
const SHARED: &str = "  the same, budget and gate shared; beside its own";
const EACH: &str = "  a budget for each service; beside one, gate on";
/// What finding the budget of a service may add to a success, and a fleet to that.
const MOST_OF_EACH: f64 = 1.3;
#[cfg(feature = "redis")]
const FLEET: &str = "  in a fleet; beside one budget, gate on";
#[cfg(feature = "redis")]
const FLEET_BESIDE_EACH: &str = "  in a fleet; beside a budget for each service, gate on";

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
    let peer = added("tower/tower::retry", "tower/bare")?;
    let ours = added("tower/http-retry", "tower/bare")?;
    table::beside("tower, tower::retry", ours, peer, AtMost(0.75));
    let dialect = added("tower/dialect", "tower/bare")?;
    table::more(DIALECT, dialect, ours, MOST_OF_A_DIALECT);
    let gated = added("tower/gated", "tower/bare")?;
    table::beside(
        "  gate on, open; beside gate off",
        gated,
        ours,
        AtMost(1.10),
    );
    table::beside("  the same; beside tower::retry", gated, peer, AtMost(0.90));
    let observed = added("tower/observed", "tower/bare")?;
    table::beside(
        "  with an observer; beside tower::retry",
        observed,
        peer,
        AtMost(2.0),
    );
    #[cfg(feature = "metrics")]
    table::beside(
        "  with metrics; beside tower::retry",
        added("tower/metrics", "tower/bare")?,
        peer,
        AtMost(2.0),
    );
    let slot = added("tower/slot", "tower/bare, slot")?;
    table::beside(
        "  with a report slot; beside tower::retry",
        slot,
        peer,
        AtMost(2.0),
    );
    #[cfg(feature = "redis")]
    in_fleet("tower", gated)?;
    per_service("tower", gated)?;
    let off = added("tower/switches off", "tower/bare")?;
    table::more(SWITCHES, off, ours, MOST_OF_SWITCHES);
    watched("tower", ours)?;
    for (what, case, under) in uncopied("tower") {
        table::beside(what, added(&case, &under)?, peer, None);
    }
    // What two attempts cost the service itself, which are given a request that is there.
    let two = 2.0 * callgrind::per_call("tower/bare")? - callgrind::per_call("tower/request")?;
    let peer_retries = callgrind::per_call("tower/tower::retry, retried")? - two;
    let retries = callgrind::per_call("tower/retried")? - two;
    let what = "tower, a retry without a wait";
    table::beside(what, retries, peer_retries, AtMost(3.0));
    let peer = added("reqwest/reqwest-retry", "reqwest/bare")?;
    let ours = added("reqwest/http-retry", "reqwest/bare")?;
    table::beside("reqwest, reqwest-retry", ours, peer, AtMost(0.70));
    let plain = added("reqwest/plain", "reqwest/bare")?;
    table::beside("  plain requests", plain, peer, AtMost(0.70));
    let dialect = added("reqwest/dialect", "reqwest/bare")?;
    table::more(DIALECT, dialect, ours, MOST_OF_A_DIALECT);
    let gated = added("reqwest/gated", "reqwest/bare")?;
    table::beside(
        "  gate on, open; beside gate off",
        gated,
        ours,
        AtMost(1.10),
    );
    #[cfg(feature = "redis")]
    in_fleet("reqwest", gated)?;
    per_service("reqwest", gated)?;
    let off = added("reqwest/switches off", "reqwest/bare")?;
    table::more(SWITCHES, off, ours, MOST_OF_SWITCHES);
    watched("reqwest", ours)?;
    for (what, case, under) in uncopied("reqwest") {
        table::beside(what, added(&case, &under)?, peer, AtMost(0.25));
    }
    Ok(())
}

/// The calls that share with other processes: a budget and a gate by hand, and whatever a fleet shares by itself.
#[cfg(feature = "redis")]
fn in_fleet(stack: &str, gated: f64) -> Result<()> {
    let cost = |layers: &str| added(&format!("{stack}/{layers}"), &format!("{stack}/bare"));
    table::more(SHARED, cost("shared")?, gated, MOST_OF_SWITCHES);
    let each = cost("per service")?;
    let fleet = cost("fleet")?;
    table::beside(FLEET, fleet, gated, AtMost(MOST_OF_EACH));
    table::beside(FLEET_BESIDE_EACH, fleet, each, AtMost(1.02));
    Ok(())
}

/// The calls that find the budget of their service.
fn per_service(stack: &str, gated: f64) -> Result<()> {
    let cost = added(&format!("{stack}/per service"), &format!("{stack}/bare"))?;
    table::beside(EACH, cost, gated, AtMost(MOST_OF_EACH));
    Ok(())
}

/// The calls that have a limit or that somebody hears of, beside those of this cost.
fn watched(stack: &str, plain: f64) -> Result<()> {
    let rows = [
        (
            "  attempt timeout and deadline; beside neither",
            ["timed", "bare"],
            AtMost(1.5),
        ),
        ("  an observer; beside none", ["observed", "bare"], None),
        ("  a report slot; beside none", ["slot", "bare, slot"], None),
        (
            "  a listener to spans; beside none",
            ["traced", "bare"],
            None,
        ),
    ];
    for (what, layers, target) in rows {
        let [case, under] = layers.map(|layers| format!("{stack}/{layers}"));
        table::beside(what, added(&case, &under)?, plain, target);
    }
    Ok(())
}

/// The calls in which no retry can follow, and what is below the layer in each.
fn uncopied(stack: &str) -> [(&'static str, String, String); 3] {
    let of = |layers: &str| format!("{stack}/{layers}");
    [
        ("  max_retries 0", of("never"), of("bare")),
        ("  override off", of("off"), of("bare, off")),
        ("  inside another layer", of("nested"), of("http-retry")),
    ]
}

fn added(case: &str, under: &str) -> Result<f64> {
    Ok(callgrind::per_call(case)? - callgrind::per_call(under)?)
}
