//! Any answers of a server that tells no lies, however unclear: a download is the file that it began with, or an error.
//!
//! The server has two versions of a file that differ only after the cut, so that no overlap tells them apart. Whatever it
//! says of tag and range is true of the bytes that it sends, but it can leave it out, say it twice or say it weakly.
#![no_main]

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::future::{Future, Ready, ready};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tower_layer::Layer;
use tower_service::Service;

const DATE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
const CHANGES: [&str; 2] = [
    "Wed, 31 Dec 2025 00:00:00 GMT",
    "Wed, 31 Dec 2025 12:00:00 GMT",
];

fuzz_target!(|input: Input| {
    let length = usize::from(input.length) + 1;
    let cut = usize::from(input.cut) % length;
    let world = World { length, cut };
    let first = world.first(&input.first);
    let rest = input.rest.iter().map(|answer| world.answer(answer));
    let server = Server(Arc::new(Mutex::new(
        [first].into_iter().chain(rest).collect(),
    )));
    let layer = RetryLayer::new(RetryPolicy::background())
        .budget(RetryBudget::unlimited())
        .runtime(ManualRuntime::new());
    let mut service = layer.resume_downloads().layer(server);
    // Of a download that nothing was read of, and that has no proof, any version is whole.
    let versions = if cut == 0 && !is_proven(&input.first) {
        0..2
    } else {
        0..1
    };
    let files: Vec<Vec<u8>> = versions.map(|version| world.file(version)).collect();
    let sent = service.call(Request::new(String::new()));
    let Ok(response) = at_once(sent) else { return };
    let mut body = response.into_body();
    let mut read = Vec::new();
    while let Some(frame) = at_once(std::future::poll_fn(|cx| {
        Pin::new(&mut body).poll_frame(cx)
    })) {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => read.extend_from_slice(&data),
            Ok(Err(_)) => {}
            Err(_) => {
                let starts = files.iter().any(|file| file.starts_with(&read));
                assert!(starts, "the start of another file");
                return;
            }
        }
    }
    assert!(
        files.contains(&read),
        "another file than the first answer's"
    );
});

fn is_proven(first: &Said) -> bool {
    match first.tag {
        Manner::Clear => true,
        Manner::Missing => first.date == Manner::Clear,
        _ => false,
    }
}

/// Nothing here waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[derive(Debug, Arbitrary)]
struct Input {
    length: u16,
    cut: u16,
    first: Said,
    rest: Vec<Answer>,
}

#[derive(Debug, Arbitrary)]
struct Answer {
    status: u8,
    version: bool,
    from: From,
    /// So many bytes are missing at the end of the range.
    short: u8,
    said: Said,
}

/// Where an answer begins.
#[derive(Debug, Arbitrary)]
enum From {
    Asked,
    Start,
    At(u16),
}

/// What is said of the bytes.
#[derive(Debug, Arbitrary)]
struct Said {
    tag: Manner,
    date: Manner,
    range: Manner,
    length: Manner,
    total_unknown: bool,
    extra: Vec<(u8, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
enum Manner {
    Clear,
    Missing,
    Twice,
    Weak,
    Garbled,
}

struct World {
    length: usize,
    cut: usize,
}

impl World {
    /// A version of the file.
    fn file(&self, version: u8) -> Vec<u8> {
        let byte = |at: usize| (at % 251) as u8;
        let changed = |at: usize| if at >= self.cut { version } else { 0 };
        (0..self.length).map(|at| byte(at) ^ changed(at)).collect()
    }

    /// The start of the first version, with all that is said of it.
    fn first(&self, said: &Said) -> Turn {
        let mut headers = HeaderMap::new();
        self.describe(&mut headers, 0, said);
        headers.insert("content-length", self.length.into());
        Turn {
            status: StatusCode::OK,
            headers,
            data: self.file(0)[..self.cut].to_vec(),
            breaks: true,
        }
    }

    fn answer(&self, answer: &Answer) -> Turn {
        const STATUSES: [u16; 8] = [206, 206, 206, 200, 200, 416, 412, 503];
        let status = STATUSES[usize::from(answer.status) % STATUSES.len()];
        let version = u8::from(answer.version);
        let from = match answer.from {
            From::Asked => self.cut.saturating_sub(1024),
            From::Start => 0,
            From::At(at) => usize::from(at) % self.length,
        };
        let from = if status == 206 { from } else { 0 };
        let short = if status == 206 {
            usize::from(answer.short)
        } else {
            0
        };
        let end = self.length.saturating_sub(short).max(from + 1);
        let data = self.file(version)[from..end].to_vec();
        let mut headers = HeaderMap::new();
        self.describe(&mut headers, version, &answer.said);
        put(
            &mut headers,
            "content-length",
            &data.len().to_string(),
            answer.said.length,
        );
        if status == 206 {
            let total = if answer.said.total_unknown {
                "*".to_owned()
            } else {
                self.length.to_string()
            };
            let range = format!("bytes {from}-{}/{total}", end - 1);
            put(&mut headers, "content-range", &range, answer.said.range);
        }
        Turn {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            data,
            breaks: false,
        }
    }

    fn describe(&self, headers: &mut HeaderMap, version: u8, said: &Said) {
        const EXTRA: [&str; 4] = ["content-type", "accept-ranges", "vary", "x-other"];
        put(headers, "etag", &format!("\"{version}\""), said.tag);
        headers.insert("date", HeaderValue::from_static(DATE));
        put(
            headers,
            "last-modified",
            CHANGES[usize::from(version)],
            said.date,
        );
        for (name, value) in &said.extra {
            let name = HeaderName::from_static(EXTRA[usize::from(*name) % EXTRA.len()]);
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.append(name, value);
            }
        }
    }
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str, manner: Manner) {
    let texts = match manner {
        Manner::Clear => vec![value.to_owned()],
        Manner::Missing => vec![],
        Manner::Twice => vec![value.to_owned(), value.to_owned()],
        Manner::Weak => vec![format!("W/{value}")],
        Manner::Garbled => vec![value[1..].to_owned()],
    };
    for text in texts {
        headers.append(name, text.parse().unwrap());
    }
}

struct Turn {
    status: StatusCode,
    headers: HeaderMap,
    data: Vec<u8>,
    /// It ends as a connection that is reset.
    breaks: bool,
}

#[derive(Clone)]
struct Server(Arc<Mutex<VecDeque<Turn>>>);

impl Service<Request<String>> for Server {
    type Response = Response<Sent>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<Sent>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        let turn = self.0.lock().unwrap().pop_front();
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        ready(turn.ok_or_else(refused).map(|turn| {
            let mut response = Response::new(Sent {
                data: Some(turn.data.into()),
                breaks: turn.breaks,
            });
            *response.status_mut() = turn.status;
            *response.headers_mut() = turn.headers;
            response
        }))
    }
}

struct Sent {
    data: Option<Bytes>,
    breaks: bool,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let data = self.data.take().filter(|data| !data.is_empty());
        let reset = || Err(io::ErrorKind::ConnectionReset.into());
        let end = std::mem::take(&mut self.breaks).then(reset);
        match data {
            Some(data) => {
                self.breaks = end.is_some();
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            None => Poll::Ready(end),
        }
    }
}
