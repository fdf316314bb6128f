//! What goes wrong, each with a server that makes it go wrong every time.

use super::clients::{Kit, LIMIT, Limited, Stack};
use super::orders::Load;
use crate::wire::http2::{Http2Server, Turn, let_all_run};
use crate::wire::server::{Act, Answer, FaultServer, IN_VAIN};
use crate::wire::stacks::clock::let_pass;
use crate::wire::tls::{self, Authority, Greeting, TlsServer};
use h2::Reason;
use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// More than all requests to one server.
const MANY: usize = 1_000;

const HERE: &str = "127.0.0.1";

/// Something that goes wrong, the same way for every request.
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    pub(crate) kit: Kit,
    server: Server,
    /// Whether the server counts one request for each attempt.
    counted: bool,
}

enum Server {
    Fault(FaultServer),
    Tls(TlsServer),
    Http2(Http2Server),
    /// A port whose queue of connections is full.
    Full(#[expect(dead_code, reason = "runs while it is held")] (TcpListener, TcpStream)),
    Other(#[expect(dead_code, reason = "runs while it is held")] Box<dyn Any>),
}

impl Situation {
    fn new(name: &'static str, url: impl Into<String>, server: Server) -> Self {
        let kit = Kit::new(url);
        Self {
            name,
            kit,
            server,
            counted: false,
        }
    }

    /// A server that does the same with every request.
    async fn act(name: &'static str, act: Act) -> Self {
        let server = FaultServer::start(vec![act; MANY]).await;
        let situation = Self::new(name, server.url("/"), Server::Fault(server));
        situation.counted(true)
    }

    /// A server of HTTP/2 that does the same with every request.
    async fn turn(name: &'static str, turn: Turn) -> Self {
        let server = Http2Server::start([turn]).await;
        let situation = Self::new(name, server.url(), Server::Http2(server));
        situation.counted(true).with(|kit| kit.http2 = true)
    }

    async fn greeting(name: &'static str, greeting: Greeting, tls: rustls::ClientConfig) -> Self {
        let server = TlsServer::start([greeting]).await;
        Self::new(name, server.url(), Server::Tls(server)).with(|kit| kit.tls = tls)
    }

    fn counted(self, counted: bool) -> Self {
        Self { counted, ..self }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Kit)) -> Self {
        change(&mut self.kit);
        self
    }

    /// The clients that can meet it.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = Stack> {
        let stale = self.kit.stale;
        let is_uri = self.kit.url.parse::<http::Uri>().is_ok();
        Stack::ALL.into_iter().filter(move |stack| match stack {
            Stack::Hyper => is_uri,
            _ => !stale,
        })
    }

    /// How many requests came, where the server counts one for each attempt.
    pub(crate) fn requests(&self) -> Option<usize> {
        match &self.server {
            _ if !self.counted => None,
            Server::Fault(server) => Some(server.received().len()),
            Server::Http2(server) => Some(server.got().len()),
            _ => None,
        }
    }

    /// Runs a call; whenever the server lets it wait, its time is up.
    pub(crate) async fn run<T>(&self, call: impl Future<Output = T>) -> T {
        let what = self.name;
        tokio::select! {
            biased;
            done = tokio::time::timeout(IN_VAIN, call) => done.expect(what),
            never = self.let_time_pass() => match never {},
        }
    }

    async fn let_time_pass(&self) -> Infallible {
        match (&self.server, self.kit.limited) {
            (Server::Fault(server), Limited::Answering) => {
                let mut seen = server.received().len();
                loop {
                    seen += 1;
                    server.until(|server| server.received().len() >= seen).await;
                    let_pass(LIMIT + Duration::from_secs(1)).await;
                }
            }
            (Server::Tls(server), Limited::Connecting) => {
                let mut seen = server.connections();
                loop {
                    seen += 1;
                    server.until_connections(seen).await;
                    let_pass(LIMIT + Duration::from_secs(1)).await;
                }
            }
            (Server::Full(_), _) => loop {
                let_all_run().await;
                let_pass(LIMIT + Duration::from_secs(1)).await;
            },
            _ => std::future::pending().await,
        }
    }
}

/// The rows of the table of statuses.
pub(crate) async fn statuses() -> Vec<Situation> {
    let mut rows = Vec::new();
    for (name, status) in STATUSES {
        let answer = Answer::new(status);
        let answer = match name.ends_with("Retry-After") {
            true => answer.header("retry-after", "1"),
            false => answer,
        };
        rows.push(Situation::act(name, Act::Answer(answer)).await);
    }
    rows
}

