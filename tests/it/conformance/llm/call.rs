//! One call through the layer to a client that answers from a list.

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicyBuilder, RetryReport};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{ServiceBuilder, ServiceExt, service_fn};

/// 2026-08-21T12:00:00Z.
const NOW: Duration = Duration::from_secs(1_787_313_600);

/// What the client answers; after the last one it answers 200.
#[derive(Clone)]
pub(in crate::conformance) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

/// A request that was sent.
pub(in crate::conformance) struct Sent {
    pub(in crate::conformance) headers: HeaderMap,
    pub(in crate::conformance) body: String,
}

impl Answer {
    pub(in crate::conformance) fn of(
        status: u32,
        headers: &Value,
        body: &Value,
    ) -> Result<Self, String> {
        let status = u16::try_from(status).map_err(|error| error.to_string())?;
        let status = StatusCode::from_u16(status).map_err(|error| error.to_string())?;
        let given = headers.as_object().ok_or("headers: wanted an object")?;
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| e.to_string())?;
            let value = value.as_str().ok_or("headers: wanted texts")?;
            let value = HeaderValue::from_str(value).map_err(|e| e.to_string())?;
            headers.append(name, value);
        }
        let body = match body {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        };
        Ok(Self {
            status,
            headers,
            body,
        })
    }

    pub(in crate::conformance) fn is_rate_limit(&self) -> bool {
        self.status == StatusCode::TOO_MANY_REQUESTS
    }
}

/// The report of a POST with this body, and every request that was sent.
pub(in crate::conformance) fn call(
    policy: RetryPolicyBuilder,
    body: &str,
    answers: &[Answer],
) -> Result<(RetryReport, Vec<Sent>), String> {
    let request = Request::post("http://api.example/v1").body(body.to_owned());
    let request = request.map_err(|error| error.to_string())?;
    call_with(policy, request, answers)
}

pub(in crate::conformance) fn call_with(
    policy: RetryPolicyBuilder,
    mut request: Request<String>,
    answers: &[Answer],
) -> Result<(RetryReport, Vec<Sent>), String> {
    let policy = policy.build().map_err(|error| error.to_string())?;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let answers = answers.to_vec();
    let seen = Arc::clone(&sent);
    let client = service_fn(move |request: Request<String>| {
        let mut seen = seen.lock().unwrap();
        let answer = answers.get(seen.len()).cloned();
        seen.push(Sent {
            headers: request.headers().clone(),
            body: request.into_body(),
        });
        async move { Ok::<_, Infallible>(response(answer)) }
    });
    let layer = RetryLayer::new(policy)
        .budget(RetryBudget::unlimited())
        .runtime(ManualRuntime::new().with_wall(NOW));
    let slot = RetryReport::slot();
    request.extensions_mut().insert(slot.clone());
    let service = ServiceBuilder::new().layer(layer).service(client);
    let done = service.oneshot(request).now_or_never();
    let _ = done.ok_or("the call is still under way")?;
    let report = slot.take().ok_or("no report")?;
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    Ok((report, sent))
}

fn response(answer: Option<Answer>) -> Response<Full<Bytes>> {
    let Some(answer) = answer else {
        return Response::new(Full::default());
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}
