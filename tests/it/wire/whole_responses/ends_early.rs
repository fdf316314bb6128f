//! Answers over HTTP/2 that a client takes to be over, though less has come than they told: hyper ends a body so whose
//! stream is reset, or whose server goes away, without an error.

use super::policy as whole;
use crate::in_time::in_time;
use crate::wire::connections::client::{Speaks, bare_hyper, bare_reqwest};
use crate::wire::http2::server::{Breaks, Http2Server, Turn};
use crate::wire::stacks::clock::Clock;
use bytes::Bytes;
use h2::Reason;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{ErrorKind, IncompleteBody, RetryBudget, RetryPolicy, RetryReport, StopReason};
use hyper::body::Incoming;
use reqwest_middleware::ClientBuilder;
use std::error::Error;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stack {
    Middleware,
    /// The tower layer on `reqwest::Client`.
    Reqwest,
    /// The tower layer on a client of hyper-util.
    Hyper,
    /// The same, with bodies whose errors were boxed below.
    Boxed,
    /// The same, with errors that keep their type.
    Unchanged,
    /// The same, with bodies whose errors were boxed below.
    UnchangedBoxed,
}

/// Those whose bodies can hold any error.
const WITH_ANY_ERROR: [Stack; 5] = [
    Stack::Middleware,
    Stack::Reqwest,
    Stack::Hyper,
    Stack::Boxed,
    Stack::UnchangedBoxed,
];
const ALL: [Stack; 6] = [
    Stack::Middleware,
    Stack::Reqwest,
    Stack::Hyper,
    Stack::Boxed,
    Stack::UnchangedBoxed,
    Stack::Unchanged,
];

const EARLY_ENDS: [Turn; 2] = [
    Turn::Body(Breaks::Reset(Reason::NO_ERROR)),
    Turn::Body(Breaks::GoneAway),
];

const TEXT: &str = "the answer ended after 3 of 9 bytes";
const TEXT_WITHOUT_LENGTH: &str = "the answer ended after 3 bytes, before its end";

/// How a call ended.
#[derive(Debug)]
struct Ended {
    status: u16,
    body: Vec<u8>,
    error: Option<String>,
    /// The lower bound of the body's size hint after its end.
    lacks: u64,
    report: Option<RetryReport>,
    sent: usize,
}

impl Ended {
    /// Whether the caller got half a body and then the error.
    fn is_half(&self) -> bool {
        let error = self.error.as_deref();
        self.status == 200 && self.body == b"ans" && error == Some(TEXT)
    }

    fn is_whole(&self) -> bool {
        self.status == 200 && self.body == b"answered." && self.error.is_none()
    }

    /// Why the call stopped, and what broke its first attempt.
    fn reported(&self) -> (StopReason, Option<ErrorKind>) {
        let report = self.report.as_ref().expect("a call that went wrong");
        (report.stop, report.attempts[0].error)
    }
}

fn layer(policy: RetryPolicy) -> RetryLayer {
    RetryLayer::new(policy)
        .budget(RetryBudget::unlimited())
        .runtime(Clock::new())
        .redirects_off()
}

/// Sends a request to a server that takes these turns, and reads its response whole.
async fn send(stack: Stack, method: Method, turns: &[Turn]) -> Ended {
    send_by(whole(), stack, method, turns).await
}

async fn send_by(policy: RetryPolicy, stack: Stack, method: Method, turns: &[Turn]) -> Ended {
    let server = Http2Server::start(turns.iter().copied()).await;
    let request = Request::builder().method(method).uri(server.url());
    let request = request.body(Bytes::new()).unwrap();
    let ended = in_time(call(policy, stack, request)).await;
    Ended {
        sent: server.got().len(),
        ..ended
    }
}