const STATUSES: [(&str, u16); 27] = [
    ("200", 200),
    ("301, not followed", 301),
    ("400", 400),
    ("404", 404),
    ("408", 408),
    ("409", 409),
    ("413", 413),
    ("413 with Retry-After", 413),
    ("425", 425),
    ("429", 429),
    ("429 with Retry-After", 429),
    ("500", 500),
    ("501", 501),
    ("502", 502),
    ("503", 503),
    ("503 with Retry-After", 503),
    ("504", 504),
    ("505", 505),
    ("506", 506),
    ("507", 507),
    ("508", 508),
    ("510", 510),
    ("511", 511),
    ("520", 520),
    ("529", 529),
    ("530", 530),
    ("599", 599),
];

/// The rows of the table of errors.
pub(crate) async fn errors() -> Vec<Situation> {
    let mut rows = connecting().await;
    rows.extend(server_certificates().await);
    rows.extend(client_certificates().await);
    rows.extend(http1().await);
    rows.extend(http2().await);
    rows.extend(of_the_caller().await);
    rows.extend(redirects().await);
    rows
}

async fn connecting() -> Vec<Situation> {
    let trust = tls::trusting_nobody;
    // Too long a label, so that no name server is asked.
    let host = format!("{}.invalid", "a".repeat(64));
    let stall = Situation::greeting("no connection in time", Greeting::Stall, trust()).await;
    vec![
        nobody("connection refused"),
        unnamed("DNS failure", &format!("http://{host}/")),
        unnamed("a host name that cannot be", &format!("https://{host}/")),
        stall.with(|kit| kit.limited = Limited::Connecting),
        Situation::greeting("TLS handshake closed", Greeting::CutHandshake, trust()).await,
        Situation::greeting("TLS handshake reset", Greeting::ResetHandshake, trust()).await,
        Situation::greeting("the server speaks no TLS", Greeting::NotTls, trust()).await,
    ]
}

async fn server_certificates() -> Vec<Situation> {
    let (ours, other) = (Authority::new("ours"), Authority::new("another"));
    let shown = [
        ("certificate expired", ours.sign(HERE, 2000)),
        ("certificate of an unknown issuer", other.sign(HERE, 3000)),
        (
            "certificate for another name",
            ours.sign("other.example", 3000),
        ),
    ];
    let mut rows = Vec::new();
    for (name, identity) in shown {
        let greeting = Greeting::Serve(tls::serving(identity));
        rows.push(Situation::greeting(name, greeting, tls::trusting(&ours)).await);
    }
    let cut = Greeting::CutAnswer(tls::serving(ours.sign(HERE, 3000)));
    rows.push(Situation::greeting("TLS cut after the request", cut, tls::trusting(&ours)).await);
    rows
}

async fn client_certificates() -> Vec<Situation> {
    let (ours, other) = (Authority::new("ours"), Authority::new("another"));
    let names = [
        [
            "client certificate refused, TLS 1.2",
            "client certificate missing, TLS 1.2",
        ],
        [
            "client certificate refused, TLS 1.3",
            "client certificate missing, TLS 1.3",
        ],
    ];
    let versions = [&rustls::version::TLS12, &rustls::version::TLS13];
    let mut rows = Vec::new();
    for ([refused, missing], version) in names.into_iter().zip(versions) {
        let identity = || ours.sign(HERE, 3000);
        let asks = || Greeting::Serve(tls::serving_known_clients(identity(), &ours, version));
        let stranger = tls::known_as(&ours, other.sign("client", 3000));
        rows.push(Situation::greeting(refused, asks(), stranger).await);
        rows.push(Situation::greeting(missing, asks(), tls::trusting(&ours)).await);
    }
    rows
}

async fn http1() -> Vec<Situation> {
    let closes = Act::AnswerThenClose(Answer::new(200));
    let stale = Situation::act("canceled before it was written", closes).await;
    let stall = Situation::act("no answer in time", Act::StallHead).await;
    let name = "reset while the body is written";
    let written = Situation::act(name, Act::ResetAfterRequestHead).await;
    let mut rows = vec![
        stale.counted(false).with(|kit| kit.stale = true),
        stall.with(|kit| kit.limited = Limited::Answering),
        reset_unread("reset with the request unread").await,
        written.with(|kit| kit.load = Load::Large),
    ];
    for (name, act) in HTTP1 {
        rows.push(Situation::act(name, act).await);
    }
    rows
}

