//! A server whose connections end, are reset or stall at a byte of what they write.

use crate::listening::Listening;
use crate::wire::connections::client::Speaks;
use crate::wire::documents::replies::gzip;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Close,
    Reset,
    Stall,
}

/// A connection fails when it has written so many bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) after: usize,
    pub(crate) how: How,
}

/// What every request is answered.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) body: Bytes,
    pub(crate) chunked: bool,
    /// For those who accept it.
    pub(crate) gzip: bool,
}

type OnStall = Arc<dyn Fn() + Send + Sync>;

/// The server; it ends when it is dropped.
pub(crate) struct FailingServer {
    listening: Listening,
    state: Arc<State>,
}

struct State {
    speaks: Speaks,
    tls: Option<TlsAcceptor>,
    page: Mutex<Page>,
    /// One for each connection; when there are no more, connections are sound.
    faults: Mutex<VecDeque<Fault>>,
    requests: Mutex<Vec<String>>,
    on_stall: OnStall,
}

impl FailingServer {
    pub(crate) async fn start(speaks: Speaks, page: Page, on_stall: OnStall) -> Self {
        Self::with_tls(speaks, page, on_stall, None).await
    }

    pub(crate) async fn with_tls(
        speaks: Speaks,
        page: Page,
        on_stall: OnStall,
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let state = Arc::new(State {
            speaks,
            tls: tls.map(TlsAcceptor::from),
            page: Mutex::new(page),
            faults: Mutex::default(),
            requests: Mutex::default(),
            on_stall,
        });
        let told = Arc::clone(&state);
        let serve = move |stream, _| serve(Failing::of(stream, &told), Arc::clone(&told));
        Self {
            listening: Listening::start(serve).await,
            state,
        }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.state.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/", self.listening.address)
    }

    /// The next connections fail like this.
    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        *self.state.faults.lock().unwrap() = faults.into_iter().collect();
    }

    pub(crate) fn answer(&self, page: Page) {
        *self.state.page.lock().unwrap() = page;
    }

    /// The paths of the requests that came whole.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.listening.connections()
    }
}

async fn serve(stream: Failing, state: Arc<State>) {
    match &state.tls {
        None => speak(stream, &state).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                speak(stream, &state).await;
            }
        }
    }
}

async fn speak<S>(stream: S, state: &Arc<State>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| answer(request, Arc::clone(state)));
    let stream = TokioIo::new(stream);
    let _ended = match state.speaks {
        Speaks::Http1 => {
            let http = hyper::server::conn::http1::Builder::new();
            http.serve_connection(stream, service).await
        }
        Speaks::Http2 => {
            let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            http.serve_connection(stream, service).await
        }
    };
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let (head, body) = request.into_parts();
    let _read = body.collect().await;
    let path = head.uri.path().to_owned();
    state.requests.lock().unwrap().push(path);
    let page = state.page.lock().unwrap().clone();
    let zipped = page.gzip && head.headers.contains_key("accept-encoding");
    let bytes = if zipped { gzip(&page.body) } else { page.body };
    let body = if !page.chunked {
        Full::new(bytes).boxed_unsync()
    } else {
        let chunks: Vec<_> = bytes.chunks(1_000).map(Bytes::copy_from_slice).collect();
        let chunks = chunks.into_iter().map(|chunk| Ok(Frame::data(chunk)));
        StreamBody::new(stream::iter(chunks)).boxed_unsync()
    };
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", kind);
    if zipped {
        let coding = HeaderValue::from_static("gzip");
        response.headers_mut().insert("content-encoding", coding);
    }
    Ok(response)
}

/// A connection that fails as it writes.
struct Failing {
    stream: TcpStream,
    fault: Option<Fault>,
    on_stall: Option<OnStall>,
}

impl Failing {
    /// With the next fault.
    fn of(stream: TcpStream, state: &State) -> Self {
        Self {
            stream,
            fault: state.faults.lock().unwrap().pop_front(),
            on_stall: Some(Arc::clone(&state.on_stall)),
        }
    }

    /// How many bytes it may write now, or how it fails.
    fn left(&mut self, wanted: usize) -> Result<usize, How> {
        match self.fault {
            None => Ok(wanted),
            Some(Fault { after: 0, how }) => Err(how),
            Some(Fault { after, .. }) => Ok(wanted.min(after)),
        }
    }

    fn fail(&mut self, how: How) -> Poll<io::Result<usize>> {
        match how {
            How::Close => {}
            How::Reset => self.stream.set_zero_linger().unwrap(),
            How::Stall => {
                self.on_stall.take().iter().for_each(|tell| tell());
                return Poll::Pending;
            }
        }
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }
}

impl AsyncRead for Failing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Failing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let most = match self.left(bytes.len()) {
            Ok(most) => most,
            Err(how) => return self.fail(how),
        };
        let written = std::task::ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[..most]))?;
        if let Some(fault) = &mut self.fault {
            fault.after -= written;
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
