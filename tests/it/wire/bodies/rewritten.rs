//! A body that a function rewrites between two attempts is framed by its new length.

use super::super::connections::client::{Speaks, bare_hyper, bare_reqwest, without_waits};
use super::super::connections::http2_server::{Act as Http2Act, Http2Server};
use super::super::server::{Act, FaultServer, Received};
use super::{Framing, body_of, framing, pieces, text};
use crate::in_time::in_time;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Outcome, ReplayBody, RetryPolicy};
use http_retry_core::reading::{Rewrite, RewriteBody, Rewritten};
use reqwest_middleware::ClientBuilder;
use tower::{Layer, ServiceExt};

const LENGTH: usize = 3_000;

/// A body of another length after a 413, with these headers.
#[derive(Debug, Clone, Copy)]
struct Resize {
    length: usize,
    sets: &'static [(&'static str, &'static str)],
}

impl Rewrite for Resize {
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
        let Self { length, sets } = *self;
        (outcome.status() == Some(StatusCode::PAYLOAD_TOO_LARGE)).then(|| {
            let rewrite: RewriteBody = Box::new(move |headers: &mut HeaderMap, body: &[u8]| {
                for (name, value) in sets {
                    headers.insert(*name, HeaderValue::from_static(value));
                }
                Some(Rewritten {
                    body: text(length).to_vec(),
                    before: body.len(),
                    after: length,
                })
            });
            rewrite
        })
    }
}

/// Functions that forget the headers, or set wrong ones.
const FUNCTIONS: [Resize; 4] = [
    Resize {
        length: LENGTH / 2,
        sets: &[],
    },
    Resize {
        length: LENGTH * 2,
        sets: &[],
    },
    Resize {
        length: 0,
        sets: &[],
    },
    Resize {
        length: LENGTH / 3,
        sets: &[("content-length", "7"), ("transfer-encoding", "chunked")],
    },
];

/// The caller's own headers.
const OWN: [&[(&str, &str)]; 3] = [
    &[],
    &[("content-length", "3000")],
    &[("transfer-encoding", "chunked"), ("trailer", "etag")],
];

#[derive(Debug, Clone, Copy)]
enum Stack {
    TowerText,
    TowerStream,
    ReqwestText,
    ReqwestStream,
}

const STACKS: [Stack; 4] = [
    Stack::TowerText,
    Stack::TowerStream,
    Stack::ReqwestText,
    Stack::ReqwestStream,
];

impl Stack {
    async fn put(
        self,
        speaks: Speaks,
        function: Resize,
        url: String,
        own: &[(&'static str, &'static str)],
    ) -> u16 {
        let policy = without_waits(3).to_builder().rewrite(function).build();
        let (policy, body) = (policy.unwrap(), text(LENGTH));
        let headers = own.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        let mut request = http::Request::put(url).body(()).unwrap();
        request.headers_mut().extend(headers);
        let stream = || body_of(pieces(&body));
        in_time(async {
            match self {
                Self::TowerText => {
                    let body = String::from_utf8(body.to_vec()).unwrap();
                    tower(policy, speaks, request.map(|()| body)).await
                }
                Self::TowerStream => {
                    let body = ReplayBody::new(stream());
                    tower(policy, speaks, request.map(|()| body)).await
                }
                Self::ReqwestText => {
                    reqwest(policy, speaks, request.map(|()| body.clone().into())).await
                }
                Self::ReqwestStream => {
                    let body = reqwest::Body::wrap(stream());
                    reqwest(policy, speaks, request.map(|()| body)).await
                }
            }
        })
        .await
    }
}

async fn tower<B>(policy: RetryPolicy, speaks: Speaks, request: http::Request<B>) -> u16
where
    B: http_body::Body<Data = Bytes> + http_retry::Replay + Send + Unpin + 'static,
    B::Error: Into<tower::BoxError>,
{
    let retries = RetryLayer::new(policy).runtime(ManualRuntime::paused());
    let client = retries.layer(bare_hyper(speaks));
    client.oneshot(request).await.unwrap().status().as_u16()
}

async fn reqwest(
    policy: RetryPolicy,
    speaks: Speaks,
    request: http::Request<reqwest::Body>,
) -> u16 {
    let retries = RetryMiddleware::new(policy).runtime(ManualRuntime::paused());
    let client = ClientBuilder::new(bare_reqwest(speaks));
    let client = client.with(retries).build();
    let sent = client.execute(request.try_into().unwrap());
    sent.await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_rewritten_body_is_framed_by_its_own_length() {
    for stack in STACKS {
        for (function, own) in FUNCTIONS.iter().flat_map(|one| OWN.map(|own| (*one, own))) {
            let why = format!("{stack:?} {function:?} {own:?}");
            // A client does not read a stream past the announced length, so its end is not known and it is not
            // rewritten.
            let is_stream = matches!(stack, Stack::TowerStream | Stack::ReqwestStream);
            if is_stream && own.iter().any(|(name, _)| *name == "content-length") {
                continue;
            }
            let server = FaultServer::start([Act::status(413), Act::status(503)]).await;
            let status = stack.put(Speaks::Http1, function, server.url("/"), own);
            assert_eq!(status.await, 200, "{why}");
            let received: Vec<Received> = server.received();
            assert_eq!(received.len(), 3, "{why}");
            for request in &received[1..] {
                let sent = (framing(request), request.whole, &*request.body);
                let new = text(function.length);
                assert_eq!(
                    sent,
                    (Framing::Length(function.length), true, &*new),
                    "{why}"
                );
                assert!(!request.head.contains("trailer"), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn a_rewritten_body_is_framed_by_its_own_length_over_http2() {
    for stack in STACKS {
        for function in FUNCTIONS {
            let why = format!("{stack:?} {function:?}");
            let acts = [Http2Act::Answer(413), Http2Act::Answer(503)];
            let server = Http2Server::start(acts).await;
            let own = &[("content-length", "3000")];
            let status = stack.put(Speaks::Http2, function, server.url("/"), own);
            assert_eq!(status.await, 200, "{why}");
            let received = server.received();
            assert_eq!(received.len(), 3, "{why}");
            for request in &received[1..] {
                let length = &request.headers["content-length"];
                assert_eq!(*length, function.length.to_string(), "{why}");
                let new = text(function.length);
                assert!(request.whole && request.body == new, "{why}");
            }
        }
    }
}
