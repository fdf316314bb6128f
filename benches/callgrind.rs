//! Counts the instructions of one call under valgrind: they are the same on a busy machine and on an idle one.
#![allow(dead_code, reason = "no benchmark needs every function")]

use anyhow::{Context, Result};
use std::process::Command;

const CASE: &str = "--case";
const TIMES: u64 = 400;

/// The case to run and how often, in a process that [`per_call`] has started.
pub(crate) fn wanted() -> Option<(String, u64)> {
    let mut args = std::env::args().skip_while(|arg| arg != CASE).skip(1);
    Some((args.next()?, args.next()?.parse().ok()?))
}

pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|version| version.status.success())
}

/// The instructions of one call: what the second half of twice as many adds, so that start and end do not count.
pub(crate) fn per_call(case: &str) -> Result<f64> {
    let (once, twice) = (collected(case, TIMES)?, collected(case, 2 * TIMES)?);
    Ok((twice - once) / TIMES as f64)
}

fn collected(case: &str, times: u64) -> Result<f64> {
    collected_by(&[CASE, case, &times.to_string()])
}

/// The instructions of this program with these arguments.
pub(crate) fn collected_by(args: &[&str]) -> Result<f64> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(args)
        .output()?;
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    let count = told
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .with_context(|| format!("valgrind counted nothing for {args:?}: {told}"))?;
    Ok(count.1.trim().parse()?)
}
