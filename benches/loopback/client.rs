//! A client that sends the same requests with a layer and without, in short runs that take turns.

use super::Run;
use crate::stacks;
use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceExt};

const CONNECTIONS: usize = 32;
const REQUESTS: usize = 12;
const PAIRS: usize = 1_000;
/// No pair of runs begins later than this after the first.
const ENOUGH: Duration = Duration::from_millis(6_000);
/// Runs before the first that counts.
const WARM: usize = 10;

type Runs = Pin<Box<dyn Future<Output = ()>>>;

/// Sends in pairs of runs, and says what it measured.
pub(super) async fn send(sent: &str, layer: &str, port: u16) {
    let (client, what) = sent.split_once('/').unwrap();
    let url = format!("http://127.0.0.1:{port}/v2/orders");
    match client {
        "hyper-util" => through_hyper_util(what, layer, &url.parse().unwrap()).await,
        _ => through_reqwest(what, layer, &url.parse().unwrap()).await,
    }
}

/// Sends as many requests as this, one after another, through a client with this layer: `bare`, `http-retry` or `peer`.
pub(super) async fn send_alone(sent: &str, layer: &str, port: u16, times: usize) {
    let (client, what) = sent.split_once('/').unwrap();
    let url = format!("http://127.0.0.1:{port}/v2/orders");
    let (uri, posts) = (url.parse().unwrap(), what == "post");
    match (client, layer) {
        ("hyper-util", "bare") => tower_requests(hyper_client(), uri, posts, times).await,
        ("hyper-util", "peer") => {
            let peer = stacks::tower_retry(hyper_client());
            tower_requests(peer, uri, posts, times).await;
        }
        ("hyper-util", _) => {
            let ours = stacks::layer().layer(hyper_client());
            tower_requests(ours, uri, posts, times).await;
        }
        (_, layer) => {
            let client = match layer {
                "bare" => reqwest_client(),
                "peer" => reqwest_client().with(stacks::reqwest_retry()),
                _ => reqwest_client().with(stacks::middleware()),
            };
            reqwest_requests(client.build(), url.parse().unwrap(), posts, times).await;
        }
    }
}

fn hyper_client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(CONNECTIONS)
        .build_http()
}

fn reqwest_client() -> ClientBuilder {
    let client = reqwest::Client::builder().pool_max_idle_per_host(CONNECTIONS);
    ClientBuilder::new(client.no_proxy().build().unwrap())
}

async fn through_hyper_util(what: &str, layer: &str, uri: &Uri) {
    let bare = hyper_client();
    let posts = what == "post";
    let at_bare = || tower_run(&bare, uri, posts);
    match layer {
        "peer" => {
            let peer = stacks::tower_retry(bare.clone());
            alternate(|| tower_run(&peer, uri, posts), at_bare).await;
        }
        _ => {
            let ours = stacks::layer().layer(bare.clone());
            alternate(|| tower_run(&ours, uri, posts), at_bare).await;
        }
    }
}

async fn through_reqwest(what: &str, layer: &str, url: &reqwest::Url) {
    let bare = reqwest_client().build();
    let layered = match layer {
        "peer" => reqwest_client().with(stacks::reqwest_retry()),
        _ => reqwest_client().with(stacks::middleware()),
    };
    let layered = layered.build();
    let posts = what == "post";
    let at_layered = || reqwest_run(&layered, url, posts);
    alternate(at_layered, || reqwest_run(&bare, url, posts)).await;
}

/// Says of each pair of runs what was measured; which of the two comes first changes.
async fn alternate(ours: impl Fn() -> Runs, bare: impl Fn() -> Runs) {
    let started = Instant::now();
    for turn in 0..PAIRS + WARM {
        if started.elapsed() > ENOUGH {
            return;
        }
        let (first, second) = match turn % 2 {
            0 => (ours(), bare()),
            _ => (bare(), ours()),
        };
        let pair = (measured(first).await, measured(second).await);
        let (ours, bare) = match turn % 2 {
            0 => pair,
            _ => (pair.1, pair.0),
        };
        if turn >= WARM {
            println!("{} {}", told(ours), told(bare));
        }
    }
}

fn told(run: Run) -> String {
    format!("{} {} {}", run.requests, run.took, run.on_cpu)
}

async fn measured(run: Runs) -> Run {
    let (started, on_cpu) = (Instant::now(), on_cpu());
    run.await;
    Run {
        requests: (CONNECTIONS * REQUESTS) as f64,
        took: started.elapsed().as_secs_f64(),
        on_cpu: self::on_cpu() - on_cpu,
    }
}

/// Seconds for which this thread, the only one that works, had a processor. They are brought up to date when it gives the
/// processor back, and else only at a tick of the system's timer, which may be as long as a run.
fn on_cpu() -> f64 {
    std::thread::sleep(Duration::from_nanos(1));
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split(' ').next().and_then(|told| told.parse().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

fn tower_run<S, B>(service: &S, uri: &Uri, posts: bool) -> Runs
where
    S: Service<stacks::Request, Response = http::Response<B>, Error: Send + std::fmt::Debug>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    let (service, uri) = (service.clone(), uri.clone());
    at_once(move || tower_requests(service.clone(), uri.clone(), posts, REQUESTS))
}

async fn tower_requests<S, B>(service: S, uri: Uri, posts: bool, times: usize)
where
    S: Service<stacks::Request, Response = http::Response<B>, Error: std::fmt::Debug> + Clone,
    B: http_body::Body,
{
    for _ in 0..times {
        let mut request = stacks::Request::default();
        if posts {
            request = stacks::request();
            *request.method_mut() = Method::POST;
        }
        *request.uri_mut() = uri.clone();
        let response = service.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        drop(response.into_body().collect().await);
    }
}

fn reqwest_run(client: &ClientWithMiddleware, url: &reqwest::Url, posts: bool) -> Runs {
    let (client, url) = (client.clone(), url.clone());
    at_once(move || reqwest_requests(client.clone(), url.clone(), posts, REQUESTS))
}

async fn reqwest_requests(
    client: ClientWithMiddleware,
    url: reqwest::Url,
    posts: bool,
    times: usize,
) {
    for _ in 0..times {
        let mut request = reqwest::Request::new(Method::GET, url.clone());
        if posts {
            *request.method_mut() = Method::POST;
            *request.headers_mut() = stacks::headers();
            *request.body_mut() = Some(reqwest::Body::from(stacks::body()));
        }
        let response = client.execute(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.bytes().await.unwrap();
    }
}

/// One task for each connection.
fn at_once<F: Future<Output = ()> + Send + 'static>(one: impl Fn() -> F + 'static) -> Runs {
    Box::pin(async move {
        let tasks: JoinSet<()> = (0..CONNECTIONS).map(|_| one()).collect();
        tasks.join_all().await;
    })
}
