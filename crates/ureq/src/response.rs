//! Reading a response's body before its caller does.

use crate::watch;
use http::Response;
use http_retry_core::adapter::Inspected;
use http_retry_core::rules::CannedResponse;
use http_retry_core::runtime::Runtime;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use ureq::{Body, Error};

/// Returns a reader that has seen enough once it was given more than this many bytes.
pub(crate) fn at_most(bytes: usize) -> impl FnMut(&[u8]) -> ControlFlow<()> {
    let mut room = bytes;
    move |data| match room.checked_sub(data.len()) {
        Some(left) => {
            room = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    }
}

/// Yields an error once, and ends.
struct FailedRead(Option<io::Error>);

impl Read for FailedRead {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reads a body until `see` has seen enough of it, and at most until this time; the caller still gets all of it. If the
/// body breaks, the caller gets the error after the bytes before it.
pub(crate) fn read(
    response: Response<Body>,
    clock: &Arc<dyn Runtime>,
    until: Option<Duration>,
    see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> (Response<Body>, Result<Inspected, Error>) {
    let (parts, body) = response.into_parts();
    let kind = body.mime_type().map(str::to_owned);
    let mut rest = body.into_reader();
    let mut data = Vec::new();
    let is_late = || until.is_some_and(|until| clock.now() >= until);
    let fill = || fill(&mut rest, &mut data, &is_late, see);
    let (end, _) = watch::around(clock, until, true, fill);
    let builder = Body::builder();
    let builder = match kind {
        Some(kind) => builder.mime_type(kind),
        None => builder,
    };
    let body = match &end {
        Ok(Inspected::AtTheEnd) => builder.data(data),
        Ok(_) => builder.reader(Cursor::new(data).chain(rest)),
        Err(error) => {
            let again = io::Error::new(kind_of(error), error.to_string());
            builder.reader(Cursor::new(data).chain(FailedRead(Some(again))))
        }
    };
    (Response::from_parts(parts, body), end)
}

fn kind_of(error: &Error) -> io::ErrorKind {
    match error {
        Error::Io(error) => error.kind(),
        Error::Timeout(_) => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::Other,
    }
}

fn fill(
    rest: &mut impl Read,
    data: &mut Vec<u8>,
    is_late: &dyn Fn() -> bool,
    see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Inspected, Error> {
    let mut buffer = [0; 8 * 1024];
    loop {
        if is_late() {
            return Ok(Inspected::TimeIsUp);
        }
        let read = match rest.read(&mut buffer) {
            Ok(0) => return Ok(Inspected::AtTheEnd),
            Ok(read) => buffer.get(..read).unwrap_or_default(),
            Err(error) => {
                let error = Error::from(error);
                let is_cut = matches!(error, Error::Timeout(_)) && is_late();
                return if is_cut {
                    Ok(Inspected::TimeIsUp)
                } else {
                    Err(error)
                };
            }
        };
        data.extend_from_slice(read);
        if see(read).is_break() {
            return Ok(Inspected::Enough);
        }
    }
}

/// Builds the response that a policy has for requests without retries left.
pub(crate) fn canned(canned: &CannedResponse) -> Response<Body> {
    let kind = canned.headers.get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()?.split(';').next());
    let builder = Body::builder();
    let builder = match kind {
        Some(kind) => builder.mime_type(kind.trim()),
        None => builder,
    };
    let mut response = Response::new(builder.data(canned.body.as_bytes()));
    *response.status_mut() = canned.status;
    *response.headers_mut() = (*canned.headers).clone();
    response
}
