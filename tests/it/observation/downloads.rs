//! What logs and metrics say of downloads that go on where they broke.

use super::counters::measured;
use super::journal::Journal;
use crate::resume::script::{Piece, Scripted, Turn, download, get, layer, policy};
use async_trait::async_trait;
use futures_util::FutureExt;
use http::Extensions;
use http_retry::RetryBudget;
use http_retry::report::MetricsObserver;
use http_retry::reqwest::{RetryMiddleware, SendResumed};
use http_retry::resume::{Interrupted, ResumeFailure};
use http_retry::testing::ManualRuntime;
use metrics_util::debugging::DebugValue;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use tower::ServiceExt;

/// Answers a client of reqwest.
struct OnReqwest(Scripted);

#[async_trait]
impl Middleware for OnReqwest {
    async fn handle(
        &self,
        request: reqwest::Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let mut asked = get();
        *asked.headers_mut() = request.headers().clone();
        let answer = self.0.clone().oneshot(asked).await;
        let answer = answer.map_err(reqwest_middleware::Error::middleware)?;
        Ok(answer.map(reqwest::Body::wrap).into())
    }
}

/// Resets, then ends early, then is another file.
fn troubled() -> Scripted {
    Scripted::new([
        Turn::file(100).sends(0..10).then(Piece::Reset),
        Turn::rest(0, 100).sends(0..20),
        Turn::rest(0, 100).header("etag", "\"b\""),
    ])
}

fn runtime() -> ManualRuntime {
    ManualRuntime::new().with_random(u64::MAX)
}

/// Why the download of a troubled file ends on a stack without a network.
fn by_tower() -> ResumeFailure {
    let layer = layer(policy()).runtime(runtime());
    let layer = layer.observer(MetricsObserver::new());
    let layer = layer.budget(RetryBudget::unlimited()).resume_downloads();
    let ended = download(layer, &troubled(), get()).now_or_never().unwrap();
    ended.interrupted().unwrap().2
}

fn by_reqwest() -> ResumeFailure {
    let retries = RetryMiddleware::new(policy().build().unwrap()).runtime(runtime());
    let retries = retries.observer(MetricsObserver::new());
    let retries = retries.budget(RetryBudget::unlimited());
    let client = ClientBuilder::new(reqwest::Client::new()).with(retries);
    let client = client.with(OnReqwest(troubled())).build();
    let read = async {
        let response = client.get("http://files.example/a").send_resumed().await;
        response.unwrap().bytes().await.unwrap_err()
    };
    let error = read.now_or_never().unwrap();
    Interrupted::of(&error).unwrap().reason()
}

#[test]
fn each_resume_is_a_warning_and_each_request_a_span() {
    for run in [by_tower, by_reqwest] {
        let (lines, why) = Journal::of(run);
        assert_eq!(why, ResumeFailure::Changed);
        let warned = |at: u32, kind: &str| {
            format!(
                "WARN will resume the download: at={at} delay_ms=1000 error.type={kind} length=100 \
                 server.address=files.example service=files.example"
            )
        };
        let sent = |status: u16| {
            format!(
                "http.attempt: http.request.method=GET http.response.status_code={status} \
                 otel.kind=client otel.name=GET server.address=files.example server.port=80"
            )
        };
        let wanted = [
            sent(200),
            warned(10, "reset"),
            sent(206),
            warned(20, "incomplete"),
            sent(206),
            "WARN the download broke for good: at=20 error.type=incomplete length=100 \
             server.address=files.example service=files.example why=changed"
                .to_owned(),
        ];
        assert_eq!(lines, wanted);
    }
}

#[test]
fn each_resume_is_counted_by_its_break_and_its_outcome() {
    for run in [by_tower, by_reqwest] {
        let measured = measured(|| assert_eq!(run(), ResumeFailure::Changed));
        let counts = measured
            .into_iter()
            .filter_map(|(name, value)| match value {
                DebugValue::Counter(count) => Some(format!("{name}: {count}")),
                _ => None,
            });
        let wanted = [
            "http_retry_attempts_total service=files.example class=success status=200 dialect=none: 1",
            "http_retry_attempts_total service=files.example class=success status=206 dialect=none: 2",
            "http_retry_requests_total service=files.example stop=succeeded budget=none: 3",
            "http_retry_resumes_total service=files.example kind=incomplete outcome=changed: 1",
            "http_retry_resumes_total service=files.example kind=reset outcome=resumed: 1",
        ];
        assert_eq!(counts.collect::<Vec<_>>(), wanted);
    }
}
