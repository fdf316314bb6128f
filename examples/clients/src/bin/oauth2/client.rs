use http_retry::reqwest::RetryMiddleware;
use http_retry::{Methods, RetryPolicy};
use oauth2::basic::{BasicClient, BasicTokenResponse};
use oauth2::{ClientId, ClientSecret, HttpRequest, HttpResponse, TokenUrl};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error};

pub async fn token(url: String) -> Result<BasicTokenResponse, Box<dyn std::error::Error>> {
    // A token is asked for by POST, and asking twice does no harm.
    let policy = RetryPolicy::user_facing()
        .to_builder()
        .methods(Methods::All)
        .build()?;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let retries = RetryMiddleware::new(policy).redirects_off();
    let http = ClientBuilder::new(http.build()?).with(retries).build();
    let client = BasicClient::new(ClientId::new("me".into()))
        .set_client_secret(ClientSecret::new("secret".into()))
        .set_token_uri(TokenUrl::new(url)?);
    let asked = client.exchange_client_credentials();
    Ok(asked.request_async(&|request| send(&http, request)).await?)
}

async fn send(http: &ClientWithMiddleware, request: HttpRequest) -> Result<HttpResponse, Error> {
    let response = http.execute(request.try_into()?).await?;
    let mut answer = HttpResponse::default();
    *answer.status_mut() = response.status();
    *answer.headers_mut() = response.headers().clone();
    *answer.body_mut() = response.bytes().await?.into();
    Ok(answer)
}
