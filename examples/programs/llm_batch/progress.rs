//! How far the runs are, while they run.

use crate::batch::Batch;
use http_retry::runtime::{Runtime, TokioRuntime};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

/// One line that changes on a terminal, else a line now and then; until the runs are over.
pub(crate) async fn show(batches: &[Arc<Batch>], calls: usize, over: impl Fn() -> bool) {
    let started = TokioRuntime.now();
    let terminal = io::stdout().is_terminal();
    let every = if terminal {
        Duration::from_millis(100)
    } else {
        Duration::from_secs(2)
    };
    let mut due = every;
    while !over() {
        TokioRuntime.sleep(Duration::from_millis(50)).await;
        let passed = TokioRuntime.now().saturating_sub(started);
        if passed >= due {
            due = due.saturating_add(every);
            tell(&line(passed, batches, calls), terminal);
        }
    }
    if terminal {
        tell("", terminal);
    }
}

fn line(passed: Duration, batches: &[Arc<Batch>], calls: usize) -> String {
    let runs = batches.iter().map(|batch| {
        let (done, ended) = batch.progress();
        match ended.saturating_sub(done) {
            0 => format!("{}: {done}/{calls}", batch.name),
            given_up => format!("{}: {done}/{calls} ({given_up} given up)", batch.name),
        }
    });
    let runs: Vec<_> = runs.collect();
    format!("{:5.1} s  {}", passed.as_secs_f64(), runs.join(", "))
}

/// Nobody may be there to read it.
fn tell(line: &str, terminal: bool) {
    let mut out = io::stdout();
    let _ = if terminal {
        write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush())
    } else {
        writeln!(out, "{line}")
    };
}
