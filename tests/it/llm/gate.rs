//! One pause for all callers, on a whole stack.

#![expect(
    clippy::disallowed_methods,
    reason = "its server and its callers live on tokio's paused clock"
)]

use super::post;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::gate::Gate;
use http_retry::policy::DelaySource;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

/// When requests came in, and which of them were refused.
#[derive(Clone, Default)]
struct Server {
    came: Arc<Mutex<Vec<(Duration, bool)>>>,
}

const PAUSE: Duration = Duration::from_secs(20);
const ROUND_TRIP: Duration = Duration::from_millis(10);

impl Server {
    /// Refuses everybody until the pause is over.
    async fn answer(
        self,
        start: Instant,
        key: &'static str,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let now = start.elapsed();
        let refused = key != "other" && now < PAUSE;
        self.came.lock().unwrap().push((now, refused));
        tokio::time::sleep(ROUND_TRIP).await;
        let mut response = Response::new(Full::default());
        if refused {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            let left = (PAUSE - now).as_secs() + 1;
            response
                .headers_mut()
                .insert("retry-after", HeaderValue::from(left));
        }
        Ok(response)
    }
}

/// Calls that come in over a second, each under this key.
async fn calls(gate: Gate, keys: &[&'static str]) -> (Server, Vec<Option<DelaySource>>) {
    let (server, start) = (Server::default(), Instant::now());
    let layer = RetryLayer::new(RetryPolicy::rate_limited())
        .gate(gate)
        .budget(RetryBudget::builder().capacity(1).build().unwrap());
    let calls = keys.iter().copied().enumerate().map(|(number, key)| {
        let (server, layer) = (server.clone(), layer.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(50) * u32::try_from(number).unwrap()).await;
            let (mut request, slot) = post(String::new());
            request
                .headers_mut()
                .insert("authorization", HeaderValue::from_static(key));
            let client = service_fn(move |_: Request<String>| server.clone().answer(start, key));
            let answer = layer.layer(client).oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            slot.take().unwrap().attempts.last().unwrap().delay_source
        }
    });
    let sources = join_all(calls).await;
    (server, sources)
}

#[tokio::test(start_paused = true)]
async fn after_four_refusals_only_probes_go_before_the_pause_is_over() {
    let (server, sources) = calls(Gate::new(), &["one"; 20]).await;
    let came = server.came.lock().unwrap();
    // Four close the gate, and two go as probes.
    let refused = came.iter().filter(|(_, refused)| *refused).count();
    assert_eq!((refused, came.len()), (6, 26));
    assert!(came.iter().skip(6).all(|(at, _)| *at >= PAUSE));
    assert_eq!(sources, vec![Some(DelaySource::Gate); 20]);
}

#[tokio::test(start_paused = true)]
async fn another_credential_has_its_own_gate_where_wanted() {
    let keys = ["one", "other"].repeat(10);
    let refused = |server: &Server| {
        let came = server.came.lock().unwrap();
        came.iter().filter(|(_, refused)| *refused).count()
    };
    let (server, _) = calls(Gate::new().per_credential(), &keys).await;
    assert_eq!(refused(&server), 6, "the gate of one is closed");
    // The successes of the other say that the limit is not everybody's.
    let (server, _) = calls(Gate::new(), &keys).await;
    assert_eq!(refused(&server), 10);
}