async fn call(policy: RetryPolicy, stack: Stack, request: Request<Bytes>) -> Ended {
    let (reqwest, hyper) = (bare_reqwest(Speaks::Http2), bare_hyper(Speaks::Http2));
    match stack {
        Stack::Middleware => {
            let retries = RetryMiddleware::new(policy).budget(RetryBudget::unlimited());
            let retries = retries.runtime(Clock::new()).redirects_off();
            let client = ClientBuilder::new(reqwest).with(retries).build();
            let sent = client.execute(request.try_into().unwrap());
            read(sent.await.unwrap().into()).await
        }
        Stack::Reqwest => {
            let sent = layer(policy)
                .layer(reqwest)
                .oneshot(request.try_into().unwrap());
            read(sent.await.unwrap().into()).await
        }
        Stack::Hyper => read(through(layer(policy), hyper, request).await).await,
        Stack::Unchanged => {
            read(through(layer(policy).unchanged_errors(), hyper, request).await).await
        }
        Stack::Boxed | Stack::UnchangedBoxed => {
            let boxed =
                |answer: Response<Incoming>| answer.map(|body| body.map_err(BoxError::from));
            let hyper = ServiceBuilder::new().map_response(boxed).service(hyper);
            if stack == Stack::Boxed {
                read(through(layer(policy), hyper, request).await).await
            } else {
                read(through(layer(policy).unchanged_errors(), hyper, request).await).await
            }
        }
    }
}

async fn through<L, S, B>(layer: L, client: S, request: Request<Bytes>) -> Response<B>
where
    L: Layer<S>,
    L::Service: Service<Request<Full<Bytes>>, Response = Response<B>, Error: std::fmt::Debug>,
{
    let sent = layer.layer(client).oneshot(request.map(Full::new));
    sent.await.unwrap()
}

async fn read<B>(answer: Response<B>) -> Ended
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let status = answer.status().as_u16();
    let report = answer.extensions().get().cloned();
    let (mut body, mut bytes, mut error) = (answer.into_body(), Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => bytes.extend(frame.into_data().unwrap()),
            Err(broken) => error = Some(said(&*broken.into())),
        }
    }
    Ended {
        status,
        body: bytes,
        error,
        lacks: body.size_hint().lower(),
        report,
        sent: 0,
    }
}