const HTTP1: [(&str, Act); 9] = [
    ("reset after the request's head", Act::ResetAfterRequestHead),
    ("reset after the request", Act::ResetAfterRequest),
    ("closed after the request", Act::CloseAfterRequest),
    ("reset within the head", Act::ResetInHead),
    ("closed within the head", Act::CloseInHead),
    ("not HTTP", Act::Garbage),
    ("200, its body cut", Act::CutBody(200)),
    ("200, its body reset", Act::ResetInBody(200)),
    ("200, its gzip broken", Act::BadGzip),
];

async fn http2() -> Vec<Situation> {
    let mut rows = Vec::new();
    for (name, turn) in HTTP2 {
        rows.push(Situation::turn(name, turn).await);
    }
    let http1 = Situation::act("HTTP/2 to a server of HTTP/1", Act::status(400)).await;
    rows.push(http1.counted(false).with(|kit| kit.http2 = true));
    rows
}

const HTTP2: [(&str, Turn); 8] = [
    (
        "GOAWAY NO_ERROR without the request",
        Turn::GoAwayWithout(Reason::NO_ERROR),
    ),
    ("GOAWAY NO_ERROR with the request, closed", Turn::GoAwayWith),
    (
        "GOAWAY INTERNAL_ERROR",
        Turn::GoAwayWithout(Reason::INTERNAL_ERROR),
    ),
    (
        "RST_STREAM REFUSED_STREAM",
        Turn::ResetStream(Reason::REFUSED_STREAM),
    ),
    (
        "RST_STREAM INTERNAL_ERROR",
        Turn::ResetStream(Reason::INTERNAL_ERROR),
    ),
    ("RST_STREAM CANCEL", Turn::ResetStream(Reason::CANCEL)),
    ("HTTP/2 closed after the request", Turn::Close),
    ("not HTTP/2", Turn::Garbage),
];

async fn of_the_caller() -> Vec<Situation> {
    let http1 = Situation::act("the caller's body fails", Act::status(200)).await;
    let http2 = Situation::turn("the caller's body fails, HTTP/2", Turn::Stall).await;
    vec![
        unnamed("a scheme that is not spoken", "ftp://127.0.0.1/"),
        unnamed("a URL that is no URI", "http://{127.0.0.1}/"),
        http1.counted(false).with(|kit| kit.load = Load::Breaking),
        http2.counted(false).with(|kit| kit.load = Load::Breaking),
    ]
}

async fn redirects() -> Vec<Situation> {
    let looping = Situation::act("redirect loop", redirect(307, "/")).await;
    let nobody = nobody("");
    let busy = FaultServer::start(vec![Act::status(429); MANY]).await;
    let busy_url = busy.url("/");
    vec![
        looping.counted(false),
        leading("303 to a closed port", &nobody.kit.url.clone(), nobody).await,
        leading("303 to a 429", &busy_url, busy).await,
    ]
}

fn redirect(status: u16, url: &str) -> Act {
    Act::Answer(Answer::new(status).header("location", url))
}

/// A server that leads a request to another place, which has to be held.
async fn leading(name: &'static str, url: &str, place: impl Any) -> Situation {
    let server = FaultServer::start(vec![redirect(303, url); MANY]).await;
    Situation::new(
        name,
        server.url("/"),
        Server::Other(Box::new((server, place))),
    )
}

/// A port that is taken, so that no one else gets it, and on which nobody listens.
fn nobody(name: &'static str) -> Situation {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    Situation::new(name, url, Server::Other(Box::new(socket)))
}

/// A port that completes no more connections: one is in its queue, which holds no other.
#[cfg(target_os = "linux")]
pub(crate) async fn full() -> Situation {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let first = TcpStream::connect(address).await.unwrap();
    let server = Server::Full((listener, first));
    Situation::new("never accepted", format!("http://{address}/"), server)
        .with(|kit| kit.limited = Limited::Connecting)
}

/// A URL that leads to no server.
fn unnamed(name: &'static str, url: &str) -> Situation {
    Situation::new(name, url, Server::Other(Box::new(())))
}

/// A server that waits until something of a request is there, and resets without reading it.
async fn reset_unread(name: &'static str) -> Situation {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.peek(&mut [0]).await;
            stream.set_zero_linger().unwrap();
        }
    });
    Situation::new(name, url, Server::Other(Box::new(task)))
}
