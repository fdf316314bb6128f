//! The lines that the benchmarks print: what was measured, beside what, and whether that is good enough.
#![allow(dead_code, reason = "no benchmark needs every kind of line")]

use Target::AtMost;
use std::fmt;

/// Whether `cargo bench` runs this; `cargo test --benches` only starts it.
pub(crate) fn is_wanted() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

/// What a measured number, or its ratio to the peer's, must hold.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Printed for comparison.
    None,
}

pub(crate) fn head(title: &str) {
    println!("\n{title}");
    line("", "ours", "peer", "ratio", "target", "");
}

/// The middle of an odd number of measurements.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The middle of many measurements, and the interval in which that of endlessly many lies 19 times out of 20.
pub(crate) fn median_within(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |rank: usize| values.get(rank).copied().unwrap_or_default();
    let last = values.len().saturating_sub(1);
    // 1.96 standard deviations of a rank, which are half a root of their number each.
    let spread = (values.len() * 9_604 / 10_000).isqrt();
    let (middle, up) = (last / 2, last - last / 2);
    (
        at(middle.saturating_sub(spread)),
        at(middle),
        at(last.min(up + spread)),
    )
}

/// A number beside a peer's, and the interval in which the ratio of the two lies; no word on the target where that lies
/// in it as well.
pub(crate) fn likely(
    what: &str,
    ours: f64,
    peer: f64,
    (low, ratio, high): (f64, f64, f64),
    target: Target,
) {
    let verdict = match (target.holds(low), target.holds(high)) {
        (None, _) => "",
        (Some(true), Some(true)) => "met,",
        (Some(false), Some(false)) => "MISSED,",
        _ => "unsure,",
    };
    let verdict = format!("{verdict} {low:.3} to {high:.3}");
    let (ours, peer) = (number(ours), number(peer));
    let (ratio, target) = (format!("{ratio:.3}"), target.to_string());
    line(what, &ours, &peer, &ratio, &target, verdict.trim());
}

/// A number beside a peer's, as ours / peer.
pub(crate) fn beside(what: &str, ours: f64, peer: f64, target: Target) {
    let ratio = ours / peer;
    row(what, ours, Some((peer, ratio)), ratio, target);
}

/// A number beside a peer's, and by how much it may be more.
pub(crate) fn more(what: &str, ours: f64, peer: f64, most: f64) {
    let more = ours - peer;
    row(what, ours, Some((peer, more)), more, AtMost(most));
}

/// A time beside a peer's: how many times as fast.
pub(crate) fn times_as_fast(what: &str, ours: f64, peer: f64, target: Target) {
    let ratio = peer / ours;
    row(what, ours, Some((peer, ratio)), ratio, target);
}

/// A number that is judged by itself, beside a peer's.
pub(crate) fn judged(what: &str, ours: f64, peer: f64, target: Target) {
    row(what, ours, Some((peer, ours / peer)), ours, target);
}

pub(crate) fn alone(what: &str, ours: f64, target: Target) {
    row(what, ours, None, ours, target);
}

pub(crate) fn skipped(what: &str, why: &str) {
    println!("{what}: skipped, {why}");
}

fn row(what: &str, ours: f64, peer: Option<(f64, f64)>, measured: f64, target: Target) {
    let peer = peer.map(|(peer, ratio)| (number(peer), format!("{ratio:.3}")));
    let (peer, ratio) = peer.unwrap_or_default();
    let verdict = match target.holds(measured) {
        None => "",
        Some(true) => "met",
        Some(false) => "MISSED",
    };
    line(
        what,
        &number(ours),
        &peer,
        &ratio,
        &target.to_string(),
        verdict,
    );
}

fn line(what: &str, ours: &str, peer: &str, ratio: &str, target: &str, verdict: &str) {
    println!("{what:<58} {ours:>9} {peer:>9} {ratio:>7} {target:>9} {verdict}");
}

/// As many digits as can mean something.
fn number(value: f64) -> String {
    if value.abs() < 100.0 && value.fract() != 0.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

impl Target {
    fn holds(self, measured: f64) -> Option<bool> {
        match self {
            Self::AtMost(most) => Some(measured <= most),
            Self::AtLeast(least) => Some(measured >= least),
            Self::None => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::AtLeast(least) => write!(f, ">= {least}"),
            Self::None => Ok(()),
        }
    }
}
