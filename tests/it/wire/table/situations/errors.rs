//! The rows of the table of errors.

use super::super::clients::Limited;
use super::super::orders::Load;
use super::{MANY, Server, Situation};
use crate::listening::{Listening, nobody};
use crate::wire::http2::server::Turn;
use crate::wire::server::{Act, Answer, FaultServer};
use crate::wire::tls::certificates::{
    Authority, known_as, serving, serving_known_clients, trusting, trusting_nobody,
};
use crate::wire::tls::server::Greeting;
use h2::Reason;
use std::any::Any;

pub(crate) async fn all() -> Vec<Situation> {
    let mut rows = connecting().await;
    rows.extend(server_certificates().await);
    rows.extend(client_certificates().await);
    rows.extend(super::proxies::all().await);
    rows.extend(http1().await);
    rows.extend(http2().await);
    rows.extend(of_the_caller().await);
    rows.extend(redirects().await);
    rows
}

async fn connecting() -> Vec<Situation> {
    let trust = trusting_nobody;
    // Too long a label, so that no name server is asked.
    let host = format!("{}.invalid", "a".repeat(64));
    let stall = Situation::greeting("no connection in time", Greeting::Stall, trust()).await;
    vec![
        refusing("connection refused"),
        unnamed("DNS failure", &format!("http://{host}/table")),
        unnamed(
            "a host name that cannot be",
            &format!("https://{host}/table"),
        ),
        stall.with(|kit| kit.limited = Limited::Connecting),
        Situation::greeting("TLS handshake closed", Greeting::CutHandshake, trust()).await,
        Situation::greeting("TLS handshake reset", Greeting::ResetHandshake, trust()).await,
        Situation::greeting("the server speaks no TLS", Greeting::NotTls, trust()).await,
        Situation::greeting("TLS alert internal_error", Greeting::Alert(80), trust()).await,
        Situation::greeting("TLS alert handshake_failure", Greeting::Alert(40), trust()).await,
    ]
}

async fn server_certificates() -> Vec<Situation> {
    let (ours, other) = (Authority::new("ours"), Authority::new("another"));
    let shown = [
        ("certificate expired", ours.sign_here(2000)),
        ("certificate of an unknown issuer", other.sign_here(3000)),
        (
            "certificate for another name",
            ours.sign("other.example", 3000),
        ),
    ];
    let mut rows = Vec::new();
    for (name, identity) in shown {
        let greeting = Greeting::Serve(serving(identity));
        rows.push(Situation::greeting(name, greeting, trusting(&ours)).await);
    }
    let cut = Greeting::CutAnswer(serving(ours.sign_here(3000)));
    rows.push(Situation::greeting("TLS cut after the request", cut, trusting(&ours)).await);
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
        let identity = || ours.sign_here(3000);
        let asks = || Greeting::Serve(serving_known_clients(identity(), &ours, version));
        let stranger = known_as(&ours, other.sign("client", 3000));
        rows.push(Situation::greeting(refused, asks(), stranger).await);
        rows.push(Situation::greeting(missing, asks(), trusting(&ours)).await);
    }
    let asks = || {
        let version = &rustls::version::TLS13;
        Greeting::Serve(serving_known_clients(ours.sign_here(3000), &ours, version))
    };
    let name = "client certificate missing, TLS 1.3, HTTP/2";
    let http2 = Situation::greeting(name, asks(), trusting(&ours)).await;
    rows.push(http2.with(|kit| kit.http2 = true));
    // By TLS 1.3 the client has shaken hands when it is refused.
    let is_late = |row: &Situation| row.name.contains("TLS 1.3");
    let racing = |row| if is_late(&row) { row.racing() } else { row };
    rows.into_iter().map(racing).collect()
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
    let long = Answer::new(200).header("x-long", "x".repeat(4_000_000));
    rows.push(Situation::act("a head over the limit", Act::Answer(long)).await);
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
        let row = Situation::turn(name, turn).await;
        rows.push(match turn {
            // hyper may report the GOAWAY to a request that it has just begun to send.
            Turn::GoAwayWith(_) => row.racing(),
            _ => row,
        });
    }
    let http1 = Situation::act("HTTP/2 to a server of HTTP/1", Act::status(400)).await;
    rows.push(http1.counted(false).racing().with(|kit| kit.http2 = true));
    rows
}

