use http_cache_reqwest::{Cache, CacheMode, HttpCache, HttpCacheOptions, MokaManager};
use http_retry::RetryPolicy;
use http_retry::reqwest::{RetryMiddleware, redirect_policy};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

pub fn client() -> reqwest::Result<ClientWithMiddleware> {
    let cache = Cache(HttpCache {
        mode: CacheMode::Default,
        manager: MokaManager::default(),
        options: HttpCacheOptions::default(),
    });
    let http = reqwest::Client::builder().redirect(redirect_policy(Default::default()));
    let retries = RetryMiddleware::new(RetryPolicy::background()).redirects_watched();
    // The cache first: what it has needs no attempt.
    let client = ClientBuilder::new(http.build()?).with(cache).with(retries);
    Ok(client.build())
}
