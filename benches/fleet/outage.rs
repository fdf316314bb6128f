//! What one process asks of the server while its service is down.

use crate::member::{self, call, fleet, status};
use crate::scripts::scripts;
use crate::server::Server;
use crate::table::{self, Target};
use http_retry::RetryBudget;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);
const CALLS_A_TICK: u64 = 2;
const TICKS: u32 = 3_000;

pub(crate) async fn measure(server: &Server) {
    let fleet = fleet(server);
    let layer = member::layer(&fleet, "outage", RetryBudget::builder());
    member::joins(&fleet).await;
    let (before, begun) = (scripts(server), Instant::now());
    let attempts = Arc::new(AtomicU64::new(0));
    let mut ticks = tokio::time::interval(TICK);
    let mut calls = Vec::new();
    for _ in 0..TICKS {
        ticks.tick().await;
        for _ in 0..CALLS_A_TICK {
            let (layer, attempts) = (layer.clone(), Arc::clone(&attempts));
            calls.push(tokio::spawn(async move {
                let answer = move || {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    status(503)
                };
                call(&layer, "http://api.example/", answer).await;
            }));
        }
    }
    let sent = calls.len() as u64;
    for call in calls {
        call.await.unwrap();
    }
    let took = begun.elapsed().as_secs_f64();
    let asked = (scripts(server) - before) as f64 / took;
    let granted = attempts.load(Ordering::Relaxed) - sent;
    let what = "2,000 retries a second asked for, 3 s: commands a second";
    table::alone(what, asked, Target::AtMost(20.0));
    table::alone("  granted", granted as f64, Target::AtMost(20.0));
}
