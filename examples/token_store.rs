//! Retry tokens in a store of your own: two services that run on one machine share its tokens, so that an outage of one leaves
//! fewer retries to the other. Run it with `cargo run --all-features --example token_store`.

use http_retry::budget::{BudgetTerms, SharedAccount};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{ConfigError, RetryBudget, RetryPolicy, ServiceBudgets};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// The tokens of one machine, in millionths.
#[derive(Clone)]
struct TokenStore {
    terms: BudgetTerms,
    tokens: Arc<Mutex<u64>>,
}

impl TokenStore {
    fn new() -> Result<Self, ConfigError> {
        let terms = RetryBudget::builder().capacity(6).per_success(0.5).terms()?;
        let tokens = Arc::new(Mutex::new(terms.capacity));
        Ok(Self { terms, tokens })
    }

    /// Changes the tokens, unless `change` returns `None`.
    fn change(&self, change: impl FnOnce(u64) -> Option<u64>) -> bool {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(*tokens);
        *tokens = changed.unwrap_or(*tokens);
        changed.is_some()
    }

    fn add(&self, amount: u64) {
        self.change(|tokens| Some(tokens.saturating_add(amount).min(self.capacity())));
    }
}

impl SharedAccount for TokenStore {
    fn deposit(&self, _now: Duration) {
        self.add(self.terms.per_success);
    }

    fn withdraw(&self, price: u64, _now: Duration) -> bool {
        self.change(|tokens| tokens.checked_sub(price))
    }

    fn refund(&self, price: u64) {
        self.add(price);
    }

    fn tokens(&self) -> u64 {
        *self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn capacity(&self) -> u64 {
        self.terms.capacity
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let store = TokenStore::new()?;
    let make = store.clone();
    let budgets = ServiceBudgets::made_by(move |_| {
        RetryBudget::with_account(make.terms, make.clone())
    });
    // The fourth call finds half a token, from the success before it, and is not retried.
    for (host, status, sent) in [("orders", 503, 5), ("search", 503, 3), ("orders", 200, 1), ("search", 503, 1)] {
        let server = Script::new().status(status);
        let layer = RetryLayer::new(RetryPolicy::background())
            .runtime(ManualRuntime::new())
            .budgets(budgets.clone());
        let request = http::Request::get(format!("http://{host}.example/")).body(String::new())?;
        layer.layer(server.clone()).oneshot(request).await?;
        let left = store.tokens();
        println!("{host}: {} sent, {left} millionths left", server.calls().len());
        assert_eq!(server.calls().len(), sent);
    }
    Ok(())
}
