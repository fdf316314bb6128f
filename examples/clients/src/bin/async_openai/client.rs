use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use http_retry::RetryPolicy;
use http_retry::llm::LlmPreset;
use http_retry::reqwest::redirect_policy;
use http_retry::tower::RetryLayer;
use tower::{Layer, ServiceExt, service_fn};

pub fn client(config: OpenAIConfig) -> reqwest::Result<Client<OpenAIConfig>> {
    let http = reqwest::Client::builder().redirect(redirect_policy(Default::default()));
    let retries = RetryLayer::new(RetryPolicy::llm()).redirects_watched();
    let retries = retries.layer(http.build()?);
    let service = service_fn(move |request: HttpRequestFactory| {
        let retries = retries.clone();
        async move { Ok::<_, OpenAIError>(retries.oneshot(request.build().await?).await?) }
    });
    Ok(Client::with_config(config).with_http_service(service))
}
