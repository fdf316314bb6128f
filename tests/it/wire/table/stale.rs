//! A pooled connection that the server has closed, and whose end is noticed only when the next request comes to it.

use super::orders::{Load, Order, Payload};
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tower::{BoxError, Service};

/// Sends every request to such a connection; hyper-util is told not to repeat by itself what was canceled.
#[derive(Debug, Clone)]
pub(crate) struct StaleThenSend {
    url: String,
}

impl StaleThenSend {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
        }
    }
}

impl Service<Request<Payload>> for StaleThenSend {
    type Response = Response<Incoming>;
    type Error = legacy::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Payload>) -> Self::Future {
        let url = self.url.clone();
        Box::pin(async move {
            loop {
                let end = Arc::new(End::default());
                let sent = send_to_stale(&url, request.clone(), &end).await;
                // On several threads, the connection may notice its end first, and the pool then makes another one. Or
                // it has looked for its end just before it is told, and writes the request.
                let is_written = end.written.load(Ordering::SeqCst);
                if end.connections.load(Ordering::SeqCst) == 1 && !is_written {
                    return sent;
                }
            }
        })
    }
}

async fn send_to_stale(
    url: &str,
    request: Request<Payload>,
    end: &Arc<End>,
) -> Result<Response<Incoming>, legacy::Error> {
    let client = Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .build(connector(Arc::clone(end)));
    let first = Request::get(url)
        .body(Payload::of(Load::Usual, Order::Get))
        .unwrap();
    client
        .request(first)
        .await?
        .into_body()
        .collect()
        .await
        .unwrap();
    end.came.notified().await;
    end.told.store(true, Ordering::SeqCst);
    client.request(request).await
}

/// What is known of a connection's end: by the socket, and by the client.
#[derive(Debug, Default)]
struct End {
    came: Notify,
    told: AtomicBool,
    /// A byte was written after that.
    written: AtomicBool,
    /// How many connections were made.
    connections: AtomicUsize,
}

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Deaf>, BoxError>> + Send>>;

fn connector(
    end: Arc<End>,
) -> impl Service<Uri, Response = TokioIo<Deaf>, Error = BoxError, Future = Connecting>
+ Clone
+ Send
+ Sync {
    tower::service_fn(move |uri: Uri| {
        let end = Arc::clone(&end);
        end.connections.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let stream = TcpStream::connect(uri.authority().unwrap().as_str()).await?;
            Ok(TokioIo::new(Deaf { stream, end }))
        }) as Connecting
    })
}

/// A socket that keeps its end to itself until it is told to say so.
struct Deaf {
    stream: TcpStream,
    end: Arc<End>,
}

impl Connection for Deaf {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Deaf {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before || self.end.told.load(Ordering::SeqCst) {
            return Poll::Ready(Ok(()));
        }
        self.end.came.notify_one();
        Poll::Pending
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.end.told.load(Ordering::SeqCst) {
            self.end.written.store(true, Ordering::SeqCst);
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
