//! A client with retries, in one call.

use super::{RetryMiddleware, redirect_policy};
use ::reqwest::{ClientBuilder, redirect::Policy};
use reqwest_middleware::ClientWithMiddleware;

/// Builds a client whose requests are retried.
///
/// It sets the two things that must go together: the client's [`redirect_policy`](redirect_policy()), and
/// [`redirects_watched`](RetryMiddleware::redirects_watched) on the middleware. Without both, no POST is repeated, even
/// after a 429: reqwest does not show the redirects that it followed.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::reqwest::{RetryMiddleware, build};
///
/// let retries = RetryMiddleware::new(RetryPolicy::background());
/// let client = build(reqwest::Client::builder(), retries)?;
/// # Ok::<(), reqwest::Error>(())
/// ```
///
/// The client follows up to ten redirects, as reqwest does by default; a redirect policy that the builder has is
/// replaced, since it cannot be read. For another one, or for more middlewares, use `redirect_policy` and
/// `redirects_watched` yourself. After [`redirects_off`](RetryMiddleware::redirects_off) the client follows none.
///
/// # Errors
///
/// Those of [`reqwest::ClientBuilder::build`](::reqwest::ClientBuilder::build), such as a TLS backend that cannot start.
pub fn build(
    builder: ClientBuilder,
    retries: RetryMiddleware,
) -> ::reqwest::Result<ClientWithMiddleware> {
    let (redirects, retries) = if retries.engine.redirects.are_off() {
        (Policy::none(), retries)
    } else {
        let watched = redirect_policy(Policy::default());
        (watched, retries.redirects_watched())
    };
    let client = builder.redirect(redirects).build()?;
    Ok(reqwest_middleware::ClientBuilder::new(client)
        .with(retries)
        .build())
}
