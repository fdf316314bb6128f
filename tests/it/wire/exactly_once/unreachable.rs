//! A connection that was made, and on which the network later says what it otherwise says of one that cannot be made.
//!
//! A firewall that starts to reject gives such errors long after the request was sent.

use super::super::connections::client::without_waits;
use crate::in_time::in_time;
use bytes::Bytes;
use http::Method;
use http_body_util::Full;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// A connection that takes a request and then fails.
struct Rejected {
    with: io::ErrorKind,
    requests: Arc<AtomicUsize>,
    sent: bool,
    reading: Option<Waker>,
}

impl AsyncRead for Rejected {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.sent {
            return Poll::Ready(Err(self.with.into()));
        }
        self.reading = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for Rejected {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sent = true;
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.reading.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Connection for Rejected {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// How often a request was sent over connections that end like this.
async fn sent(method: Method, with: io::ErrorKind) -> usize {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let connect = service_fn(move |_: http::Uri| {
        let connection = Rejected {
            with,
            requests: Arc::clone(&counter),
            sent: false,
            reading: None,
        };
        std::future::ready(Ok::<_, BoxError>(TokioIo::new(connection)))
    });
    let client = legacy::Client::builder(TokioExecutor::new()).build(connect);
    let retries = RetryLayer::new(without_waits(2)).runtime(ManualRuntime::paused());
    let mut request = http::Request::new(Full::new(Bytes::from_static(b"order")));
    (*request.method_mut(), *request.uri_mut()) = (method, http::Uri::from_static("http://h/"));
    let answer = in_time(retries.layer(client).oneshot(request)).await;
    assert!(answer.is_err());
    requests.load(Ordering::Relaxed)
}

#[tokio::test]
async fn a_sent_order_is_not_repeated_when_its_host_is_lost() {
    for with in [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::HostUnreachable,
        io::ErrorKind::NetworkUnreachable,
        io::ErrorKind::AddrNotAvailable,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::TimedOut,
    ] {
        assert_eq!(sent(Method::POST, with).await, 1, "{with}");
        assert_eq!(sent(Method::PUT, with).await, 3, "{with}");
    }
}
