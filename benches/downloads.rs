//! What it costs to read an answer that never breaks, where it would be resumed or is read whole: the CPU of a client's
//! thread over loopback, beside the same client whose layer only retries.
//!
//! ```text
//! cargo bench --all-features --bench downloads
//! ```
//!
//! What is compared is the median of the ratios of neighbouring runs in a process; and of many processes the middle, with
//! the interval in which it lies 19 times out of 20: where a process has its buffers is chance, and as much as what is
//! measured. Client and server have a thread each, and only the client's is measured, by what Linux says of it; elsewhere
//! the rows are skipped.
#![allow(
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
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
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::convert::Infallible;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::process::Command;
use table::Target::{self, AtMost, None};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tower::{Layer, Service, ServiceExt};

/// Odd, like the number of pairs in each.
const PROCESSES: usize = 35;
const PAIRS: usize = 11;
const LARGE: usize = 8 * 1024 * 1024;
const SMALL: usize = 4 * 1024;
const HUGE: usize = 60 * 1024 * 1024;
const MEASURE: &str = "--measure";

/// What is read, from which client, how, and what is asked of that.
const ROWS: [(&str, &str, usize, Target); 11] = [
    ("hyper-util", "resumed", LARGE, AtMost(1.02)),
    ("hyper-util", "read whole", LARGE, None),
    ("reqwest", "resumed", LARGE, AtMost(1.02)),
    ("reqwest", "read whole", LARGE, None),
    ("hyper-util", "resumed", SMALL, None),
    ("hyper-util", "read whole", SMALL, None),
    ("reqwest", "resumed", SMALL, None),
    ("reqwest", "read whole", SMALL, None),
    ("hyper-util", "read whole", HUGE, None),
    // Beside a peer whose caller keeps the body, as one does who wants it whole.
    ("hyper-util", "read whole, kept", HUGE, AtMost(1.2)),
    ("reqwest", "read whole, kept", HUGE, AtMost(1.2)),
];

type Microseconds = f64;

/// One process: its client's runtime, and where its server listens.
struct World {
    client: Runtime,
    address: SocketAddr,
    size: usize,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [MEASURE, row] = *args.iter().map(String::as_str).collect::<Vec<_>>() {
        let (client, reading, size, _) = ROWS[row.parse::<usize>().unwrap()];
        let (ours, peer) = World::new(size).measure(client, reading);
        println!("{ours} {peer}");
        return;
    }
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
    table::head("CPU of an answer over loopback, us; the peer only retries");
    for (row, (client, reading, size, target)) in ROWS.into_iter().enumerate() {
        let told: Vec<_> = (0..PROCESSES).map(|_| one_process(row)).collect();
        let peer = table::median(told.iter().map(|(_, peer)| *peer).collect());
        let ratio = table::median_within(told.iter().map(|(ours, peer)| ours / peer).collect());
        let called = match size {
            HUGE => "60 MiB",
            LARGE => "8 MiB",
            _ => "4 KiB",
        };
        let what = format!("{client}, {called}, {reading}");
        table::likely(&what, ratio.1 * peer, peer, ratio, target);
    }
}

/// What another process measures of a row.
fn one_process(row: usize) -> (Microseconds, Microseconds) {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args([MEASURE, &row.to_string()]);
    // Whether glibc gives the end of its heap back, and takes it anew, hangs on all else that a program holds.
    process.env("MALLOC_TRIM_THRESHOLD_", "1000000000");
    process.env("MALLOC_MMAP_THRESHOLD_", "1000000000");
    let run = process.output().unwrap();
    assert!(run.status.success(), "row {row} has failed");
    let told = String::from_utf8(run.stdout).unwrap();
    let (ours, peer) = told.trim().split_once(' ').unwrap();
    (ours.parse().unwrap(), peer.parse().unwrap())
}

impl World {
    fn new(size: usize) -> Self {
        let (client, server) = (single_threaded(), single_threaded());
        let address = serve(&server);
        std::thread::spawn(move || server.block_on(std::future::pending::<()>()));
        Self {
            client,
            address,
            size,
        }
    }

    fn measure(&self, client: &str, reading: &str) -> (Microseconds, Microseconds) {
        let (whole, keeps) = (self.size, reading.ends_with("kept"));
        match (client, reading) {
            ("reqwest", "resumed") => compare(
                || self.reqwest(0, true, keeps),
                || self.reqwest(0, false, keeps),
            ),
            ("reqwest", _) => compare(
                || self.reqwest(whole, false, keeps),
                || self.reqwest(0, false, keeps),
            ),
            (_, "resumed") => compare(|| self.resumed(), || self.tower(0, keeps)),
            _ => compare(|| self.tower(whole, keeps), || self.tower(0, keeps)),
        }
    }

    fn resumed(&self) -> Microseconds {
        let service = RetryLayer::new(policy(0)).resume_downloads();
        let service = service.layer(hyper_client());
        self.run(|| by_tower(&service, self.url(), false))
    }

    fn tower(&self, whole_responses: usize, keeps: bool) -> Microseconds {
        let service = RetryLayer::new(policy(whole_responses)).layer(hyper_client());
        self.run(|| by_tower(&service, self.url(), keeps))
    }

    fn reqwest(&self, whole_responses: usize, resumed: bool, keeps: bool) -> Microseconds {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let retries = RetryMiddleware::new(policy(whole_responses));
        let client = ClientBuilder::new(client).with(retries).build();
        self.run(|| by_reqwest(&client, self.url(), resumed, keeps))
    }

    fn url(&self) -> String {
        format!("http://{}/{}", self.address, self.size)
    }

    /// The CPU of one answer over a connection that stands.
    fn run<F: Future<Output = ()>>(&self, one: impl Fn() -> F) -> Microseconds {
        self.client.block_on(one());
        let times = match self.size {
            HUGE => 2,
            LARGE => 8,
            _ => 400,
        };
        let before = cpu().unwrap();
        self.client.block_on(async {
            for _ in 0..times {
                one().await;
            }
        });
        (cpu().unwrap() - before) / f64::from(times)
    }
}

fn hyper_client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

/// The medians of runs that take turns; the ratio is that of each run to the one beside it.
fn compare(
    ours: impl Fn() -> Microseconds,
    peer: impl Fn() -> Microseconds,
) -> (Microseconds, Microseconds) {
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
    (ratio * peer, peer)
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
fn policy(whole_responses: usize) -> RetryPolicy {
    let policy = RetryPolicy::builder().whole_responses(whole_responses);
    policy.build().unwrap()
}

/// Drops each piece of the body as it comes, or keeps all and joins them.
async fn by_tower<S, B>(service: &S, url: String, keeps: bool)
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone,
    S::Error: Debug,
    B: Body<Data = Bytes> + Unpin,
    B::Error: Debug,
{
    let request = Request::get(url).body(Full::default()).unwrap();
    let mut body = service.clone().oneshot(request).await.unwrap().into_body();
    if keeps {
        drop(body.collect().await.unwrap().to_bytes());
        return;
    }
    while let Some(frame) = body.frame().await {
        drop(frame.unwrap());
    }
}

async fn by_reqwest(client: &ClientWithMiddleware, url: String, resumed: bool, keeps: bool) {
    let request = client.request(Method::GET, url);
    let mut response = if resumed {
        request.send_resumed().await.unwrap()
    } else {
        request.send().await.unwrap()
    };
    if keeps {
        drop(response.bytes().await.unwrap());
        return;
    }
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
    let all = Bytes::from(vec![b'x'; HUGE]);
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
