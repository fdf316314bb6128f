//! The tower layer on a service of the user's, and an operation.

use crate::Outcome;
use crate::calls::{Script, quick, same};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use http_retry::policy::Moment;
use http_retry::runtime::{BrowserRuntime, Runtime, Sleep};
use http_retry::{RetryLayer, Runner};
use std::cell::Cell;
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

/// Sends a request by `fetch`. The future is not `Send`.
async fn fetch(request: Request<String>) -> reqwest::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let sent = reqwest::Client::new().request(parts.method, parts.uri.to_string());
    let response = sent.headers(parts.headers).body(body).send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut answer = Response::new(Full::new(response.bytes().await?));
    (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
    Ok(answer)
}

pub(crate) async fn the_layer_repeats_on_a_service_of_the_users() -> Outcome {
    let script = Script::new("the_layer_repeats_on_a_service_of_the_users", "503,cut,200");
    let client = RetryLayer::new(quick().build()?).layer(service_fn(fetch));
    let request = Request::put(script.url()).body("a body".to_owned())?;
    let response = client
        .oneshot(request)
        .await
        .map_err(|error| error.to_string())?;
    same(response.status().as_u16(), 200)?;
    let body = response
        .into_body()
        .collect()
        .await
        .map_err(|error| error.to_string())?;
    same(body.to_bytes(), "200 is what the script says")?;
    same(script.seen().await?, ["PUT", "PUT", "PUT"])
}

thread_local!(static WAITS: Cell<usize> = const { Cell::new(0) });

/// The browser's, but it counts.
struct Counting;

impl Runtime for Counting {
    fn now(&self) -> Duration {
        BrowserRuntime.now()
    }

    fn moment(&self) -> Moment {
        BrowserRuntime.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        WAITS.set(WAITS.get() + 1);
        BrowserRuntime.sleep(duration)
    }
}

pub(crate) async fn the_layer_runs_on_a_runtime_of_the_users() -> Outcome {
    let script = Script::new("the_layer_runs_on_a_runtime_of_the_users", "503,503,200");
    let layer = RetryLayer::new(quick().build()?).runtime(Counting);
    let request = Request::get(script.url()).body(String::new())?;
    let response = layer.layer(service_fn(fetch)).oneshot(request).await;
    same(
        response
            .map_err(|error| error.to_string())?
            .status()
            .as_u16(),
        200,
    )?;
    same(WAITS.get(), 2)
}

pub(crate) async fn an_operation_reads_the_body_again() -> Outcome {
    let script = Script::new("an_operation_reads_the_body_again", "broken,503,200");
    let runner = Runner::new(quick().build()?).idempotent(true);
    let text = runner
        .run_by_policy(async |_| {
            let response = reqwest::get(script.url()).await?.error_for_status()?;
            response.text().await
        })
        .await?;
    same(text.as_str(), "200 is what the script says")?;
    same(script.seen().await?, ["GET", "GET", "GET"])
}
