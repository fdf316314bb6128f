//! Requests per second over loopback HTTP: this crate, its peers and the bare clients, one after the other and again.
//!
//! ```text
//! cargo bench --all-features --bench peers
//! ```
//!
//! What is compared is the median of the ratios of neighbouring runs, on 64 connections, each with its next request as
//! soon as the one before is answered. Client and server have a thread each; the client's is the busier one, so all that
//! a layer adds is seen.
#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and says what went wrong by panicking"
)]

mod stacks;
mod table;

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Instant;
use table::Target;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceExt};

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 50;
const PAIRS: usize = 61;
const LEAST: Target = Target::AtLeast(0.98);

type PerSecond = f64;

fn main() {
    if !table::is_wanted() {
        return;
    }
    let (client, server) = (single_threaded(), single_threaded());
    let address = serve(&server);
    std::thread::spawn(move || server.block_on(std::future::pending::<()>()));
    table::head("requests per second over loopback; the peer is the bare client");
    all(&client, address);
}

fn all(runtime: &Runtime, address: SocketAddr) {
    let bare = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(CONNECTIONS)
        .build_http::<Full<Bytes>>();
    let ours = stacks::layer().layer(bare.clone());
    let peer = stacks::tower_retry(bare.clone());
    let at_bare = || runtime.block_on(tower_run(&bare, address));
    let at_ours = || runtime.block_on(tower_run(&ours, address));
    let at_peer = || runtime.block_on(tower_run(&peer, address));
    compare("hyper-util, http-retry", at_ours, at_bare, LEAST);
    compare("hyper-util, tower::retry", at_peer, at_bare, Target::None);

    let bare = ClientBuilder::new(client()).build();
    let ours = ClientBuilder::new(client()).with(stacks::middleware());
    let peer = ClientBuilder::new(client()).with(stacks::reqwest_retry());
    let (ours, peer) = (ours.build(), peer.build());
    let at_bare = || runtime.block_on(reqwest_run(&bare, address));
    let at_ours = || runtime.block_on(reqwest_run(&ours, address));
    let at_peer = || runtime.block_on(reqwest_run(&peer, address));
    compare("reqwest, http-retry", at_ours, at_bare, LEAST);
    compare("reqwest, reqwest-retry", at_peer, at_bare, Target::None);
}

/// The medians of runs that take turns; the ratio is that of each run to the one beside it.
fn compare(what: &str, ours: impl Fn() -> PerSecond, bare: impl Fn() -> PerSecond, target: Target) {
    let _warm = (ours(), bare());
    let pair = |turn: usize| match turn % 2 {
        0 => (ours(), bare()),
        _ => {
            let bare = bare();
            (ours(), bare)
        }
    };
    let pairs: Vec<_> = (0..PAIRS).map(pair).collect();
    let ratios = pairs.iter().map(|(ours, bare)| ours / bare).collect();
    let bare = pairs.iter().map(|(_, bare)| *bare).collect();
    let (ratio, bare) = (table::median(ratios), table::median(bare));
    table::beside(what, ratio * bare, bare, target);
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().pool_max_idle_per_host(CONNECTIONS);
    client.no_proxy().build().unwrap()
}

fn single_threaded() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server that answers every request at once, as long as the runtime runs.
fn serve(runtime: &Runtime) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(accept(listener));
    address
}

async fn accept(listener: TcpListener) {
    let answer = service_fn(async |request: http::Request<hyper::body::Incoming>| {
        drop(request.into_body().collect().await);
        let answer = Full::new(Bytes::from_static(b"{}"));
        Ok::<_, Infallible>(http::Response::new(answer))
    });
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

async fn tower_run<S, B>(service: &S, address: SocketAddr) -> PerSecond
where
    S: Service<stacks::Request, Response = http::Response<B>, Error = ClientError>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: Send,
{
    let uri: http::Uri = format!("http://{address}/v2/orders").parse().unwrap();
    at_once(|| {
        let (service, uri) = (service.clone(), uri.clone());
        async move {
            for _ in 0..REQUESTS {
                let mut request = stacks::request();
                *request.uri_mut() = uri.clone();
                let response = service.clone().oneshot(request).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                drop(response.into_body().collect().await);
            }
        }
    })
    .await
}

async fn reqwest_run(client: &ClientWithMiddleware, address: SocketAddr) -> PerSecond {
    let url = reqwest::Url::parse(&format!("http://{address}/v2/orders")).unwrap();
    at_once(|| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            for _ in 0..REQUESTS {
                let mut request = reqwest::Request::new(Method::GET, url.clone());
                *request.headers_mut() = stacks::headers();
                *request.body_mut() = Some(reqwest::Body::from(stacks::body()));
                let response = client.execute(request).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                response.bytes().await.unwrap();
            }
        }
    })
    .await
}

/// One task for each connection.
async fn at_once<F: Future<Output = ()> + Send + 'static>(one: impl Fn() -> F) -> PerSecond {
    let started = Instant::now();
    let tasks: JoinSet<()> = (0..CONNECTIONS).map(|_| one()).collect();
    tasks.join_all().await;
    (CONNECTIONS * REQUESTS) as f64 / started.elapsed().as_secs_f64()
}
