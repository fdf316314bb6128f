//! jsonrpsee: a call by its HTTP client.

mod client;

use clients::{Meant, Result, Server, json, same};
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let server =
        Server::unavailable(2, || json(200, r#"{"jsonrpc":"2.0","id":0,"result":3}"#)).await?;
    let started = Instant::now();
    let sum = client::sum(&server.url).await?;
    let meant = Meant {
        attempts: 3,
        method: "POST",
        target: "/",
        body: br#"{"jsonrpc":"2.0","id":0,"method":"sum","params":[1,2]}"#,
    };
    meant.check("jsonrpsee", &server, started)?;
    same(sum, 3)
}
