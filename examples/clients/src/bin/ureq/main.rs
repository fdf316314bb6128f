//! ureq, which blocks: a GET, a DELETE and two POSTs, one of them with an `Idempotency-Key`.

mod client;

use clients::{Meant, Result, Server, answer, same};
use std::time::Instant;
use tokio::task::spawn_blocking;

#[tokio::main]
async fn main() -> Result {
    for (method, body) in [("GET", ""), ("DELETE", ""), ("POST", "a note")] {
        let server = Server::failing(2, || answer(200, "text/plain", "done")).await?;
        check(server, method, body, None).await?;
    }
    // A 503 may come from a server that has processed the request.
    let server = Server::unavailable(2, || answer(200, "text/plain", "done")).await?;
    check(server, "POST", "an order", Some("order-7")).await
}

async fn check(
    server: Server,
    method: &'static str,
    body: &'static str,
    key: Option<&'static str>,
) -> Result {
    let (started, url) = (Instant::now(), format!("{}/page", server.url));
    let done = spawn_blocking(move || send(method, &url, body, key)).await??;
    let meant = Meant {
        attempts: 3,
        method,
        target: "/page",
        body: body.as_bytes(),
    };
    meant.check("ureq", &server, started)?;
    same(done, "done")
}

fn send(method: &str, url: &str, body: &str, key: Option<&str>) -> Result<String> {
    let request = http::Request::builder().method(method).uri(url);
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    let agent = client::client();
    let mut response = if body.is_empty() {
        agent.run(request.body(())?)?
    } else {
        agent.run(request.body(body)?)?
    };
    Ok(response.body_mut().read_to_string()?)
}
