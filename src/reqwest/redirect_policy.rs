//! A redirect policy that reports every redirect to the retry layers.

use ::reqwest::redirect::Policy;
use http_retry_core::adapter::follows_redirect;

/// Wraps a redirect policy, and reports every redirect to the retry layers above the client.
///
/// Give it to the client, and set `redirects_watched()` on the retry layer. The layer then knows the requests that were
/// redirected, and trusts a response or error that says "not processed" only for the others.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::reqwest::{RetryMiddleware, redirect_policy};
/// use reqwest::redirect::Policy;
///
/// # fn main() -> reqwest::Result<()> {
/// let client = reqwest::Client::builder()
///     .redirect(redirect_policy(Policy::default()))
///     .build()?;
/// let client = reqwest_middleware::ClientBuilder::new(client)
///     .with(RetryMiddleware::new(RetryPolicy::background()).redirects_watched())
///     .build();
/// # Ok(()) }
/// ```
///
/// It allows the redirects that `inner` allows. A redirect that `inner` stops or refuses counts too: the server has
/// responded to the request.
#[must_use]
pub fn redirect_policy(inner: Policy) -> Policy {
    Policy::custom(move |attempt| {
        let first = attempt.previous().first();
        // Before `inner` decides, since a refused redirect counts too.
        follows_redirect(first.map(::reqwest::Url::path));
        inner.redirect(attempt)
    })
}
