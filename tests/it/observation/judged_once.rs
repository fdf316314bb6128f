//! A classifier is asked once for each attempt, whatever is read and whoever is told.

use super::{URL, every_second};
use futures_util::FutureExt;
use http_retry::policy::{Classify, Verdict};
use http_retry::reqwest::RetryMiddleware;
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Outcome, Reach, ReportSlot, RetryPolicy};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tower::{Layer, ServiceExt};

type Count = Arc<AtomicUsize>;

/// Counts what it is asked, and says what it is told to of a 2xx.
struct Counting {
    asked: Count,
    reads: bool,
    of_success: Option<Class>,
}

impl Classify for Counting {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self.asked.fetch_add(1, Relaxed);
        let success = outcome.class() == Class::Success;
        let said = self.of_success.filter(|_| success);
        said.map(|class| Verdict::new(class, Reach::Answered))
    }

    fn reads_body(&self, _: &Outcome<'_>) -> bool {
        self.reads
    }
}

#[derive(Debug, Clone, Copy)]
enum Stack {
    Tower,
    Reqwest,
    Runner,
}

/// How many attempts a GET takes with this classifier, and how often that is asked.
fn sent(stack: Stack, told: bool, script: &Script, counting: Counting) -> (usize, usize) {
    let asked = Arc::clone(&counting.asked);
    let policy = every_second().to_builder().classifier(counting).build();
    let slot = told.then(ReportSlot::default);
    match stack {
        Stack::Tower => by_tower(policy.unwrap(), script, slot),
        Stack::Reqwest => by_reqwest(policy.unwrap(), script, slot),
        Stack::Runner => by_runner(policy.unwrap(), script, slot),
    }
    (script.calls().len(), asked.load(Relaxed))
}

fn by_tower(policy: RetryPolicy, script: &Script, slot: Option<ReportSlot>) {
    let mut request = http::Request::get(URL).body(String::new()).unwrap();
    if let Some(slot) = slot {
        request.extensions_mut().insert(slot);
    }
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let call = layer.layer(script.clone()).oneshot(request);
    let _result = call.now_or_never().expect("nothing to wait for");
}

fn by_reqwest(policy: RetryPolicy, script: &Script, slot: Option<ReportSlot>) {
    let middleware = RetryMiddleware::new(policy).runtime(ManualRuntime::new());
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(middleware)
        .with(script.clone())
        .build();
    let mut request = client.get(URL);
    if let Some(slot) = slot {
        request = request.with_extension(slot);
    }
    let _result = request.send().now_or_never().expect("nothing to wait for");
}

/// An operation succeeds whatever the answer is.
fn by_runner(policy: RetryPolicy, script: &Script, slot: Option<ReportSlot>) {
    let mut runner = Runner::on(ManualRuntime::new(), policy).idempotent(true);
    if let Some(slot) = slot {
        runner = runner.report_to(slot);
    }
    let call = runner.run_by_policy(|_| {
        let request = http::Request::get(URL).body(String::new()).unwrap();
        script.clone().oneshot(request)
    });
    let _result = call.now_or_never().expect("nothing to wait for");
}

const SCRIPTS: [&str; 5] = ["200", "503, 200", "404", "reset, 200", "resets"];

fn script(name: &str) -> Script {
    let reset = io::ErrorKind::ConnectionReset;
    match name {
        "503, 200" => Script::new().status(503).body("no").status(200),
        "404" => Script::new().status(404).body("no"),
        "reset, 200" => Script::new().error(reset).status(200),
        "resets" => Script::new().error(reset),
        _ => Script::new(),
    }
}

#[test]
fn a_classifier_is_asked_once_for_each_attempt() {
    for stack in [Stack::Tower, Stack::Reqwest, Stack::Runner] {
        for name in SCRIPTS {
            for (told, reads, of_success) in [
                (false, false, None),
                (false, true, None),
                (true, false, None),
                (true, true, None),
                (false, false, Some(Class::Success)),
                (false, false, Some(Class::Permanent)),
                (false, false, Some(Class::Transient)),
                (true, true, Some(Class::Transient)),
            ] {
                let counting = Counting {
                    asked: Count::default(),
                    reads,
                    of_success,
                };
                let (attempts, asked) = sent(stack, told, &script(name), counting);
                let what = format!("{stack:?}, {name}, {told} {reads} {of_success:?}");
                assert_eq!(asked, attempts, "{what}");
            }
        }
    }
}

#[test]
fn what_is_taught_of_an_error_is_asked_once_for_each_attempt() {
    for reads in [false, true] {
        for stack in [Stack::Tower, Stack::Reqwest, Stack::Runner] {
            let asked = Count::default();
            let counting = Arc::clone(&asked);
            let builder = every_second()
                .to_builder()
                .classify_error(move |_: &io::Error| {
                    counting.fetch_add(1, Relaxed);
                    (Class::Transient, Reach::Unsent)
                });
            let builder = builder.classifier(Counting {
                asked: Count::default(),
                reads,
                of_success: None,
            });
            let script = Script::new().error(io::ErrorKind::Other);
            let policy = builder.build().unwrap();
            match stack {
                Stack::Tower => by_tower(policy, &script, None),
                Stack::Reqwest => by_reqwest(policy, &script, None),
                Stack::Runner => by_runner(policy, &script, None),
            }
            let asked = asked.load(Relaxed);
            assert_eq!(asked, script.calls().len(), "{stack:?} {reads}");
        }
    }
}
