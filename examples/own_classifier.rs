//! A classifier of your own: a shop says in the bodies of its responses what they mean.
//!
//! ```text
//! cargo run --all-features --example own_classifier
//! ```

use http::{Request, StatusCode};
use http_retry::policy::{Classify, Reason, Unit, Verdict};
use http_retry::rules::ReadBody;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Outcome, Reach, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

/// The responses of a shop, whose failures are a 409 with a code: `busy` or `sold_out`.
struct Shop;

impl Classify for Shop {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let body = outcome.body().filter(|_| self.reads_body(outcome))?;
        match body.json("/error/code").next()?.as_str() {
            "busy" => {
                let waits = body.json("/error/wait_ms");
                let times = waits.filter_map(|text| Unit::Ms.read(&text));
                let busy = Verdict::new(Class::Throttled, Reach::Refused).by_row(0);
                Some(times.fold(busy, Verdict::asking_for))
            }
            "sold_out" => {
                let sold_out = Verdict::new(Class::Permanent, Reach::Answered).by_row(1);
                Some(sold_out.because(Reason::NotFound))
            }
            _ => None,
        }
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        outcome.status() == Some(StatusCode::CONFLICT)
    }

    fn judges_successes(&self) -> bool {
        false
    }

    fn row_name(&self, row: u32) -> Option<Arc<str>> {
        let names = ["shop.busy", "shop.sold_out"];
        let name = names.get(usize::try_from(row).ok()?)?;
        Some(Arc::from(*name))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let policy = RetryPolicy::background().to_builder().classifier(Shop);
    let busy = r#"{"error": {"code": "busy", "wait_ms": 7500}}"#;
    let shop = Script::new().status(409).body(busy).status(200);
    let runtime = ManualRuntime::new();
    let layer = RetryLayer::new(policy.build()?).runtime(runtime.clone());
    let order = Request::post("http://shop.example/orders").body(String::new())?;
    let response = layer.layer(shop).oneshot(order).await?;
    assert_eq!(response.status(), StatusCode::OK);
    let [wait] = runtime.sleeps()[..] else {
        return Err("the order was not sent twice".into());
    };
    assert!(wait >= Duration::from_millis(7500));
    Ok(())
}
