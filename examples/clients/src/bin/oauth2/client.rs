use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::{Methods, RetryPolicy};
use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{ClientId, ClientSecret, HttpRequest, HttpResponse, TokenUrl};
use reqwest::redirect::Policy;
use reqwest_middleware::{ClientWithMiddleware, Error};

pub async fn token(url: String) -> Result<BasicTokenResponse, Box<dyn std::error::Error>> {
    // A token is requested by POST, and a second request does no harm.
    let policy = RetryPolicy::user_facing()
        .to_builder()
        .methods(Methods::All)
        .build()?;
    let retries = RetryMiddleware::new(policy);
    let http = build(reqwest::Client::builder(), Policy::none(), retries)?.build();
    let client = BasicClient::new(ClientId::new("me".into()))
        .set_client_secret(ClientSecret::new("secret".into()))
        .set_token_uri(TokenUrl::new(url)?);
    let exchange = client.exchange_client_credentials();
    Ok(exchange
        .request_async(&|request| send(&http, request))
        .await?)
}

async fn send(http: &ClientWithMiddleware, request: HttpRequest) -> Result<HttpResponse, Error> {
    let response = http.execute(request.try_into()?).await?;
    let mut converted = HttpResponse::default();
    *converted.status_mut() = response.status();
    *converted.headers_mut() = response.headers().clone();
    *converted.body_mut() = response.bytes().await?.into();
    Ok(converted)
}
