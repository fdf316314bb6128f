//! A client with retries, in one call.

use super::{RetryMiddleware, redirect_policy};
use ::reqwest::{ClientBuilder, redirect::Policy};

/// Builds a client whose requests are retried, and returns a builder that takes more middlewares.
///
/// It sets the two things that must go together: the client's redirect policy, wrapped by
/// [`redirect_policy`](redirect_policy()), and [`redirects_watched`](RetryMiddleware::redirects_watched) on the
/// middleware. Without both, no POST is repeated, even after a 429: reqwest does not show the redirects that it followed.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::reqwest::{RetryMiddleware, build};
/// use reqwest::redirect::Policy;
///
/// let retries = RetryMiddleware::new(RetryPolicy::background());
/// let client = build(reqwest::Client::builder(), Policy::default(), retries)?.build();
/// # Ok::<(), reqwest::Error>(())
/// ```
///
/// The client follows the redirects that `redirects` allows: up to ten with `Policy::default()`, none with
/// `Policy::none()`. A builder's own redirect policy cannot be read, so pass it here and not to
/// `ClientBuilder::redirect`. All other settings of the builder stay.
///
/// A middleware that is added to the result runs inside the retries, for each attempt. For one outside of them, use
/// `redirect_policy` and `redirects_watched` yourself.
///
/// # Errors
///
/// Those of [`reqwest::ClientBuilder::build`](::reqwest::ClientBuilder::build), such as a TLS backend that cannot start.
pub fn build(
    builder: ClientBuilder,
    redirects: Policy,
    retries: RetryMiddleware,
) -> ::reqwest::Result<reqwest_middleware::ClientBuilder> {
    let client = builder.redirect(redirect_policy(redirects)).build()?;
    let builder = reqwest_middleware::ClientBuilder::new(client);
    Ok(builder.with(retries.redirects_watched()))
}
