//! What it costs to read an answer that never breaks, where it would be resumed or is read whole: the CPU of a client's
//! thread over loopback, beside the same client whose layer only retries.
//!
//! ```text
//! cargo bench --all-features --bench downloads
//! ```
//!
//! What is compared is the median of the ratios of neighbouring runs. Client and server have a thread each, and only the
//! client's is measured, by what Linux says of it; elsewhere the rows are skipped.
#![allow(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and says what went wrong by panicking"
)]

mod table;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use http_retry::RetryPolicy;
use http_retry::reqwest::{RetryMiddleware, SendResumed};
use http_retry::tower::RetryLayer;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::convert::Infallible;
use std::fmt::Debug;
use std::net::SocketAddr;
use table::Target::{self, AtMost, None};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tower::{Layer, Service, ServiceExt};

const PAIRS: usize = 41;
const LARGE: usize = 8 * 1024 * 1024;
const SMALL: usize = 4 * 1024;

/// How many answers of a size one run reads.
const SIZES: [(usize, &str, usize); 2] = [(LARGE, "8 MiB", 8), (SMALL, "4 KiB", 400)];

type Microseconds = f64;

/// What the bench is about: the client's runtime, and where the server listens.
struct World {
    client: Runtime,
    address: SocketAddr,
}

fn main() {
    if !table::is_wanted() {
        return;
    }
    if cpu().is_none() {
        table::skipped(
            "CPU of an answer",
            "the system does not tell that of a thread",
        );
        return;
    }
    let (client, server) = (single_threaded(), single_threaded());
    let address = serve(&server);
    std::thread::spawn(move || server.block_on(std::future::pending::<()>()));
    let world = World { client, address };
    table::head("CPU of an answer over loopback, us; the peer only retries");
    for (size, called, times) in SIZES {
        let resumed = if size == LARGE { AtMost(1.02) } else { None };
        world.tower(size, called, times, resumed);
        world.reqwest(size, called, times, resumed);
    }
}

impl World {
    fn tower(&self, size: usize, called: &str, times: usize, resumed: Target) {
        let client = || Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let plain = RetryLayer::new(policy(0)).layer(client());
        let resumes = RetryLayer::new(policy(0))
            .resume_downloads()
            .layer(client());
        let whole = RetryLayer::new(policy(LARGE)).layer(client());
        let at_plain = || self.run(times, || by_tower(&plain, self.url(size)));
        let at_resumed = || self.run(times, || by_tower(&resumes, self.url(size)));
        let at_whole = || self.run(times, || by_tower(&whole, self.url(size)));
        compare(
            &format!("hyper-util, {called}, resumed"),
            at_resumed,
            at_plain,
            resumed,
        );
        compare(
            &format!("hyper-util, {called}, read whole"),
            at_whole,
            at_plain,
            None,
        );
    }

    fn reqwest(&self, size: usize, called: &str, times: usize, resumed: Target) {
        let client = |most| {
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let retries = RetryMiddleware::new(policy(most));
            ClientBuilder::new(client).with(retries).build()
        };
        let (plain, resumes, whole) = (client(0), client(0), client(LARGE));
        let at_plain = || self.run(times, || by_reqwest(&plain, self.url(size), false));
        let at_resumed = || self.run(times, || by_reqwest(&resumes, self.url(size), true));
        let at_whole = || self.run(times, || by_reqwest(&whole, self.url(size), false));
        compare(
            &format!("reqwest, {called}, resumed"),
            at_resumed,
            at_plain,
            resumed,
        );
        compare(
            &format!("reqwest, {called}, read whole"),
            at_whole,
            at_plain,
            None,
        );
    }

    fn url(&self, size: usize) -> String {
        format!("http://{}/{size}", self.address)
    }

    /// The CPU of one answer.
    fn run<F: Future<Output = ()>>(&self, times: usize, one: impl Fn() -> F) -> Microseconds {
        let before = cpu().unwrap();
        self.client.block_on(async {
            for _ in 0..times {
                one().await;
            }
        });
        (cpu().unwrap() - before) / times as f64
    }
}

/// The medians of runs that take turns; the ratio is that of each run to the one beside it.
fn compare(
    what: &str,
    ours: impl Fn() -> Microseconds,
    peer: impl Fn() -> Microseconds,
    target: Target,
) {
    let _warm = (ours(), peer());
    let pairs: Vec<_> = (0..PAIRS)
        .map(|turn| match turn % 2 {
            0 => (ours(), peer()),
            _ => {
                let peer = peer();
                (ours(), peer)
            }
        })
        .collect();
    let ratio = table::median(pairs.iter().map(|(ours, peer)| ours / peer).collect());
    let peer = table::median(pairs.iter().map(|(_, peer)| *peer).collect());
    table::beside(what, ratio * peer, peer, target);
}

/// The CPU that this thread has used so far.
fn cpu() -> Option<Microseconds> {
    // Only a thread that lets go of its processor is told all of its time.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = told.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1_000.0)
}

/// Answers of at most so many bytes are read whole.
fn policy(whole_answers: usize) -> RetryPolicy {
    let policy = RetryPolicy::builder().whole_answers(whole_answers);
    policy.build().unwrap()
}

async fn by_tower<S, B>(service: &S, url: String)
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone,
    S::Error: Debug,
    B: Body<Data = Bytes> + Unpin,
    B::Error: Debug,
{
    let request = Request::get(url).body(Full::default()).unwrap();
    let mut body = service.clone().oneshot(request).await.unwrap().into_body();
    while let Some(frame) = body.frame().await {
        drop(frame.unwrap());
    }
}

async fn by_reqwest(client: &ClientWithMiddleware, url: String, resumed: bool) {
    let request = client.request(Method::GET, url);
    let mut response = match resumed {
        true => request.send_resumed().await.unwrap(),
        false => request.send().await.unwrap(),
    };
    while let Some(data) = response.chunk().await.unwrap() {
        drop(data);
    }
}

fn single_threaded() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server of files of the size that their path says, with a strong tag, as long as the runtime runs.
fn serve(runtime: &Runtime) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(accept(listener));
    address
}

async fn accept(listener: TcpListener) {
    let all = Bytes::from(vec![b'x'; LARGE]);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let all = all.clone();
        let answer = service_fn(move |request: Request<hyper::body::Incoming>| {
            let size: usize = request.uri().path()[1..].parse().unwrap();
            let file = Response::builder().header("etag", "\"a\"");
            let file = file.body(Full::new(all.slice(..size)));
            async move { Ok::<_, Infallible>(file.unwrap()) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}
