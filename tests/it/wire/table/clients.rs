//! The same request through every client, bare and with retries, and how it ends for its caller.

use super::ending::Ending;
use super::orders::{Load, Order, Payload};
use super::stale::StaleThenSend;
use crate::wire::tls::certificates::trusting_nobody;
use http::{Request, Response};
use http_retry::report::{AttemptReport, Observer, RetryEvent, RetryEventKind};
use http_retry::reqwest::{RetryMiddleware, redirect_policy};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryPolicy};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::redirect::Policy;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpStream;
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// Every time limit of a client.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// What a client needs to meet a situation.
#[derive(Clone)]
pub(crate) struct Kit {
    pub(crate) url: String,
    pub(crate) load: Load,
    pub(crate) tls: rustls::ClientConfig,
    pub(crate) http2: bool,
    pub(crate) limited: Limited,
    /// How long a client waits for what it puts a limit on.
    pub(crate) limit: Duration,
    pub(crate) through: Through,
    /// Every request goes to a pooled connection whose end is noticed with it.
    pub(crate) stale: bool,
}

/// The way of a connection to its server.
#[derive(Debug, Clone)]
pub(crate) enum Through {
    Nothing,
    /// A proxy that gets a CONNECT, at this host and port.
    Tunnel(String),
    /// A SOCKS proxy, version 5.
    Socks(String),
    /// A connector that fails like this.
    Failing(io::ErrorKind),
}

/// The name and the password for every proxy.
const PROXY_USER: [&str; 2] = ["user", "secret"];

impl Through {
    /// The proxy's URL, if there is one.
    fn proxy(&self) -> Option<String> {
        let [user, password] = PROXY_USER;
        match self {
            Self::Tunnel(proxy) => Some(format!("http://{user}:{password}@{proxy}")),
            Self::Socks(proxy) => Some(format!("socks5h://{user}:{password}@{proxy}")),
            Self::Nothing | Self::Failing(_) => None,
        }
    }
}

impl Kit {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            load: Load::Usual,
            tls: trusting_nobody(),
            http2: false,
            limited: Limited::Nothing,
            limit: LIMIT,
            through: Through::Nothing,
            stale: false,
        }
    }
}

/// What a client puts a time limit on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limited {
    Nothing,
    Connecting,
    Answering,
}

/// A client and how it is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    /// reqwest-middleware.
    Reqwest,
    /// The tower layer on `reqwest::Client`.
    ReqwestService,
    /// reqwest-middleware, where redirects are followed and watched.
    ReqwestWatched,
    /// The tower layer on `reqwest::Client`, where redirects are followed and watched.
    ReqwestServiceWatched,
    /// reqwest-middleware, where both are told that no redirect is followed.
    ReqwestAsIs,
    /// The tower layer on `reqwest::Client`, where both are told that no redirect is followed.
    ReqwestServiceAsIs,
    /// The tower layer on hyper-util's client.
    Hyper,
}

/// What the retry layer made of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<AttemptReport>>>);

impl Log {
    pub(crate) fn attempts(&self) -> Vec<AttemptReport> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn on_event(&self, event: &RetryEvent<'_>) {
        if let RetryEventKind::AttemptEnded(attempt) = event.kind {
            self.0.lock().unwrap().push(attempt.clone());
        }
    }
}

/// Whether a client retries, and who is told.
#[derive(Debug, Clone)]
pub(crate) enum Retries {
    None,
    Silent,
    Told(Log),
}

impl Stack {
    pub(crate) const ALL: [Self; 7] = [
        Self::Reqwest,
        Self::ReqwestService,
        Self::ReqwestWatched,
        Self::ReqwestServiceWatched,
        Self::ReqwestAsIs,
        Self::ReqwestServiceAsIs,
        Self::Hyper,
    ];

