//! On its way to another server a request tells no secret: neither its own, nor what a document sets for the other.

use super::*;
use ::metrics::with_local_recorder;
use http::{Request, Response};
use http_retry::config::{Document, RetryConfig};
use http_retry::report::{DeadLetter, MetricsObserver, RetryEventKind};
use metrics_util::debugging::DebuggingRecorder;
use serde_json::json;
use std::convert::Infallible;

const SECRET: &str = "hunter2";

type Lines = Arc<Mutex<Vec<String>>>;

/// Two services that refuse everybody: by a rule to the second, and from there to the dead letters.
fn two(letters: &Lines) -> RetryConfig {
    let set = json!({"headers": {"authorization": SECRET, "x-own": SECRET}});
    let document: Document = serde_json::from_value(json!({"version": 1, "services": {
        "first": {
            "match": {"host": "first.example"},
            "retry": {
                "max_retries": 0, "credentials": ["x-vendor-key"],
                "on_exhausted": {"failover": "second", "same_keys": true, "set": set},
            },
            "rules": [{"when": 500, "failover": "second", "same_keys": true, "set": set}],
        },
        "second": {
            "base_url": "http://second.example:8080/v2",
            "retry": {"max_retries": 1, "backoff": "none", "on_exhausted": {"dead_letter": "lost"}},
        },
    }}))
    .unwrap();
    let letters = Arc::clone(letters);
    let config = RetryConfig::builder().dead_letters("lost", move |letter: &DeadLetter<'_>| {
        letters.lock().unwrap().push(format!("{letter:?}"));
    });
    config.load(&document).unwrap()
}

fn tell(lines: &Lines) -> impl Fn(&RetryEvent<'_>) + Send + Sync + 'static {
    let lines = Arc::clone(lines);
    move |event| {
        let mut lines = lines.lock().unwrap();
        lines.push(format!("{event:?}"));
        if let RetryEventKind::Stopped(report) = event.kind {
            lines.push(format!("{report} {report:?}"));
        }
    }
}

/// A call full of secrets that both services answer with this status.
fn fail_over(layer: &RetryLayer, status: u16) {
    let server = tower::service_fn(move |request: Request<String>| {
        assert_eq!(request.headers().contains_key("x-vendor-key"), {
            request.uri().host() == Some("first.example")
        });
        let answer = Response::builder().status(status).header("x-said", SECRET);
        std::future::ready(Ok::<_, Infallible>(answer.body(SECRET.to_owned()).unwrap()))
    });
    let url = format!("http://me:{SECRET}@first.example/{SECRET}?key={SECRET}");
    let request = Request::put(url)
        .header("authorization", SECRET)
        .header("x-vendor-key", SECRET)
        .header("idempotency-key", SECRET)
        .body(SECRET.to_owned())
        .unwrap();
    let call = layer.layer(server).oneshot(request).now_or_never().unwrap();
    assert_eq!(call.unwrap().status(), status);
}

#[test]
fn a_failover_tells_no_secret() {
    let lines = Lines::default();
    let config = two(&lines);
    let places = config.routes();
    lines.lock().unwrap().push(format!("{config:?} {places:?}"));
    let explained = places.iter().map(|place| place.policy.explain());
    lines.lock().unwrap().extend(explained);
    let layer = RetryLayer::from_config(&config)
        .runtime(ManualRuntime::new())
        .observe(tell(&lines))
        .observer(MetricsObserver::new());
    lines.lock().unwrap().push(format!("{layer:?}"));
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let (journal, ()) = super::journal::Journal::of(|| {
        with_local_recorder(&recorder, || {
            [500, 503]
                .into_iter()
                .for_each(|status| fail_over(&layer, status));
        });
    });
    let mut all = lines.lock().unwrap().clone();
    all.extend(journal);
    all.push(format!("{:?}", snapshotter.snapshot()));
    let all = all.join("\n");
    assert!(!all.contains(SECRET), "{all}");
    for word in [
        "second",
        "same keys",
        "DeadLetter",
        "attempts_exhausted",
        "WARN",
    ] {
        assert!(all.contains(word), "nothing of {word} in\n{all}");
    }
}
