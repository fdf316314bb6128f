//! A server on the loopback interface that answers like the API of a large language model: `/v1/chat/completions`, whole
//! or as a stream, with a quota for each key, overload, and errors of many kinds.
//!
//! It depends on nothing else of the example, so that other programs and tests include it by its path. What comes in is
//! never trusted: bodies, keys, connections and counters have limits.
#![allow(
    dead_code,
    unused_imports,
    reason = "who includes it needs a part of it"
)]

mod answers;
mod body;
mod call;
mod quota;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use quota::{Quota, Second};
pub(crate) use rules::{Hint, Plan, Rules, Trouble, chosen, sometimes};

use answers::{Refusal, error, in_trouble, rate_limited};
use body::Frames;
use bytes::Bytes;
use call::Call;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use quota::{Accounts, Granted};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout};

/// No request body is longer.
const MOST_BODY: usize = 1 << 20;
/// No request head is longer.
const MOST_HEAD: usize = 64 << 10;
/// No more connections are open at a time.
const MOST_CONNECTIONS: usize = 4_096;
/// A body that is not here by then is not waited for.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The server; it ends with this value, and its connections with it.
pub(crate) struct LlmServer {
    url: String,
    desk: Arc<Desk>,
    accepting: JoinHandle<()>,
}

impl LlmServer {
    pub(crate) async fn start(rules: Rules) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let desk = Arc::new(Desk {
            rules,
            accounts: Accounts::default(),
            calls: AtomicU64::new(0),
            endless: Arc::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&desk)));
        Ok(Self {
            url,
            desk,
            accepting,
        })
    }

    /// The base URL, with `/v1` and without a slash behind it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What became of a key's calls, in each second since its first call.
    pub(crate) fn served(&self, key: &str) -> Vec<Second> {
        self.desk.accounts.served(key)
    }

    /// How many bytes the clients have taken of bodies that never end.
    pub(crate) fn endless_bytes(&self) -> u64 {
        self.desk.endless.load(Relaxed)
    }
}

impl Drop for LlmServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

struct Desk {
    rules: Rules,
    accounts: Accounts,
    calls: AtomicU64,
    endless: Arc<AtomicU64>,
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let desk = Arc::clone(&desk);
        connections.spawn(async move {
            serve(stream, desk).await;
            drop(place);
        });
    }
}

/// Serves one connection to its end; that it breaks is the client's right.
async fn serve(stream: TcpStream, desk: Arc<Desk>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(|request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(desk.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).max_buf_size(MOST_HEAD);
    let _the_client_may_go = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Desk {
    async fn answer(&self, request: Request<Incoming>) -> Response<Frames> {
        let (head, body) = request.into_parts();
        let key = match call::checked(&head) {
            Ok(key) => key,
            Err(refusal) => return refusal.answer(),
        };
        let body = match read(body).await {
            Ok(body) => body,
            Err(refusal) => return refusal.answer(),
        };
        pause(self.rules.round_trip / 2).await;
        let (answer, thinking) = self.decide(&key, &body);
        pause(thinking.saturating_add(self.rules.round_trip / 2)).await;
        answer
    }

    /// The answer to a call that has arrived, and how long it takes to find.
    fn decide(&self, key: &str, body: &[u8]) -> (Response<Frames>, Duration) {
        let at_once = |answer| (answer, Duration::ZERO);
        let number = self.calls.fetch_add(1, Relaxed).saturating_add(1);
        let Some(mut account) = self.accounts.of(key, now()) else {
            let refusal = error(403, "permission_error", "too_many_keys", "Too many keys.");
            return at_once(refusal.answer());
        };
        let fits = Call::parse(body).and_then(|call| call.within(self.rules.context));
        let call = match fits {
            Ok(call) => call,
            Err(refusal) => {
                account.failed();
                return at_once(refusal.answer());
            }
        };
        if let Some(trouble) = (self.rules.trouble)(number) {
            account.failed();
            return at_once(in_trouble(trouble, &call, &self.rules, &self.endless));
        }
        match account.take(self.rules.quota) {
            Granted::Yes(standing) => {
                let mut answer = call.completion(number, self.rules.between_frames);
                self.tell(&mut answer, standing);
                (answer, self.thinking(number))
            }
            Granted::No(standing) => {
                let mut answer = rate_limited(self.rules.hint, standing.reset);
                self.tell(&mut answer, Some(standing));
                at_once(answer)
            }
        }
    }

    fn tell(&self, answer: &mut Response<Frames>, standing: Option<quota::Standing>) {
        if let (true, Some(standing)) = (self.rules.quota_headers, standing) {
            answer.headers_mut().extend(standing.headers());
        }
    }

    /// Anything in the range, and the same for the same call.
    fn thinking(&self, number: u64) -> Duration {
        let (least, most) = (self.rules.thinking.start(), self.rules.thinking.end());
        let spread = u32::try_from(mixed(number) % 1_000).unwrap_or_default();
        let more = most.saturating_sub(*least).saturating_mul(spread) / 1_000;
        least.saturating_add(more)
    }
}

async fn read(body: Incoming) -> Result<Bytes, Refusal> {
    match timeout(BODY_TIME, Limited::new(body, MOST_BODY).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(error(
            413,
            "invalid_request_error",
            "request_too_large",
            "The request is too large.",
        )),
        Err(_) => Err(error(
            408,
            "timeout",
            "timeout",
            "The request did not come.",
        )),
    }
}

/// The finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

#[expect(clippy::disallowed_methods, reason = "a server has its own clock")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a server has its own clock")]
async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
