//! An attempt that is several requests: what it may have done is the sum of what they may have done.

use super::stack::*;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use http_retry::attempt::{self, AttemptHandle};
use http_retry::reqwest::RetryMiddleware;
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script, ScriptBody};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Reach, RetryOverride, RetryPolicy, RetryReport, StopReason};
use http_retry_core::hedging::ask_attempt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tower::buffer::Buffer;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// How a service below reports that it sends a record beside an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Not,
    /// In the task that polls the attempt.
    Here,
    /// By the handle of the attempt.
    ByHandle,
}

type Sent = Pin<Box<dyn Future<Output = Result<http::Response<ScriptBody>, BoxError>> + Send>>;

/// Sends the order, and then a record of it; the last of the two responses is the result.
fn with_record(
    orders: Script,
    records: Script,
    told: Told,
) -> impl Service<Request, Response = http::Response<ScriptBody>, Error = BoxError, Future = Sent>
+ Clone
+ Send {
    service_fn(move |request: Request| {
        let (orders, records) = (orders.clone(), records.clone());
        Box::pin(async move {
            let handle = request.extensions().get::<AttemptHandle>().cloned();
            let response = orders.oneshot(request).await?;
            if !response.status().is_success() {
                return Ok(response);
            }
            match told {
                Told::Not => {}
                Told::Here => attempt::sent(),
                Told::ByHandle => handle.iter().for_each(AttemptHandle::sent),
            }
            Ok(records.oneshot(get()).await?)
        }) as Sent
    })
}

fn put() -> Request {
    let mut request = post();
    *request.method_mut() = http::Method::PUT;
    request
}

fn refused() -> [Script; 2] {
    let refused = Script::new().error(io::ErrorKind::ConnectionRefused);
    [refused, Script::new().status(429)]
}

/// How often an order was sent, and why no other attempt followed.
async fn orders_sent(
    layer: RetryLayer,
    order: Request,
    records: Script,
    told: Told,
) -> (usize, StopReason) {
    let orders = Script::new().status(201);
    let (order, slot) = with_slot(order);
    let service = with_record(orders.clone(), records, told);
    let _ = layer.layer(service).oneshot(order).await;
    let stop = slot.take().map(|report| report.stop);
    (orders.calls().len(), stop.unwrap())
}

#[tokio::test]
async fn an_order_is_sent_once_when_the_record_after_it_is_refused() {
    for records in refused() {
        for (layer, told) in [
            (layer(), Told::Here),
            (layer().across_tasks(), Told::ByHandle),
        ] {
            let sent = |order| orders_sent(layer.clone(), order, records.clone(), told);
            let once = (1, StopReason::NotIdempotent);
            assert_eq!(sent(post()).await, once, "{told:?}");
            let again = (3, StopReason::AttemptsExhausted);
            assert_eq!(sent(put()).await, again, "{told:?}");
        }
    }
}

/// Nearly every service sends one request for each attempt, so one that reports nothing counts as such.
#[tokio::test]
async fn a_service_that_reports_nothing_sends_one_request() {
    for records in refused() {
        let sent = orders_sent(layer(), post(), records, Told::Not).await;
        assert_eq!(sent, (3, StopReason::AttemptsExhausted));
    }
}

/// What one attempt has done is not held against the next.
#[tokio::test]
async fn an_order_that_was_refused_is_sent_again_and_then_recorded() {
    let orders = Script::new().status(429).status(201);
    let records = Script::new().status(200);
    let service = with_record(orders.clone(), records.clone(), Told::Here);
    let response = layer().layer(service).oneshot(post()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!((orders.calls().len(), records.calls().len()), (2, 1));
    let attempts = report(&response).attempts.to_vec();
    assert_eq!(attempts[0].reach, Reach::Refused);
}

#[tokio::test]
async fn a_layer_behind_a_buffer_reports_by_the_handle() {
    for records in refused() {
        let orders = Script::new().status(201);
        let below = with_record(orders.clone(), records, Told::ByHandle);
        let service = layer().across_tasks().layer(Buffer::new(below, 1));
        let _ = service.oneshot(post()).await;
        assert_eq!(orders.calls().len(), 1);
    }
}

/// A layer further in that repeats what may have been processed sends more than the request of its outcome.
#[test]
fn what_an_inner_layer_has_repeated_counts_for_the_outer_one() {
    let inner = policy().methods(http_retry::Methods::All).build().unwrap();
    let inner = || RetryLayer::new(inner.clone()).runtime(ManualRuntime::new());
    for (client, sent) in [
        // Each was refused, and so was the request as a whole.
        (Script::new().status(429), 9),
        // The first may have been processed.
        (Script::new().status(503).status(429), 3),
        (
            Script::new()
                .error(io::ErrorKind::ConnectionReset)
                .status(429),
            3,
        ),
    ] {
        let service = layer().layer(inner().layer(client.clone()));
        let request = with_own(post(), RetryOverride::new().retry_when_nested());
        let _ = service.oneshot(request).now_or_never().unwrap();
        assert_eq!(client.calls().len(), sent, "{client:?}");
    }
}

#[tokio::test]
async fn what_an_inner_layer_has_repeated_in_another_task_counts_too() {
    let inner = policy().methods(http_retry::Methods::All).build().unwrap();
    let inner = RetryLayer::new(inner).runtime(ManualRuntime::new());
    let client = Script::new().status(503).status(429);
    let below = Buffer::new(inner.layer(client.clone()), 1);
    let request = with_own(post(), RetryOverride::new().retry_when_nested());
    let _ = layer().across_tasks().layer(below).oneshot(request).await;
    assert_eq!(client.calls().len(), 3);
}

/// A middleware further in that sends a record of every success.
struct Records(Script, bool);

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Records {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let response = next.clone().run(request, extensions).await?;
        if self.1 {
            attempt::sent();
        } else if let Some(attempt) = extensions.get::<AttemptHandle>() {
            attempt.sent();
        }
        let record = get().map(reqwest::Body::from).try_into()?;
        let recorded = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
        let recorded = recorded
            .with(self.0.clone())
            .build()
            .execute(record)
            .await?;
        Ok(if recorded.status().is_success() {
            response
        } else {
            recorded
        })
    }
}

