//! A runner inside of a layer, or of another runner.

use super::{Failed, Record, fail_with_number, idempotent, now, policy, transient};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use std::future::ready;
use std::io;
use tower::{Layer, ServiceExt, service_fn};

#[test]
fn a_runner_inside_a_retry_layer_stands_aside() {
    let record = Record::default();
    let (runner, inner) = (idempotent(policy()), record.clone());
    let service = service_fn(move |_: http::Request<String>| {
        let failed = now(runner.run(transient, |attempt| {
            inner.add(attempt);
            fail_with_number(attempt)
        }));
        let error = failed.map_err(|_| io::Error::from(io::ErrorKind::ConnectionReset));
        ready(error.map(|()| http::Response::new(String::new())))
    });
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let request = http::Request::new(String::new());
    assert!(now(layer.layer(service).oneshot(request)).is_err());
    assert_eq!(record.numbers(), [1, 1, 1]);
}

#[test]
fn a_runner_inside_a_runner_stands_aside_and_says_so() {
    let slot = RetryReport::slot();
    let inner = idempotent(policy()).report_to(slot.clone());
    let outer = idempotent(policy());
    let record = Record::default();
    let failed = now(outer.run(transient, |_| {
        ready(now(inner.run(transient, |attempt| {
            record.add(attempt);
            fail_with_number(attempt)
        })))
    }));
    assert_eq!(failed, Err(Failed(1)));
    assert_eq!(record.numbers(), [1, 1, 1]);
    assert_eq!(slot.take().unwrap().stop, StopReason::Nested);
}
