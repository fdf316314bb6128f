//! Retry tokens in a store of your own, shared by two budgets: an outage of one service leaves fewer retries to the other.
//!
//! Run it: `cargo run --all-features --example token_store`.

#![expect(clippy::print_stdout, reason = "it shows the tokens that are left")]

use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use http_retry_core::sharing::{BudgetExt, BudgetTerms, SharedAccount};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

/// The tokens of one machine, in millionths.
#[derive(Clone)]
struct TokenStore {
    terms: BudgetTerms,
    tokens: Arc<Mutex<u64>>,
}

impl TokenStore {
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
async fn main() -> Result<(), BoxError> {
    let terms = RetryBudget::builder().capacity(6).terms()?;
    let tokens = Arc::new(Mutex::new(terms.capacity));
    let store = TokenStore { terms, tokens };
    let orders = RetryBudget::with_account(terms, store.clone());
    let search = RetryBudget::with_account(terms, store.clone());
    // The first call leaves two tokens to the second, and nothing is left for the third.
    for budget in [&orders, &search, &search] {
        let server = Script::new().status(503);
        let layer = RetryLayer::new(RetryPolicy::background())
            .runtime(ManualRuntime::new())
            .budget(budget.clone());
        let request = http::Request::get("http://example.com/").body(String::new())?;
        layer.layer(server.clone()).oneshot(request).await?;
        let (sent, left) = (server.calls().len(), store.tokens());
        println!("sent {sent} times, {left} millionths of a token left");
    }
    Ok(())
}