    /// The name in the table; the two ways to put retries on reqwest share one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reqwest | Self::ReqwestService => "reqwest",
            Self::ReqwestWatched | Self::ReqwestServiceWatched => "reqwest (watched)",
            Self::ReqwestAsIs | Self::ReqwestServiceAsIs => "reqwest (no redirects)",
            Self::Hyper => "hyper",
        }
    }

    fn redirects(self) -> Policy {
        match self {
            Self::Reqwest | Self::ReqwestService | Self::Hyper => Policy::default(),
            Self::ReqwestWatched | Self::ReqwestServiceWatched => {
                redirect_policy(Policy::default())
            }
            Self::ReqwestAsIs | Self::ReqwestServiceAsIs => Policy::none(),
        }
    }

    /// Sends one request through a client of its own.
    pub(crate) async fn send(self, kit: &Kit, order: Order, retries: &Retries) -> Ending {
        match self {
            Self::Reqwest | Self::ReqwestWatched | Self::ReqwestAsIs => {
                self.by_middleware(kit, order, retries).await
            }
            Self::ReqwestService | Self::ReqwestServiceWatched | Self::ReqwestServiceAsIs => {
                self.as_service(kit, order, retries).await
            }
            Self::Hyper => by_hyper(kit, order, retries).await,
        }
    }

    async fn by_middleware(self, kit: &Kit, order: Order, retries: &Retries) -> Ending {
        let client = reqwest_client(kit, self.redirects());
        let request = reqwest_request(kit, order);
        let middleware = match retries {
            Retries::None => return Ending::of_reqwest(client.execute(request).await).await,
            Retries::Silent => RetryMiddleware::new(policy()),
            Retries::Told(log) => RetryMiddleware::new(policy()).observer(log.clone()),
        };
        let middleware = match self {
            Self::ReqwestWatched => middleware.redirects_watched(),
            Self::ReqwestAsIs => middleware.redirects_off(),
            _ => middleware,
        };
        let client = reqwest_middleware::ClientBuilder::new(client)
            .with(middleware.runtime(ManualRuntime::new()))
            .build();
        let result = client.execute(request).await;
        Ending::of_reqwest(result.map_err(reqwest_own)).await
    }

    async fn as_service(self, kit: &Kit, order: Order, retries: &Retries) -> Ending {
        let client = reqwest_client(kit, self.redirects());
        let request = reqwest_request(kit, order);
        let layer = match (layer(retries), self) {
            (None, _) => return Ending::of_reqwest(client.oneshot(request).await).await,
            (Some(layer), Self::ReqwestServiceWatched) => layer.redirects_watched(),
            (Some(layer), Self::ReqwestServiceAsIs) => layer.redirects_off(),
            (Some(layer), _) => layer,
        };
        let result = layer.layer(client).oneshot(request).await;
        let own = |error: BoxError| *error.downcast::<reqwest::Error>().unwrap();
        Ending::of_reqwest(result.map_err(own)).await
    }
}

/// One retry, at once.
pub(crate) fn policy() -> RetryPolicy {
    let builder = RetryPolicy::builder().max_gate_wait(None);
    let builder = builder.max_retries(1);
    builder.backoff(Backoff::none()).build().unwrap()
}

pub(crate) fn layer(retries: &Retries) -> Option<RetryLayer> {
    let layer = RetryLayer::new(policy()).runtime(ManualRuntime::new());
    match retries {
        Retries::None => None,
        Retries::Silent => Some(layer),
        Retries::Told(log) => Some(layer.observer(log.clone())),
    }
}

fn reqwest_own(error: reqwest_middleware::Error) -> reqwest::Error {
    match error {
        reqwest_middleware::Error::Reqwest(error) => error,
        reqwest_middleware::Error::Middleware(error) => panic!("not reqwest's own: {error:?}"),
    }
}

