//! The header in which a service takes a key of idempotency is data of its table.

use futures_util::FutureExt;
use http::Request;
use http_retry::dialect::Dialect;
use http_retry::policy::Verdict;
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Reach, RetryPolicy, RetryReport};
use std::time::Duration;
use tower::{Layer, ServiceExt};

fn attempts(dialect: Option<Dialect>, name: &str) -> u32 {
    let builder = RetryPolicy::background().to_builder();
    let builder = match dialect {
        Some(dialect) => builder.dialect(dialect),
        None => builder,
    };
    let layer = RetryLayer::new(builder.build().unwrap()).runtime(ManualRuntime::new());
    let slot = RetryReport::slot();
    let request = Request::post("http://api.example/orders").header(name, "7");
    let request = request.extension(slot.clone()).body(String::new()).unwrap();
    let server = Script::new().status(503).status(201);
    let sent = layer.layer(server).oneshot(request).now_or_never();
    assert!(sent.unwrap().is_ok());
    slot.take().unwrap().attempt_count()
}

#[test]
fn a_key_counts_in_the_header_of_its_service() {
    assert_eq!(attempts(None, "paypal-request-id"), 1);
    assert_eq!(attempts(Some(Dialect::paypal()), "paypal-request-id"), 2);
    assert_eq!(
        attempts(Some(Dialect::paypal()), "chargebee-idempotency-key"),
        1
    );
    assert_eq!(attempts(Some(Dialect::paypal()), "idempotency-key"), 2);
}

#[test]
fn an_operation_says_when_to_come_back() {
    let clock = ManualRuntime::new();
    let runner = Runner::on(clock.clone(), RetryPolicy::background());
    let busy = Verdict::new(Class::Throttled, Reach::Refused);
    let judge = |_: &()| busy.asking_for(Duration::from_secs(90));
    let run = runner.run(judge, |attempt| async move {
        if attempt.number() < 2 {
            Err(())
        } else {
            Ok(())
        }
    });
    assert_eq!(run.now_or_never(), Some(Ok(())));
    assert!(clock.sleeps()[0] >= Duration::from_secs(90));
}
