use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::{RetryOverride, RetryPolicy};
use reqwest::redirect::Policy;
use reqwest_middleware::ClientWithMiddleware;
use std::time::Duration;
use tokio::net::TcpListener;

/// The time that a caller has at most, and without the header.
const LONGEST: Duration = Duration::from_secs(10);

async fn order(
    State(client): State<ClientWithMiddleware>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<String, StatusCode> {
    let url = format!("http://orders.internal:8080/orders/{id}");
    let deadline = RetryOverride::new().deadline(time_left(&headers));
    let sent = client.get(url).with_extension(deadline).send().await;
    // An error is a connection that failed to the end, or a deadline that passed.
    let response = sent.map_err(|_| StatusCode::GATEWAY_TIMEOUT)?;
    if !response.status().is_success() {
        return Err(StatusCode::BAD_GATEWAY);
    }
    response.text().await.map_err(|_| StatusCode::BAD_GATEWAY)
}

/// Reads the caller's `x-timeout-ms`.
fn time_left(headers: &HeaderMap) -> Duration {
    let value = headers.get("x-timeout-ms");
    let text = value.and_then(|value| value.to_str().ok());
    let millis = text.and_then(|text| text.parse().ok());
    millis.map_or(LONGEST, Duration::from_millis).min(LONGEST)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let retries = RetryMiddleware::new(RetryPolicy::user_facing());
    let client = build(reqwest::Client::builder(), Policy::default(), retries)?.build();
    // One client for all requests: its clones share the budget and the connections.
    let app = Router::new().route("/orders/{id}", get(order));
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, app.with_state(client)).await?;
    Ok(())
}
