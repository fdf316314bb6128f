//! A redirect policy that tells retry layers of every redirect.

use crate::nested::follows_redirect;
use ::reqwest::redirect::Policy;

/// The same redirect policy, which tells the retry layer above the client of every redirect.
///
/// Give it to the client, and say `redirects_watched()` to the retry layer. Then a request that was redirected is known
/// from one that was not, and only the latter is repeated on the word of an answer or error that it was not processed.
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
/// It allows the redirects that `inner` allows. A redirect that `inner` stops or refuses counts as one as well: the server
/// has answered the request.
#[must_use]
pub fn redirect_policy(inner: Policy) -> Policy {
    Policy::custom(move |attempt| {
        let first = attempt.previous().first();
        follows_redirect(first.map(::reqwest::Url::path));
        inner.redirect(attempt)
    })
}
