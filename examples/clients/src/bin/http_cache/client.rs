use http_cache_reqwest::{Cache, CacheMode, HttpCache, HttpCacheOptions, MokaManager};
use http_retry::RetryPolicy;
use http_retry::reqwest::RetryMiddleware;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

pub fn client() -> ClientWithMiddleware {
    let cache = Cache(HttpCache {
        mode: CacheMode::Default,
        manager: MokaManager::default(),
        options: HttpCacheOptions::default(),
    });
    // The cache first: what it has needs no attempt.
    ClientBuilder::new(reqwest::Client::new())
        .with(cache)
        .with(RetryMiddleware::new(RetryPolicy::background()))
        .build()
}