pub(crate) fn reqwest_client(kit: &Kit, redirects: Policy) -> reqwest::Client {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(kit.tls.clone())
        .retry(reqwest::retry::never())
        .no_proxy();
    let builder = match kit.limited {
        Limited::Nothing => builder,
        Limited::Connecting => builder.connect_timeout(kit.limit),
        Limited::Answering => builder.timeout(kit.limit),
    };
    let builder = match kit.through.proxy() {
        Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy).unwrap()),
        None => builder,
    };
    let builder = builder.redirect(redirects);
    let builder = if kit.http2 {
        builder.http2_prior_knowledge()
    } else {
        builder
    };
    builder.build().unwrap()
}

fn reqwest_request(kit: &Kit, order: Order) -> reqwest::Request {
    let payload = Payload::of(kit.load, order);
    let body = match (kit.load, payload.next.clone()) {
        (Load::Breaking, _) => reqwest::Body::wrap(payload),
        (_, Some(bytes)) => reqwest::Body::from(bytes),
        (_, None) => reqwest::Body::from(""),
    };
    let has_body = kit.load.has_body(order);
    // By its own parser, since some of these URLs are none for `http::Uri`.
    let url = reqwest::Url::parse(&kit.url).unwrap();
    let mut request = reqwest::Request::new(order.method(), url);
    *request.headers_mut() = order.request("/", ()).headers().clone();
    *request.body_mut() = has_body.then_some(body);
    request
}

type HyperConnector = BoxCloneSyncService<
    http::Uri,
    <HttpsConnector<HttpConnector> as Service<http::Uri>>::Response,
    BoxError,
>;

async fn by_hyper(kit: &Kit, order: Order, retries: &Retries) -> Ending {
    if kit.stale {
        return through(StaleThenSend::new(&kit.url), kit, order, retries).await;
    }
    let client = hyper_client(kit);
    match kit.limited {
        Limited::Answering => through(Timeout::new(client, kit.limit), kit, order, retries).await,
        _ => through(client, kit, order, retries).await,
    }
}

pub(crate) fn hyper_client(kit: &Kit) -> Client<HyperConnector, Payload> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout((kit.limited == Limited::Connecting).then_some(kit.limit));
    let uri = |proxy: &str| format!("http://{proxy}").parse::<http::Uri>().unwrap();
    let [user, password] = PROXY_USER.map(str::to_owned);
    let connector = match &kit.through {
        Through::Nothing => over_tls(http, kit),
        Through::Tunnel(proxy) => {
            let basic = http::HeaderValue::from_static("Basic dXNlcjpzZWNyZXQ=");
            over_tls(Tunnel::new(uri(proxy), http).with_auth(basic), kit)
        }
        Through::Socks(proxy) => {
            let socks = SocksV5::new(uri(proxy), http).with_auth(user, password);
            over_tls(socks, kit)
        }
        Through::Failing(kind) => {
            let kind = *kind;
            let failing =
                service_fn(move |_| async move { Err(BoxError::from(io::Error::from(kind))) });
            BoxCloneSyncService::new(failing)
        }
    };
    Client::builder(TokioExecutor::new())
        .http2_only(kit.http2)
        .build(connector)
}

fn over_tls<T>(transport: T, kit: &Kit) -> HyperConnector
where
    T: Service<http::Uri, Response = TokioIo<TcpStream>> + Clone + Send + Sync + 'static,
    T::Future: Send,
    T::Error: Into<BoxError>,
{
    let https = HttpsConnector::from((transport, kit.tls.clone()));
    match kit.limited {
        Limited::Connecting => BoxCloneSyncService::new(Timeout::new(https, kit.limit)),
        _ => BoxCloneSyncService::new(https),
    }
}

async fn through<S>(service: S, kit: &Kit, order: Order, retries: &Retries) -> Ending
where
    S: Service<Request<Payload>, Response = Response<hyper::body::Incoming>>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send + 'static,
{
    let request = order.request(&kit.url, Payload::of(kit.load, order));
    match layer(retries) {
        None => Ending::of_hyper(service.oneshot(request).await).await,
        Some(layer) => Ending::of_hyper(layer.layer(service).oneshot(request).await).await,
    }
}
