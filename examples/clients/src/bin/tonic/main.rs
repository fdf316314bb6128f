//! tonic: a unary call that is `UNAVAILABLE` in the head first.

mod client;

use clients::{Meant, Result, Server, grpc, same};
use std::time::Instant;
use tonic_health::pb::health_check_response::ServingStatus;

/// `HealthCheckRequest { service: "orders" }` in a frame of gRPC.
const REQUEST: &[u8] = b"\0\0\0\0\x08\x0a\x06orders";

/// `HealthCheckResponse { status: SERVING }`.
const RESPONSE: &[u8] = b"\x08\x01";

#[tokio::main]
async fn main() -> Result {
    const UNAVAILABLE: u8 = 14;
    let server = Server::start(|number, _| {
        if number < 2 {
            grpc(UNAVAILABLE, None)
        } else {
            grpc(0, Some(RESPONSE))
        }
    });
    let server = server.await?;
    let started = Instant::now();
    let status = client::check(server.url.clone(), "orders").await?;
    let meant = Meant {
        attempts: 3,
        method: "POST",
        target: "/grpc.health.v1.Health/Check",
        body: REQUEST,
    };
    meant.check("tonic", &server, started)?;
    same(status, ServingStatus::Serving)
}
