//! oauth2: a token for the client's own credentials.

mod client;

use clients::{Meant, Result, Server, json, same};
use oauth2::TokenResponse;
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let token = || json(200, r#"{"access_token": "t-1", "token_type": "bearer"}"#);
    let server = Server::unavailable(1, token).await?;
    let started = Instant::now();
    let url = format!("{}/token", server.url);
    let token = client::token(url)
        .await
        .map_err(|error| error.to_string())?;
    let meant = Meant {
        attempts: 2,
        method: "POST",
        target: "/token",
        body: b"grant_type=client_credentials",
    };
    meant.check("oauth2", &server, started)?;
    same(token.access_token().secret(), "t-1")
}