#[tokio::test]
async fn a_middleware_reports_its_own_requests() {
    for (records, here) in refused()
        .into_iter()
        .flat_map(|records| [(records.clone(), true), (records, false)])
    {
        let orders = Script::new().status(201);
        let retries = RetryMiddleware::new(policy().build().unwrap());
        let retries = retries.redirects_off().runtime(ManualRuntime::new());
        let retries = if here {
            retries
        } else {
            retries.across_tasks()
        };
        let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
        let client = client
            .with(retries)
            .with(Records(records, here))
            .with(orders.clone());
        let client = client.build();
        let mut extensions = http::Extensions::new();
        let order = post().map(reqwest::Body::from).try_into().unwrap();
        let _ = client.execute_with_extensions(order, &mut extensions).await;
        assert_eq!(orders.calls().len(), 1);
        assert!(
            extensions.get::<AttemptHandle>().is_none(),
            "the handle is for layers further in"
        );
    }
}

/// The rest of a download is a request of its own, whatever its error is taken for.
#[tokio::test]
async fn an_operation_that_resumes_sends_more_than_one_request() {
    let start = Script::new().status(200).header("etag", "\"1\"");
    let start = start.header("content-length", "10").body("01234");
    let cut = start.break_body(io::ErrorKind::ConnectionReset);
    let script = cut.error(io::ErrorKind::ConnectionRefused);
    let slot = RetryReport::slot();
    let runner = Runner::on(ManualRuntime::new(), policy().build().unwrap());
    let runner = runner.one_request().report_to(slot.clone());
    let service = layer().resume_downloads().layer(script.clone());
    let judge = |_: &BoxError| (Class::Transient, Reach::Unsent);
    let failed = runner.run(judge, |_| {
        let request = with_own(get(), RetryOverride::new().retry_when_nested());
        let sent = service.clone().oneshot(request);
        async move { Ok(sent.await?.into_body().collect().await?.to_bytes()) }
    });
    assert!(failed.await.is_err());
    let attempts = (slot.take().unwrap().attempt_count, script.calls().len());
    // The start, and the request for the rest three times.
    assert_eq!(attempts, (1, 4));
}

/// What a service below learns when it asks for its attempt: the number of the attempt, that of the call, and if there is
/// a gate.
async fn learned(layer: RetryLayer, request: Request) -> Vec<Option<(u32, bool, bool)>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (script, learned) = (Script::new().status(503).status(200), Arc::clone(&seen));
    let service = service_fn(move |request: Request| {
        let (script, seen) = (script.clone(), Arc::clone(&learned));
        let asked = ask_attempt();
        Box::pin(async move {
            let handle = asked.as_ref().map(|asked| asked.get().unwrap());
            let terms = handle.map(AttemptHandle::terms);
            let terms =
                terms.map(|terms| (terms.number, terms.call.is_some(), terms.gate_key.is_some()));
            seen.lock().unwrap().push(terms);
            Ok(script.oneshot(request).await?)
        }) as Sent
    });
    let _ = layer.layer(service).oneshot(request).await;
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[tokio::test]
async fn a_layer_below_learns_the_terms_of_its_attempt() {
    let first = Some((1, false, false));
    // An attempt that nobody observes has no call until something happens.
    let retried = vec![first, Some((2, true, false))];
    assert_eq!(learned(layer(), get()).await, retried);
    let gated = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
    let retried = vec![Some((1, false, true)), Some((2, true, true))];
    assert_eq!(learned(gated, get()).await, retried);
    let observed = learned(layer().observe(|_| {}), get()).await;
    assert_eq!(observed[0], Some((1, true, false)));
    let no_retries = with_own(get(), RetryOverride::new().max_retries(0));
    assert_eq!(learned(layer(), no_retries).await, vec![first]);
    let off = with_own(get(), RetryOverride::off());
    assert_eq!(learned(layer(), off).await, vec![None]);
}
