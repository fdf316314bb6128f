//! A proxy that answers for itself when the server behind it gives no answer, and asks to come back.
//!
//! Varnish's built-in error page is such an answer: 503 with `Retry-After`, whatever the server did with the request.

use super::connections::client::{STACKS, Settings, Speaks};
use super::server::{Act, Answer, FaultServer};
use crate::in_time::in_time;
use crate::listening::Listening;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use http_retry::testing::ManualRuntime;
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// The proxy; it ends when it is dropped.
pub(crate) struct Proxy(Listening);

impl Proxy {
    /// A proxy in front of a server, with what it answers when that fails.
    pub(crate) async fn before(server: &FaultServer, apology: Answer) -> Self {
        let server = server.address();
        Self(Listening::start(move |stream, _| serve(stream, server, apology.clone())).await)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }
}

async fn serve(stream: TcpStream, server: SocketAddr, apology: Answer) {
    let answer = service_fn(move |request| {
        let apology = response_of(&apology);
        async move { Ok::<_, Infallible>(pass_on(request, server).await.unwrap_or(apology)) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    // A client that is gone is no concern of a proxy.
    let _ = connection.await;
}

/// The server's answer, if it is whole.
async fn pass_on(request: Request<Incoming>, server: SocketAddr) -> Option<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = Full::new(body.collect().await.ok()?.to_bytes());
    let stream = TokioIo::new(TcpStream::connect(server).await.ok()?);
    let (mut sender, connection) = handshake(stream).await.ok()?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(Request::from_parts(head, body)).await;
    let (head, body) = answer.ok()?.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    connection.abort();
    Some(Response::from_parts(head, Full::new(body)))
}

fn response_of(answer: &Answer) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, &**value);
    }
    let body = Full::new(answer.body.clone());
    response.body(body).unwrap()
}

/// What the caller got, and how often a request came to a server that reads it and dies, behind a proxy.
async fn behind_a_proxy(method: Method) -> Vec<(u16, usize)> {
    let mut seen = Vec::new();
    for stack in STACKS {
        let server = FaultServer::start(vec![Act::CloseAfterRequest; 5]).await;
        let apology = Answer::new(503).header("retry-after", "0");
        let proxy = Proxy::before(&server, apology).await;
        let settings = Settings::without_waits(ManualRuntime::new());
        let client = stack.bare(Speaks::Http1).with_retries(settings);
        let order = Request::builder().method(method.clone());
        let order = order.uri(proxy.url("/orders")).body("order".into());
        let answer = in_time(client.send(order.unwrap())).await;
        let status = answer.unwrap().status().as_u16();
        seen.push((status, server.received().len()));
    }
    seen
}

#[tokio::test]
async fn an_order_whose_server_dies_behind_a_proxy_is_sent_once() {
    assert_eq!(behind_a_proxy(Method::POST).await, [(503, 1); 2]);
    assert_eq!(behind_a_proxy(Method::PUT).await, [(503, 4); 2]);
}
