//! alloy-transport-http on hyper: a call of an Ethereum node.

mod client;

use clients::{Meant, Result, Server, json, same};
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let block = || json(200, r#"{"jsonrpc":"2.0","id":0,"result":"0x10d4f"}"#);
    let server = Server::unavailable(2, block).await?;
    let started = Instant::now();
    let client = client::client(server.url.parse()?)?;
    let block: String = client.request("eth_blockNumber", ("latest",)).await?;
    let meant = Meant {
        attempts: 3,
        method: "POST",
        target: "/",
        body: br#"{"method":"eth_blockNumber","params":["latest"],"id":0,"jsonrpc":"2.0"}"#,
    };
    meant.check("alloy-transport-http", &server, started)?;
    same(block, "0x10d4f")
}
