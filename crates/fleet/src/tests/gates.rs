//! The gate of a process whose server goes away.

use super::server::Server;
use crate::Fleet;
use http_retry::tower::RetryLayer;
use http_retry_core::RetryPolicy;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// A client in a fleet of its own.
struct Process {
    fleet: Fleet,
    layer: RetryLayer,
    /// So many of its next calls are refused.
    refused: Arc<AtomicUsize>,
}

impl Process {
    /// One that shares its gate.
    async fn joined(server: &Server) -> Self {
        let fleet = Fleet::builder().wait(Duration::from_secs(1));
        let fleet = fleet.redis(&server.url()).unwrap();
        let layer = RetryLayer::new(RetryPolicy::rate_limited()).fleet(&fleet);
        let process = Self {
            layer,
            fleet,
            refused: Arc::default(),
        };
        process.get().await;
        while !process.fleet.status().joined {
            tokio::task::yield_now().await;
        }
        process
    }

    async fn get(&self) -> u16 {
        let refused = Arc::clone(&self.refused);
        let service = tower::service_fn(move |_: http::Request<String>| {
            let mut response = http::Response::new(String::new());
            let less = |left: usize| left.checked_sub(1);
            if refused
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                .is_ok()
            {
                *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
                let wait = http::HeaderValue::from_static("2");
                response.headers_mut().insert("retry-after", wait);
            }
            std::future::ready(Ok::<_, Infallible>(response))
        });
        let request = http::Request::get("http://api.example/").body(String::new());
        let response = self.layer.layer(service).oneshot(request.unwrap()).await;
        response.unwrap().status().as_u16()
    }
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_gate_leaves_and_rejoins_with_its_store() {
    let mut server = Server::start(&[]);
    let process = Process::joined(&server).await;
    server.kill();
    process.refused.store(2, Ordering::SeqCst);
    assert_eq!(process.get().await, 200);
    while process.fleet.status().joined {
        tokio::task::yield_now().await;
    }
    server.start_again();
    while !process.fleet.status().joined {
        assert_eq!(process.get().await, 200);
        tokio::task::yield_now().await;
    }
}
