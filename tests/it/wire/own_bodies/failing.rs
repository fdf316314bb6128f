//! A body that fails, by any error that a source of bytes may have.

use crate::listening::{Listening, nobody};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tower::BoxError;

/// How a source fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Io(io::ErrorKind),
    /// An error of hyper's client, which cannot connect.
    HyperRefused,
    /// Errors of reqwest's client.
    Refused,
    Dns,
    TimedOut,
    ConnectTimedOut,
    Tls,
    /// The source answers with this status, which is made an error.
    Status(u16),
    /// The source's response is cut.
    Cut,
    /// A time limit of tokio's.
    Elapsed,
}

pub(crate) const FAILURES: [Failure; 23] = [
    Failure::Io(io::ErrorKind::ConnectionRefused),
    Failure::Io(io::ErrorKind::ConnectionReset),
    Failure::Io(io::ErrorKind::ConnectionAborted),
    Failure::Io(io::ErrorKind::HostUnreachable),
    Failure::Io(io::ErrorKind::NetworkUnreachable),
    Failure::Io(io::ErrorKind::NotConnected),
    Failure::Io(io::ErrorKind::AddrNotAvailable),
    Failure::Io(io::ErrorKind::BrokenPipe),
    Failure::Io(io::ErrorKind::TimedOut),
    Failure::Io(io::ErrorKind::UnexpectedEof),
    Failure::Io(io::ErrorKind::InvalidData),
    Failure::Io(io::ErrorKind::PermissionDenied),
    Failure::Io(io::ErrorKind::Other),
    Failure::HyperRefused,
    Failure::Refused,
    Failure::Dns,
    Failure::TimedOut,
    Failure::ConnectTimedOut,
    Failure::Tls,
    Failure::Status(429),
    Failure::Status(503),
    Failure::Cut,
    Failure::Elapsed,
];

/// Where a source may get its bytes from, in vain.
#[derive(Clone)]
pub(crate) struct Sources(Arc<Places>);

struct Places {
    client: reqwest::Client,
    /// Makes no connection in time.
    hasty: reqwest::Client,
    refusing: (TcpSocket, SocketAddr),
    /// Answers each request with the status that its path names, and half a body.
    answering: Listening,
    silent: Listening,
}

impl Sources {
    pub(crate) async fn start() -> Self {
        let answering = Listening::start(|mut stream, _| async move {
            let mut head = [0; 4096];
            let read = stream.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let status = head.split(['/', ' ']).nth(2).unwrap_or("400");
            let answer = format!("HTTP/1.1 {status} Said\r\ncontent-length: 9\r\n\r\nhalf");
            let _ = stream.write_all(answer.as_bytes()).await;
        });
        let builder = || {
            let builder = reqwest::Client::builder().no_proxy();
            builder.retry(reqwest::retry::never())
        };
        let hasty = builder().connect_timeout(Duration::from_nanos(1));
        Self(Arc::new(Places {
            client: builder().pool_max_idle_per_host(0).build().unwrap(),
            hasty: hasty.build().unwrap(),
            refusing: nobody(),
            answering: answering.await,
            silent: Listening::start(|stream, _| async move {
                let _stream = stream;
                std::future::pending::<()>().await;
            })
            .await,
        }))
    }

    async fn error(self, failure: Failure) -> BoxError {
        let Places {
            client,
            hasty,
            refusing: (_, refusing),
            answering,
            silent,
        } = &*self.0;
        let [answering, silent] = [answering, silent].map(|listening| listening.address);
        let failed = match failure {
            Failure::Io(kind) => return io::Error::from(kind).into(),
            Failure::Elapsed => {
                let never = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>());
                return never.await.unwrap_err().into();
            }
            Failure::HyperRefused => {
                let client = legacy::Client::builder(TokioExecutor::new()).build_http();
                let request = http::Request::get(format!("http://{refusing}/"));
                let request = request.body(http_body_util::Empty::<Bytes>::new()).unwrap();
                return client.request(request).await.unwrap_err().into();
            }
            Failure::Refused => client.get(format!("http://{refusing}/")).send().await,
            // Too long a label, so that no name server is asked.
            Failure::Dns => {
                let host = "a".repeat(64);
                client.get(format!("http://{host}.invalid/")).send().await
            }
            Failure::TimedOut => {
                let request = client.get(format!("http://{silent}/"));
                request.timeout(Duration::from_nanos(1)).send().await
            }
            Failure::ConnectTimedOut => hasty.get(format!("https://{silent}/")).send().await,
            Failure::Tls => client.get(format!("https://{answering}/")).send().await,
            Failure::Status(status) => {
                let answer = client.get(format!("http://{answering}/{status}")).send();
                answer.await.and_then(reqwest::Response::error_for_status)
            }
            Failure::Cut => {
                let answer = client.get(format!("http://{answering}/200")).send().await;
                return answer.unwrap().bytes().await.unwrap_err().into();
            }
        };
        failed.unwrap_err().into()
    }
}

/// A body of some bytes, which then fails. A clone is the same body, made anew for the next attempt.
pub(crate) struct Failing {
    bytes: Bytes,
    plan: Arc<Plan>,
    sources: Sources,
    state: State,
}

/// How the body of each attempt fails after how many bytes; the last entry repeats.
struct Plan {
    attempts: Vec<(usize, Option<Failure>)>,
    begun: AtomicUsize,
}

enum State {
    Unread,
    Sent(Option<Failure>),
    Failing(Making),
}

/// Behind a lock, since a body of reqwest must be `Sync`.
type Making = Mutex<Pin<Box<dyn Future<Output = BoxError> + Send>>>;

impl Failing {
    /// A body that fails in every attempt, with a byte missing.
    pub(crate) fn new(bytes: &'static [u8], failure: Failure, sources: &Sources) -> Self {
        let bytes = Bytes::from_static(bytes);
        let sent = bytes.len() - 1;
        Self::planned(bytes, vec![(sent, Some(failure))], sources)
    }

    pub(crate) fn planned(
        bytes: Bytes,
        attempts: Vec<(usize, Option<Failure>)>,
        sources: &Sources,
    ) -> Self {
        let begun = AtomicUsize::new(0);
        Self {
            bytes,
            plan: Arc::new(Plan { attempts, begun }),
            sources: sources.clone(),
            state: State::Unread,
        }
    }
}

impl fmt::Debug for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.attempts.fmt(f)
    }
}

impl Clone for Failing {
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
            plan: Arc::clone(&self.plan),
            sources: self.sources.clone(),
            state: State::Unread,
        }
    }
}

impl Body for Failing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            match &mut self.state {
                State::Unread => {
                    let attempt = self.plan.begun.fetch_add(1, Relaxed);
                    let last = self.plan.attempts.len() - 1;
                    let (sent, failure) = self.plan.attempts[attempt.min(last)];
                    self.state = State::Sent(failure);
                    if sent > 0 {
                        let data = Frame::data(self.bytes.slice(..sent));
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                State::Sent(None) => return Poll::Ready(None),
                State::Sent(Some(failure)) => {
                    let failure = *failure;
                    let error = self.sources.clone().error(failure);
                    self.state = State::Failing(Mutex::new(Box::pin(error)));
                }
                State::Failing(error) => {
                    let made = error.get_mut().unwrap().as_mut().poll(cx);
                    return made.map(|error| Some(Err(error)));
                }
            }
        }
    }

    /// The same after a part of it is sent, as of a body that can be sent again.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