const HTTP2: [(&str, Turn); 19] = [
    (
        "GOAWAY NO_ERROR without the request",
        Turn::GoAwayWithout(Reason::NO_ERROR),
    ),
    (
        "GOAWAY INTERNAL_ERROR without the request",
        Turn::GoAwayWithout(Reason::INTERNAL_ERROR),
    ),
    (
        "GOAWAY PROTOCOL_ERROR without the request",
        Turn::GoAwayWithout(Reason::PROTOCOL_ERROR),
    ),
    (
        "GOAWAY ENHANCE_YOUR_CALM without the request",
        Turn::GoAwayWithout(Reason::ENHANCE_YOUR_CALM),
    ),
    (
        "GOAWAY HTTP_1_1_REQUIRED without the request",
        Turn::GoAwayWithout(Reason::HTTP_1_1_REQUIRED),
    ),
    (
        "GOAWAY INADEQUATE_SECURITY without the request",
        Turn::GoAwayWithout(Reason::INADEQUATE_SECURITY),
    ),
    (
        "GOAWAY NO_ERROR with the request, closed",
        Turn::GoAwayWith(Reason::NO_ERROR),
    ),
    (
        "GOAWAY INTERNAL_ERROR with the request, closed",
        Turn::GoAwayWith(Reason::INTERNAL_ERROR),
    ),
    (
        "GOAWAY ENHANCE_YOUR_CALM with the request, closed",
        Turn::GoAwayWith(Reason::ENHANCE_YOUR_CALM),
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
    (
        "RST_STREAM ENHANCE_YOUR_CALM",
        Turn::ResetStream(Reason::ENHANCE_YOUR_CALM),
    ),
    (
        "RST_STREAM HTTP_1_1_REQUIRED",
        Turn::ResetStream(Reason::HTTP_1_1_REQUIRED),
    ),
    (
        "RST_STREAM INADEQUATE_SECURITY",
        Turn::ResetStream(Reason::INADEQUATE_SECURITY),
    ),
    ("HTTP/2 closed after the request", Turn::Close),
    ("HTTP/2, a head over the limit", Turn::LongHead(2)),
    ("HTTP/2, a head far over the limit", Turn::LongHead(8)),
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

/// Away from the paths of other rows and tests: a call at the same time might take a redirect on its path for its own.
const REDIRECTED: &str = "/redirected";

async fn redirects() -> Vec<Situation> {
    let refusing = refusing("");
    let busy = FaultServer::start(vec![Act::status(429); MANY]).await;
    let to_refusing = redirect(303, &refusing.kit.url);
    let to_busy = redirect(303, &busy.url("/"));
    vec![
        leading("redirect loop", redirect(307, REDIRECTED), ()).await,
        leading("303 to a closed port", to_refusing, refusing).await,
        leading("303 to a 429", to_busy, busy).await,
    ]
}

fn redirect(status: u16, url: &str) -> Act {
    Act::Answer(Answer::new(status).header("location", url))
}

/// A server that leads a request to another place, which has to be held.
async fn leading(name: &'static str, redirect: Act, place: impl Any) -> Situation {
    let server = FaultServer::start(vec![redirect; MANY]).await;
    Situation::new(
        name,
        server.url(REDIRECTED),
        Server::Other(Box::new((server, place))),
    )
}

fn refusing(name: &'static str) -> Situation {
    let (socket, address) = nobody();
    let url = format!("http://{address}/table");
    Situation::new(name, url, Server::Other(Box::new(socket)))
}

/// A URL that leads to no server.
fn unnamed(name: &'static str, url: &str) -> Situation {
    Situation::new(name, url, Server::Other(Box::new(())))
}

/// A server that waits until something of a request is there, and resets without reading it.
async fn reset_unread(name: &'static str) -> Situation {
    let listening = Listening::start(|stream, _| async move {
        let _ = stream.peek(&mut [0]).await;
        stream.set_zero_linger().unwrap();
    });
    let listening = listening.await;
    let url = format!("http://{}/table", listening.address);
    Situation::new(name, url, Server::Other(Box::new(listening)))
}
