//! octocrab: a file is written, and its body copied by `try_clone`; once more without the layer's knowing how.

mod client;

use clients::{Meant, Result, Server, json, same};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use serde_json::{Value, json};
use std::time::Instant;

const TARGET: &str = "/repos/octo/cat/contents/notes.txt";

#[tokio::main]
async fn main() -> Result {
    let server = server().await?;
    let client = client::client(server.url.parse()?);
    let written = writes("octocrab, copy_body", &client, &server, 3).await?;
    same(written?, json!({"content": "written"}))?;

    let server = self::server().await?;
    let written = writes("octocrab, record_body", &recording(&server)?, &server, 3).await?;
    same(written?, json!({"content": "written"}))?;

    let server = self::server().await?;
    let written = writes("octocrab, as it is", &as_it_is(&server)?, &server, 1).await?;
    same(written.is_err(), true)
}

async fn server() -> Result<Server> {
    Server::failing(2, || json(200, r#"{"content": "written"}"#)).await
}

/// Writes a file, and checks what the server has seen of it.
async fn writes(
    name: &str,
    client: &Octocrab,
    server: &Server,
    attempts: usize,
) -> Result<octocrab::Result<Value>> {
    let started = Instant::now();
    let body = json!({"message": "a note", "content": "dGV4dA=="});
    let text = body.to_string();
    let written = client.put(TARGET, Some(&body)).await;
    let meant = Meant {
        attempts,
        method: "PUT",
        target: TARGET,
        body: text.as_bytes(),
    };
    meant.check(name, server, started)?;
    Ok(written)
}

fn recording(server: &Server) -> Result<Octocrab> {
    let retries = RetryLayer::new(RetryPolicy::background()).record_body(OctoBody::new);
    let http = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new());
    let built = OctocrabBuilder::new_empty()
        .with_service(http.build_http())
        .with_layer(&retries)
        .with_layer(&BaseUriLayer::new(server.url.parse()?))
        .with_auth(AuthState::None);
    Ok(built.build()?)
}

/// Octocrab's bodies are `Clone`, and their clones share what they are made of.
fn as_it_is(server: &Server) -> Result<Octocrab> {
    let http = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new());
    let built = OctocrabBuilder::new_empty()
        .with_service(http.build_http())
        .with_layer(&RetryLayer::new(RetryPolicy::background()))
        .with_layer(&BaseUriLayer::new(server.url.parse()?))
        .with_auth(AuthState::None);
    Ok(built.build()?)
}
