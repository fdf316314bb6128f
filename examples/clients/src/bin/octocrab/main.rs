//! octocrab: a file is read, deleted and written, and its bodies are recorded; a write once more without the layer's knowing
//! how its body is copied.

mod client;

use clients::{Meant, Result, Server, json, same};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde_json::{Value, json};
use std::time::Instant;

const TARGET: &str = "/repos/octo/cat/contents/notes.txt";

#[tokio::main]
async fn main() -> Result {
    for method in ["GET", "DELETE", "POST", "PUT"] {
        let server = server().await?;
        let client = client::client(server.url.parse()?);
        let answer = call(&client, &server, (method, 3)).await?;
        same(answer?, json!({"content": "written"}))?;
    }
    for (method, attempts) in [("GET", 3), ("PUT", 1)] {
        let server = server().await?;
        let answer = call(&as_it_is(&server)?, &server, (method, attempts)).await?;
        same(answer.is_ok(), attempts > 1)?;
    }
    Ok(())
}

async fn server() -> Result<Server> {
    Server::failing(2, || json(200, r#"{"content": "written"}"#)).await
}

/// Makes a call, and checks what the server has seen of it.
async fn call(
    client: &Octocrab,
    server: &Server,
    (method, attempts): (&str, usize),
) -> Result<octocrab::Result<Value>> {
    let started = Instant::now();
    let body = json!({"message": "a note", "content": "dGV4dA=="});
    let answer = match method {
        "GET" => client.get(TARGET, None::<&()>).await,
        "DELETE" => client.delete(TARGET, None::<&()>).await,
        "POST" => client.post(TARGET, Some(&body)).await,
        _ => client.put(TARGET, Some(&body)).await,
    };
    let text = match method {
        "GET" | "DELETE" => String::new(),
        _ => body.to_string(),
    };
    let meant = Meant {
        attempts,
        method,
        target: TARGET,
        body: text.as_bytes(),
    };
    meant.check("octocrab", server, started)?;
    Ok(answer)
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