fn said(error: &(dyn Error + 'static)) -> String {
    let incomplete = IncompleteBody::of(error);
    incomplete.map_or_else(|| error.to_string(), ToString::to_string)
}

#[tokio::test]
async fn after_the_last_attempt_half_a_body_ends_with_an_error() {
    for broken in EARLY_ENDS {
        for stack in WITH_ANY_ERROR {
            let ended = send(stack, Method::GET, &[broken]).await;
            assert!(ended.is_half(), "{stack:?} {broken:?} {ended:?}");
            assert_eq!(ended.sent, 5, "{stack:?} {broken:?}");
            let reported = (StopReason::AttemptsExhausted, Some(ErrorKind::Incomplete));
            assert_eq!(ended.reported(), reported, "{stack:?} {broken:?}");
        }
    }
}

#[tokio::test]
async fn a_post_is_sent_once_and_half_its_answer_ends_with_an_error() {
    for broken in EARLY_ENDS {
        for stack in WITH_ANY_ERROR {
            let ended = send(stack, Method::POST, &[broken, Turn::WholeBody]).await;
            assert!(ended.is_half(), "{stack:?} {broken:?} {ended:?}");
            assert_eq!(ended.sent, 1, "{stack:?} {broken:?}");
            let reported = (StopReason::NotIdempotent, Some(ErrorKind::Incomplete));
            assert_eq!(ended.reported(), reported, "{stack:?} {broken:?}");
        }
    }
}

#[tokio::test]
async fn a_get_whose_first_answer_ended_early_comes_whole() {
    for broken in EARLY_ENDS {
        for stack in ALL {
            let ended = send(stack, Method::GET, &[broken, Turn::WholeBody]).await;
            assert!(ended.is_whole(), "{stack:?} {broken:?} {ended:?}");
            assert_eq!((ended.sent, ended.lacks), (2, 0), "{stack:?} {broken:?}");
        }
    }
}

#[tokio::test]
async fn where_no_error_fits_the_report_and_the_length_tell_it() {
    for broken in EARLY_ENDS {
        for (method, stop, sent) in [
            (Method::GET, StopReason::AttemptsExhausted, 5),
            (Method::POST, StopReason::NotIdempotent, 1),
        ] {
            let ended = send(Stack::Unchanged, method, &[broken]).await;
            assert_eq!((ended.error.as_deref(), &*ended.body), (None, &b"ans"[..]));
            assert_eq!(ended.reported(), (stop, Some(ErrorKind::Incomplete)));
            assert_eq!((ended.sent, ended.lacks), (sent, 6), "{broken:?}");
        }
    }
}

#[tokio::test]
async fn a_length_without_a_body_is_a_success() {
    for stack in ALL {
        for (method, status) in [(Method::HEAD, 200), (Method::GET, 204), (Method::GET, 304)] {
            let ended = send(stack, method.clone(), &[Turn::LengthAlone(status)]).await;
            let got = (ended.status, ended.sent, ended.body.len(), ended.error);
            assert_eq!(got, (status, 1, 0, None), "{stack:?} {method} {status}");
        }
    }
}

#[tokio::test]
async fn a_body_that_the_caller_reads_is_never_whole_if_it_was_cut() {
    let policy = || whole().to_builder().whole_responses(0).build().unwrap();
    for broken in EARLY_ENDS {
        for stack in [Stack::Hyper, Stack::Boxed, Stack::UnchangedBoxed] {
            let ended = send_by(policy(), stack, Method::GET, &[broken]).await;
            assert!(ended.is_half(), "{stack:?} {broken:?} {ended:?}");
            // A success is the first head; it has no report.
            assert_eq!((ended.sent, ended.report.is_none()), (1, true), "{stack:?}");
        }
        let ended = send_by(policy(), Stack::Unchanged, Method::GET, &[broken]).await;
        assert_eq!((ended.error, ended.lacks), (None, 6), "{broken:?}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_never_whole_if_it_was_cut() {
    let policy = || whole().to_builder().whole_responses(2).build().unwrap();
    for broken in EARLY_ENDS {
        for stack in WITH_ANY_ERROR {
            let ended = send_by(policy(), stack, Method::GET, &[broken]).await;
            assert!(ended.is_half(), "{stack:?} {broken:?} {ended:?}");
            assert_eq!(ended.sent, 1, "{stack:?} {broken:?}");
        }
    }
}

const UNKNOWN_ENDS: [Turn; 2] = [
    Turn::PartOfUnknown(Breaks::Reset(Reason::NO_ERROR)),
    Turn::PartOfUnknown(Breaks::GoneAway),
];

#[tokio::test]
async fn without_a_length_the_end_of_the_stream_tells_it() {
    for broken in UNKNOWN_ENDS {
        let ended = send(Stack::Hyper, Method::GET, &[broken, Turn::WholeBody]).await;
        assert!(ended.is_whole() && ended.sent == 2, "{broken:?} {ended:?}");
        let policies = [
            whole(),
            whole().to_builder().whole_responses(0).build().unwrap(),
        ];
        for (policy, sent) in policies.into_iter().zip([5, 1]) {
            let ended = send_by(policy, Stack::Hyper, Method::GET, &[broken]).await;
            let got = (&*ended.body, ended.error.as_deref(), ended.sent);
            let half = (&b"ans"[..], Some(TEXT_WITHOUT_LENGTH), sent);
            assert_eq!(got, half, "{broken:?}");
        }
    }
}

#[tokio::test]
async fn without_a_length_a_body_that_is_complete_is_whole() {
    for stack in ALL {
        for reset in [false, true] {
            for method in [Method::GET, Method::POST] {
                let ended = send(stack, method, &[Turn::Unknown { reset }]).await;
                assert!(ended.is_whole() && ended.sent == 1, "{stack:?} {ended:?}");
            }
        }
    }
}
