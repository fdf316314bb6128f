//! What the crate takes besides time: allocations of a call, bytes of a future and of a report, and crates to build.
//!
//! ```text
//! cargo bench --all-features --bench footprint
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and says what went wrong by panicking"
)]

mod dependencies;
mod stacks;
mod table;

use allocation_counter::measure;
use anyhow::Result;
use futures_util::FutureExt;
use http_retry::llm::LlmPreset;
use http_retry::report::RetryEvent;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryPolicy, RetryReport};
use std::convert::Infallible;
use std::future::pending;
use std::hint::black_box;
use table::Target::{AtMost, None};
use tower::{Layer, Service, ServiceExt, service_fn};

fn main() -> Result<()> {
    if !table::is_wanted() {
        return Ok(());
    }
    allocations();
    memory();
    dependencies::count()
}

fn allocations() {
    table::head("allocations added to a success");
    let ours = added("tower/http-retry", "tower/bare");
    table::alone("tower", ours, AtMost(2.0));
    let copy = allocated("tower/copy") - allocated("tower/request");
    table::beside("  beside a clone of the request", ours, copy, None);
    let peer = added("tower/tower::retry", "tower/bare");
    table::beside("  beside tower::retry", ours, peer, None);
    let peer = added("reqwest/reqwest-retry", "reqwest/bare");
    let ours = added("reqwest/http-retry", "reqwest/bare");
    table::alone("reqwest", ours, AtMost(7.0));
    table::beside("  beside reqwest-retry", ours, peer, None);
    let plain = added("reqwest/plain", "reqwest/bare");
    table::alone("  plain requests", plain, AtMost(3.0));
    let uncopied = [
        ("  max_retries 0", "reqwest/never", "reqwest/bare"),
        ("  override off", "reqwest/off", "reqwest/bare, off"),
        (
            "  inside another layer",
            "reqwest/nested",
            "reqwest/http-retry",
        ),
    ];
    for (what, case, under) in uncopied {
        table::beside(what, added(case, under), peer, AtMost(0.25));
    }
}

fn memory() {
    table::head("bytes");
    let beyond = stacks::future_size() - stacks::inner_future_size();
    let what = "tower future, beyond the inner future";
    table::alone(what, beyond as f64, AtMost(256.0));
    let what = "report of 5 attempts, heap included";
    table::alone(what, report(), AtMost(1024.0));
    let layer = || RetryLayer::new(RetryPolicy::llm());
    let what = "a call under way through llm, beyond its client's own";
    table::alone(what, in_flight(&layer()), AtMost(768.0));
    let watched = layer().observe(|event: &RetryEvent<'_>| _ = black_box(event));
    let what = "  the same with an observer";
    table::alone(what, in_flight(&watched), AtMost(3600.0));
}

/// The bytes that a call takes while its attempt runs, besides those of the client, which holds the request.
fn in_flight(layer: &RetryLayer) -> f64 {
    let server = service_fn(|request: stacks::Request| async move {
        let _held = request;
        pending::<Result<stacks::Response, Infallible>>().await
    });
    let mut bare = server;
    let bare = size_of_val(&bare.call(stacks::request()));
    let mut service = layer.layer(server);
    // The first call through a gate makes its table.
    drop(service.call(stacks::request()));
    let (request, mut call) = (stacks::request(), Option::None);
    let taken = measure(|| {
        let mut begun = Box::pin(service.call(request));
        assert!(begun.as_mut().now_or_never().is_none());
        call = Some(begun);
    });
    drop(call);
    taken.bytes_current as f64 - bare as f64
}

fn added(case: &str, under: &str) -> f64 {
    allocated(case) - allocated(under)
}

/// The allocations of one call, when everything is there that the first one makes.
fn allocated(case: &str) -> f64 {
    let mut call = stacks::call(case).unwrap();
    call();
    measure(call).count_total as f64
}

/// The bytes of a report as a call leaves it, with what it holds on the heap.
fn report() -> f64 {
    let runtime = ManualRuntime::new();
    let layer = RetryLayer::new(RetryPolicy::background()).runtime(runtime);
    let service = layer.layer(Script::new().status(503));
    let sent = service.oneshot(http::Request::new(String::new()));
    let response = sent.now_or_never().unwrap().unwrap();
    let report = response.into_parts().0.extensions.remove::<RetryReport>();
    let report = report.unwrap();
    assert_eq!(report.attempt_count, 5);
    let freed = measure(|| drop(report)).bytes_current;
    size_of::<RetryReport>() as f64 - freed as f64
}
