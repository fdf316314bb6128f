//! A redirect policy that tells retry layers of every redirect.

use crate::nested::follows_redirect;
use ::reqwest::redirect::Policy;

/// Wraps a redirect policy, and tells the retry layer above the client of every redirect.
///
/// Give it to the client, and set `redirects_watched()` on the retry layer. The layer then knows which requests were
/// redirected, and trusts an answer or error that says "not processed" only for the others.
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
/// answered the request.
#[must_use]
pub fn redirect_policy(inner: Policy) -> Policy {
    Policy::custom(move |attempt| {
        let first = attempt.previous().first();
        follows_redirect(first.map(::reqwest::Url::path));
        inner.redirect(attempt)
    })
}
