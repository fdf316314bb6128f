//! What is told of a fleet: one event, one log line and one measurement for each change.

use super::process::{Process, Stack};
use super::server::Server;
use crate::observation::counters::measured;
use crate::observation::journal::Journal;
use metrics_util::debugging::DebugValue;
use std::collections::BTreeMap;
use tokio::runtime::{Builder, Runtime};

fn single_threaded() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The server dies under a process, which calls on.
async fn is_left_alone(process: &mut Process, server: &mut Server) {
    process.is_down(true);
    server.kill();
    process.retries(3).await;
    assert_eq!(process.event().await, "orders left: unreachable");
    process.retries(3).await;
}

/// The server is there again.
async fn is_back(process: &mut Process, server: &mut Server) {
    server.start_again();
    assert_eq!(process.event().await, "orders joined");
    process.retries(3).await;
    assert_eq!(process.other_events(), [""; 0]);
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn each_change_is_one_log_line_with_its_reason_or_its_time() {
    let mut server = Server::start(&[]);
    let (lines, aways) = Journal::of(|| {
        single_threaded().block_on(async {
            let mut process = Process::joined(Stack::Tower, &server.url()).await;
            is_left_alone(&mut process, &mut server).await;
            is_back(&mut process, &mut server).await;
            process.aways()
        })
    });
    let of_fleet = lines.iter().filter(|line| line.contains("its fleet"));
    let [first, second] = aways[..] else {
        panic!("{aways:?}");
    };
    let wanted = [
        format!(
            "INFO is in its fleet: away_ms={} service=orders",
            first.as_millis()
        ),
        "WARN goes on without its fleet: reason=unreachable service=orders".to_owned(),
        format!(
            "INFO is in its fleet: away_ms={} service=orders",
            second.as_millis()
        ),
    ];
    assert_eq!(
        of_fleet.collect::<Vec<_>>(),
        wanted.iter().collect::<Vec<_>>()
    );
    assert!(!second.is_zero());
}

#[test]
#[ignore = "needs redis-server or valkey-server"]
fn the_gauge_follows_each_change_and_every_command_is_counted() {
    let mut server = Server::start(&[]);
    let runtime = single_threaded();
    let mut process = None;
    let joined = measured(|| {
        let url = server.url();
        process = Some(runtime.block_on(Process::joined(Stack::Tower, &url)));
    });
    let mut process = process.unwrap();
    let alone = measured(|| runtime.block_on(is_left_alone(&mut process, &mut server)));
    let back = measured(|| runtime.block_on(is_back(&mut process, &mut server)));
    for (measured, value, result) in [
        (joined, 1.0, "ok"),
        (alone, 0.0, "unreachable"),
        (back, 1.0, "ok"),
    ] {
        let gauge = &measured["http_retry_fleet_joined service=orders"];
        assert_eq!(*gauge, DebugValue::Gauge(value.into()));
        let counted = count(&measured, &format!("step=budget result={result}"));
        assert!(counted >= 1, "{measured:?}");
        let all = measured.keys().filter_map(|name| {
            let labels = name.strip_prefix("http_retry_fleet_commands_total ")?;
            labels
                .starts_with("step=budget")
                .then(|| count(&measured, labels))
        });
        let all: u64 = all.sum();
        let times = &measured["http_retry_fleet_seconds step=budget"];
        let DebugValue::Histogram(times) = times else {
            panic!("{times:?}");
        };
        assert_eq!(times.len() as u64, all, "each is timed");
    }
}

fn count(measured: &BTreeMap<String, DebugValue>, labels: &str) -> u64 {
    match measured.get(&format!("http_retry_fleet_commands_total {labels}")) {
        Some(DebugValue::Counter(count)) => *count,
        _ => 0,
    }
}
