//! The settings and the framing of a request, which ureq shows to nobody but a connector.
//!
//! A request may carry settings of its own, in a private type, and the length of its body is private too. So the head
//! is sent once to a connection in memory, which reads both and fails: nothing of the body is read.

use http::request::Parts;
use http::{HeaderMap, Request, Uri, header};
use std::cell::Cell;
use std::sync::LazyLock;
use ureq::config::{Config, Timeouts};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, AsSendBody, Error, SendBody};

/// The settings of ureq that count for a request.
#[derive(Clone, Copy)]
pub(crate) struct RequestSettings {
    pub(crate) status_as_error: bool,
    pub(crate) timeouts: Timeouts,
}

impl RequestSettings {
    fn of(config: &Config) -> Self {
        Self {
            status_as_error: config.http_status_as_error(),
            timeouts: config.timeouts(),
        }
    }
}

/// The way a request's body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// It has none.
    Absent,
    /// It has this many bytes.
    Length(u64),
    /// It ends when it ends.
    Chunked,
}

thread_local! {
    static SETTINGS: Cell<Option<RequestSettings>> = const { Cell::new(None) };
    static FRAMING: Cell<Option<Framing>> = const { Cell::new(None) };
}

/// The agent that connects to memory.
static MEMORY: LazyLock<Agent> =
    LazyLock::new(|| Agent::with_parts(Config::default(), MemoryConnector, NoResolver));

/// Enough for the headers of a dry run, which are few.
const BUFFER_BYTES: usize = 16 * 1024;

/// Returns the settings of a request for `agent`, and the framing of its body if ureq would send it.
pub(crate) fn examine(
    agent: &Agent,
    parts: &Parts,
    body: &mut SendBody<'_>,
) -> (RequestSettings, Option<Framing>) {
    SETTINGS.set(None);
    FRAMING.set(None);
    let mut request = Request::new(body.as_body());
    *request.method_mut() = parts.method.clone();
    *request.version_mut() = parts.version;
    *request.uri_mut() = Uri::from_static("https://127.0.0.1/");
    *request.extensions_mut() = parts.extensions.clone();
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        for value in parts.headers.get_all(&name) {
            request.headers_mut().append(name.clone(), value.clone());
        }
    }
    let request = agent.configure_request(request).build();
    // It always fails: the connection takes the head and nothing more.
    let _ = MEMORY.run(request);
    let settings = SETTINGS.take();
    let settings = settings.unwrap_or_else(|| RequestSettings::of(agent.config()));
    (settings, FRAMING.take())
}

#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

#[derive(Debug)]
struct MemoryConnector;

impl Connector<()> for MemoryConnector {
    type Out = MemoryTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<MemoryTransport>, Error> {
        SETTINGS.set(Some(RequestSettings::of(details.config)));
        Ok(Some(MemoryTransport {
            buffers: LazyBuffers::new(1, BUFFER_BYTES),
            head: Vec::new(),
        }))
    }
}

#[derive(Debug)]
struct MemoryTransport {
    buffers: LazyBuffers,
    head: Vec<u8>,
}

impl Transport for MemoryTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let written = self.buffers.output();
        self.head
            .extend_from_slice(written.get(..amount).unwrap_or_default());
        if self.head.ends_with(b"\r\n\r\n") {
            FRAMING.set(Some(framing(&self.head)));
            return Err(Error::ConnectionFailed);
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        Err(Error::ConnectionFailed)
    }

    fn is_open(&mut self) -> bool {
        false
    }

    fn is_tls(&self) -> bool {
        true
    }
}

/// Reads the framing from a head as ureq writes it.
fn framing(head: &[u8]) -> Framing {
    let value_of = |name: &header::HeaderName| {
        head.split(|byte| *byte == b'\n').find_map(|line| {
            let (own, rest) = line.split_at_checked(name.as_str().len())?;
            let is_it = own.eq_ignore_ascii_case(name.as_str().as_bytes());
            rest.strip_prefix(b":").filter(|_| is_it)
        })
    };
    if value_of(&header::TRANSFER_ENCODING).is_some() {
        return Framing::Chunked;
    }
    match value_of(&header::CONTENT_LENGTH) {
        Some(length) => {
            let length = std::str::from_utf8(length).ok();
            let length = length.and_then(|length| length.trim().parse().ok());
            length.map_or(Framing::Chunked, Framing::Length)
        }
        None => Framing::Absent,
    }
}

/// Writes the framing of a body whose length ureq no longer knows into its headers.
pub(crate) fn announce(headers: &mut HeaderMap, framing: Framing) {
    if let Framing::Length(length) = framing {
        let is_absent = !headers.contains_key(header::TRANSFER_ENCODING);
        if is_absent {
            let _ = headers.try_insert(header::CONTENT_LENGTH, length.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::Duration;

    fn examined(
        request: Request<()>,
        mut body: SendBody<'_>,
    ) -> (RequestSettings, Option<Framing>, String) {
        let agent = Agent::new_with_defaults();
        let (parts, ()) = request.into_parts();
        let (settings, framing) = examine(&agent, &parts, &mut body);
        let mut left = String::new();
        body.into_reader().read_to_string(&mut left).unwrap();
        (settings, framing, left)
    }

    fn post() -> Request<()> {
        Request::post("http://a.example/").body(()).unwrap()
    }

    #[test]
    fn the_framing_is_read_and_the_body_is_not() {
        let mut text = "abc";
        let (_, framing, left) = examined(post(), text.as_body());
        assert_eq!((framing, &*left), (Some(Framing::Length(3)), "abc"));
        let reader = SendBody::from_owned_reader(&b"abc"[..]);
        let (_, framing, left) = examined(post(), reader);
        assert_eq!((framing, &*left), (Some(Framing::Chunked), "abc"));
        let get = Request::get("http://a.example/").body(()).unwrap();
        let (_, framing, _) = examined(get, SendBody::none());
        assert_eq!(framing, Some(Framing::Absent));
        let mut empty = "";
        let (_, framing, _) = examined(post(), empty.as_body());
        assert_eq!(framing, Some(Framing::Length(0)));
    }

    #[test]
    fn a_length_of_the_callers_own_counts() {
        let request = Request::post("http://a.example/").header("Content-Length", "3");
        let reader = SendBody::from_owned_reader(&b"abc"[..]);
        let (_, framing, left) = examined(request.body(()).unwrap(), reader);
        assert_eq!((framing, &*left), (Some(Framing::Length(3)), "abc"));
    }

    #[test]
    fn settings_of_the_request_come_before_those_of_the_agent() {
        let (settings, ..) = examined(post(), SendBody::none());
        assert!(settings.status_as_error);
        let agent = Agent::new_with_defaults();
        let request = agent
            .configure_request(post())
            .http_status_as_error(false)
            .https_only(true)
            .timeout_connect(Some(Duration::from_secs(7)))
            .build();
        let (settings, framing, _) = examined(request, SendBody::none());
        assert!(!settings.status_as_error && framing.is_some());
        assert_eq!(settings.timeouts.connect, Some(Duration::from_secs(7)));
    }
}
