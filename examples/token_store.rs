//! Retry tokens in a store of your own: two services on one machine share its tokens, so that an outage of one leaves fewer
//! retries to the other. Run it with `cargo run --all-features --example token_store`.

use http_retry::budget::{BudgetTerms, SharedAccount};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy, ServiceBudgets};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// The tokens of one machine, in millionths.
#[derive(Clone)]
struct TokenStore {
    terms: BudgetTerms,
    tokens: Arc<AtomicU64>,
}

impl SharedAccount for TokenStore {
    fn deposit(&self, _now: Duration) {
        self.refund(self.terms.per_success);
    }

    fn withdraw(&self, price: u64, _now: Duration) -> bool {
        let less = |tokens: u64| tokens.checked_sub(price);
        self.tokens.fetch_update(Relaxed, Relaxed, less).is_ok()
    }

    fn refund(&self, price: u64) {
        let more = |tokens: u64| Some(tokens.saturating_add(price).min(self.terms.capacity));
        // The closure never returns `None`.
        let _ = self.tokens.fetch_update(Relaxed, Relaxed, more);
    }

    fn tokens(&self) -> u64 {
        self.tokens.load(Relaxed)
    }

    fn capacity(&self) -> u64 {
        self.terms.capacity
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let terms = RetryBudget::builder()
        .capacity(6)
        .per_success(0.5)
        .terms()?;
    let tokens = Arc::new(AtomicU64::new(terms.capacity));
    let store = TokenStore { terms, tokens };
    let make = store.clone();
    let budgets = ServiceBudgets::made_by(move |_| RetryBudget::with_account(terms, make.clone()));
    let layer = RetryLayer::new(RetryPolicy::background())
        .runtime(ManualRuntime::new())
        .budgets(budgets);
    // The last call finds half a token, from the success before it, and is not retried.
    for (host, status, sent) in [
        ("orders", 503, 5),
        ("search", 503, 3),
        ("orders", 200, 1),
        ("search", 503, 1),
    ] {
        let server = Script::new().status(status);
        let request = http::Request::get(format!("http://{host}.example/")).body(String::new())?;
        layer.layer(server.clone()).oneshot(request).await?;
        let count = server.calls().len();
        println!("{host}: {count} sent, {} millionths left", store.tokens());
        assert_eq!(count, sent);
    }
    Ok(())
}
