//! A client with retries, in one call, in the browser.

use super::RetryMiddleware;
use ::reqwest::ClientBuilder;

/// Builds a client whose requests are retried, and returns a builder that takes more middlewares.
///
/// The browser follows redirects itself, and does not show them: a request that is not idempotent is never repeated, even
/// after a 429 ([`StopReason::RedirectsUnknown`](crate::StopReason::RedirectsUnknown)). Give it an idempotency key
/// ([`RetryMiddleware::idempotency_keys`]) if the server honours one.
///
/// A middleware that is added to the result runs inside the retries, for each attempt.
///
/// # Errors
///
/// Those of [`reqwest::ClientBuilder::build`](::reqwest::ClientBuilder::build), such as a header that is invalid.
pub fn build(
    builder: ClientBuilder,
    retries: RetryMiddleware,
) -> ::reqwest::Result<reqwest_middleware::ClientBuilder> {
    let client = builder.build()?;
    Ok(reqwest_middleware::ClientBuilder::new(client).with(retries))
}
