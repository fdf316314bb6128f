//! Answers that are read whole within their attempt: the rules, on both stacks, without a network.

mod config;
mod limits;
mod rules;
mod server;

use futures_util::FutureExt;
use http::{Extensions, Request, Response};
use http_body_util::BodyExt;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{
    AttemptTimeout, Backoff, ReportSlot, RetryBudget, RetryOverride, RetryPolicy,
    RetryPolicyBuilder, RetryReport, StopReason,
};
use reqwest_middleware::ClientBuilder;
use server::{Reply, Server};
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

/// Where the retry layer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stack {
    /// The tower layer, whose errors stay as they are.
    Tower,
    /// The same with boxed errors.
    Boxed,
    Middleware,
}

const STACKS: [Stack; 3] = [Stack::Tower, Stack::Boxed, Stack::Middleware];

/// An error that nothing of this crate's can be.
#[derive(Debug)]
struct Own(BoxError);

/// How a call ended for its caller.
#[derive(Debug)]
struct Ended {
    /// Nothing where the call failed.
    status: Option<u16>,
    body: Vec<u8>,
    end: End,
    report: Option<RetryReport>,
    tokens: u64,
}

/// How the body ended that the caller read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Well,
    Broken,
    /// It goes on.
    Open,
    /// There was none: the call failed with a timeout, or otherwise.
    TimedOut,
    Failed,
}

impl Ended {
    fn attempts(&self) -> u32 {
        self.report
            .as_ref()
            .map_or(1, |report| report.attempt_count)
    }

    fn stop(&self) -> StopReason {
        let report = self.report.as_ref();
        report.map_or(StopReason::Succeeded, |report| report.stop)
    }

    fn is_whole(&self, body: &[u8]) -> bool {
        (self.status, self.end, &*self.body) == (Some(200), End::Well, body)
    }
}

/// Two retries at once, no gate, and answers of at most so many bytes read whole.
fn whole(bytes: usize) -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_gate_wait(None)
        .max_retries(2)
        .backoff(Backoff::none())
        .whole_responses(bytes)
}

/// A budget in which a success is a whole token.
fn budget() -> RetryBudget {
    let budget = RetryBudget::builder().capacity(20).initial(10);
    budget.per_success(1).build().unwrap()
}

fn get() -> Request<String> {
    Request::get("http://api.example/a")
        .body(String::new())
        .unwrap()
}

fn post() -> Request<String> {
    let order = Request::post("http://api.example/a");
    order.body("order".to_owned()).unwrap()
}

fn with(mut request: Request<String>, own: RetryOverride) -> Request<String> {
    request.extensions_mut().insert(own);
    request
}

/// Sends a request that is answered like this, and reads what comes.
fn send(
    stack: Stack,
    policy: RetryPolicyBuilder,
    replies: impl IntoIterator<Item = Reply>,
    request: Request<String>,
) -> Ended {
    let policy = policy.build().unwrap();
    let (server, budget) = (Server::new(replies), budget());
    let layer = RetryLayer::new(policy.clone()).budget(budget.clone());
    let middleware = RetryMiddleware::new(policy).budget(budget.clone());
    let ended = call(stack, (layer, middleware.redirects_off()), server, request);
    Ended {
        tokens: budget.available(Duration::ZERO),
        ..ended
    }
}

fn call(
    stack: Stack,
    (layer, middleware): (RetryLayer, RetryMiddleware),
    server: Server,
    mut request: Request<String>,
) -> Ended {
    let slot = RetryReport::slot();
    request.extensions_mut().insert(slot.clone());
    let runtime = ManualRuntime::new();
    let layer = layer.runtime(runtime.clone());
    let ended = match stack {
        Stack::Tower => {
            let service = layer.unchanged_errors().layer(server.map_err(Own));
            let sent = service.oneshot(request).now_or_never().unwrap();
            of(sent.map_err(|Own(error)| error))
        }
        Stack::Boxed => of(layer.layer(server).oneshot(request).now_or_never().unwrap()),
        Stack::Middleware => through_middleware(middleware.runtime(runtime), server, request),
    };
    told(ended, &slot)
}

fn told(ended: Ended, slot: &ReportSlot) -> Ended {
    Ended {
        report: slot.take(),
        ..ended
    }
}

fn through_middleware(
    middleware: RetryMiddleware,
    server: Server,
    request: Request<String>,
) -> Ended {
    let client = ClientBuilder::new(reqwest::Client::new());
    let client = client.with(middleware).with(server).build();
    let (parts, body) = request.into_parts();
    let url = parts.uri.to_string().parse().unwrap();
    let mut sent = reqwest::Request::new(parts.method, url);
    *sent.body_mut() = Some(body.into());
    let mut extensions: Extensions = parts.extensions;
    let call = client.execute_with_extensions(sent, &mut extensions);
    let result = call.now_or_never().unwrap();
    of(result
        .map(Response::<reqwest::Body>::from)
        .map_err(BoxError::from))
}

fn of<B>(result: Result<Response<B>, BoxError>) -> Ended
where
    B: http_body::Body + Unpin,
    B::Data: AsRef<[u8]>,
{
    let (mut body, end, status) = match result {
        Err(error) if AttemptTimeout::is(&*error) => (Vec::new(), End::TimedOut, None),
        Err(_) => (Vec::new(), End::Failed, None),
        Ok(response) => {
            let status = response.status().as_u16();
            let (body, end) = read(response.into_body());
            (body, end, Some(status))
        }
    };
    body.shrink_to_fit();
    Ended {
        status,
        body,
        end,
        report: None,
        tokens: 0,
    }
}

fn read<B>(mut body: B) -> (Vec<u8>, End)
where
    B: http_body::Body + Unpin,
    B::Data: AsRef<[u8]>,
{
    let mut bytes = Vec::new();
    loop {
        match body.frame().now_or_never() {
            None => return (bytes, End::Open),
            Some(None) => return (bytes, End::Well),
            Some(Some(Err(_))) => return (bytes, End::Broken),
            Some(Some(Ok(frame))) => {
                let data = frame.into_data().ok();
                bytes.extend(data.iter().flat_map(AsRef::as_ref));
            }
        }
    }
}
