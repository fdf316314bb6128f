//! Answers of LLM APIs on whole stacks: nothing of them is lost, and all callers wait together.

mod bodies;
mod document;
mod gate;
mod keys;
mod server;
mod settings;
mod turns;

use http::Request;
use http_retry::RetryReport;
use http_retry::report::ReportSlot;

/// A POST with a place for its report.
fn post<B>(body: B) -> (Request<B>, ReportSlot) {
    let slot = RetryReport::slot();
    let mut request = Request::post("http://api.example/v1/chat")
        .body(body)
        .unwrap();
    request.extensions_mut().insert(slot.clone());
    (request, slot)
}
