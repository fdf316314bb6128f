//! Servers with different files under equal validators that lead requests to each other.

use super::steered::Steered;
use super::world::{BYTES, Fault, proxy};
use crate::listening::Listening;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

pub(crate) const SERVERS: usize = 3;

/// The files of each server.
const TARGETS: [&str; 3] = ["/f", "/f?v=2", "/g"];

pub(crate) const FILES: usize = SERVERS * TARGETS.len();

/// The response header with the number of the file that a body is of.
pub(crate) const FILE: &str = "x-file";

/// What a server does with a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Serve,
    Busy,
    /// Redirects it to this file.
    Lead(usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Validator {
    Tag,
    Date,
    Both,
    Nothing,
}

#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) acts: VecDeque<Act>,
    /// Those of its first connections.
    pub(crate) faults: Vec<Fault>,
    pub(crate) ranges: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Alike {
    pub(crate) length: usize,
    /// The files differ in one of so many bytes, and in their last one: seldom in the bytes that a download compares.
    pub(crate) stride: usize,
    pub(crate) validator: Validator,
    pub(crate) hosts: [Host; SERVERS],
}

/// The servers, each behind a proxy that breaks its connections.
pub(crate) struct Servers {
    urls: Arc<OnceLock<Vec<String>>>,
    files: Arc<Vec<Bytes>>,
    _listening: Vec<Listening>,
}

impl Alike {
    fn file(&self, number: usize) -> Bytes {
        let mut bytes = BYTES[..self.length].to_vec();
        let own = u8::try_from(number + 1).unwrap();
        let last = self.length - 1;
        let differing = (self.stride / 2..last).step_by(self.stride).chain([last]);
        differing.for_each(|at| bytes[at] ^= own);
        bytes.into()
    }

    pub(crate) async fn start(&self, steered: &Steered) -> Servers {
        let files: Arc<Vec<Bytes>> = Arc::new((0..FILES).map(|number| self.file(number)).collect());
        let (urls, mut listening) = (Arc::default(), Vec::new());
        let mut proxies = Vec::new();
        for (number, host) in self.hosts.iter().enumerate() {
            let server = Arc::new(Server {
                number,
                ranges: host.ranges,
                acts: Mutex::new(host.acts.clone()),
                validator: self.validator,
                files: Arc::clone(&files),
                urls: Arc::clone(&urls),
            });
            let serve = move |stream, _| Arc::clone(&server).serve(stream);
            let server = Listening::start(serve).await;
            proxies.push(proxy(server.address, host.faults.clone(), steered).await);
            listening.push(server);
        }
        let address = |proxy: &Listening| format!("http://{}", proxy.address);
        urls.set(proxies.iter().map(address).collect()).unwrap();
        listening.extend(proxies);
        Servers {
            urls,
            files,
            _listening: listening,
        }
    }
}

impl Servers {
    /// Where a server is, without a path.
    pub(crate) fn url(&self, server: usize) -> &str {
        &self.urls.get().unwrap()[server]
    }

    pub(crate) fn authority(&self, server: usize) -> &str {
        self.url(server).strip_prefix("http://").unwrap()
    }

    /// The URL of the first file.
    pub(crate) fn front(&self) -> String {
        format!("{}{}", self.url(0), TARGETS[0])
    }

    pub(crate) fn file(&self, number: usize) -> Bytes {
        self.files[number].clone()
    }
}

struct Server {
    number: usize,
    ranges: bool,
    acts: Mutex<VecDeque<Act>>,
    validator: Validator,
    files: Arc<Vec<Bytes>>,
    urls: Arc<OnceLock<Vec<String>>>,
}

impl Server {
    async fn serve(self: Arc<Self>, stream: tokio::net::TcpStream) {
        stream.set_nodelay(true).unwrap();
        let answer = service_fn(|request| {
            let answer = self.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let http = http1::Builder::new();
        // A client that goes away is no failure of the server's.
        let _ended = http.serve_connection(TokioIo::new(stream), answer).await;
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let act = self.acts.lock().unwrap().pop_front();
        let response = Response::builder();
        let nothing = Full::default();
        match act.unwrap_or(Act::Serve) {
            Act::Busy => response.status(503).body(nothing).unwrap(),
            Act::Lead(file) => {
                let server = &self.urls.get().unwrap()[file / TARGETS.len()];
                let to = format!("{server}{}", TARGETS[file % TARGETS.len()]);
                let response = response.status(302).header("location", to);
                response.body(nothing).unwrap()
            }
            Act::Serve => self.send(request),
        }
    }

    fn send(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let target = request.uri().path_and_query().unwrap().as_str();
        // A port may be asked for what was at it before.
        let Some(place) = TARGETS.iter().position(|known| *known == target) else {
            let missing = Response::builder().status(404);
            return missing.body(Full::default()).unwrap();
        };
        let number = self.number * TARGETS.len() + place;
        let file = &self.files[number];
        let mut response = Response::builder().header(FILE, number);
        if matches!(self.validator, Validator::Tag | Validator::Both) {
            response = response.header("etag", "\"1\"");
        }
        if matches!(self.validator, Validator::Date | Validator::Both) {
            response = response.header("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
        }
        let range = request.headers().get("range").filter(|_| self.ranges);
        let range = range.map(|range| range_of(range.to_str().unwrap()));
        if let Some(range) = &range {
            let (first, last) = (range.start, range.end - 1);
            let told = format!("bytes {first}-{last}/{}", file.len());
            response = response.status(206).header("content-range", told);
        }
        let body = file.slice(range.unwrap_or(0..file.len()));
        response.body(Full::new(body)).unwrap()
    }
}

fn range_of(header: &str) -> Range<usize> {
    let range = header.strip_prefix("bytes=").unwrap();
    let (first, last) = range.split_once('-').unwrap();
    first.parse().unwrap()..last.parse::<usize>().unwrap() + 1
}
