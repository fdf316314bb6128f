//! A server in memory that fails by a script.

use http_retry_core::runtime::Runtime;
use http_retry_testing::ManualRuntime;
use http_retry_ureq::Retries;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use ureq::config::{Config, ConfigBuilder};
use ureq::http::Uri;
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error};

/// The end that a request meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The host name is not known.
    NoHost,
    /// The system cannot resolve the name, and says so by an I/O error without a kind.
    NoResolver,
    Refused,
    /// The connector fails with an error of its own, in these words.
    Fails(String),
    /// The connector fails with an I/O error.
    FailsBy(io::ErrorKind, &'static str),
    /// A proxy answers CONNECT with this status.
    Proxy(u16),
    /// The connection is reset while it is made, as in a TLS handshake.
    HandshakeReset,
    HandshakeEof,
    BadCertificate,
    /// It is not made within its time.
    ConnectHangs,
    /// It is reset at the first write, of which the server has seen the head.
    ResetAtWrite,
    /// It is reset at the second write: the body's.
    ResetInBody,
    /// It is reset after the whole request was read.
    ResetAfterWrite,
    /// It is closed without a response.
    Closed,
    /// It is closed within the response's head.
    HalfHead,
    /// Nothing comes.
    Silence,
    /// A response that is no HTTP.
    Garbage,
    Response {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        /// The time that passes before the head.
        after: Duration,
        end: BodyEnd,
    },
}

/// The end of a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    Whole,
    /// It is closed after half of it.
    Half,
    /// Half of it comes, and then nothing.
    Stalls,
}

impl Step {
    pub(crate) fn status(status: u16) -> Self {
        Self::Response {
            status,
            headers: Vec::new(),
            body: format!("body of {status}").into_bytes(),
            after: Duration::ZERO,
            end: BodyEnd::Whole,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        if let Self::Response { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_string()));
        }
        self
    }

    pub(crate) fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Self::Response { body, .. } = &mut self {
            *body = bytes.into();
        }
        self
    }

    pub(crate) fn after(mut self, time: Duration) -> Self {
        if let Self::Response { after, .. } = &mut self {
            *after = time;
        }
        self
    }

    pub(crate) fn ends(mut self, how: BodyEnd) -> Self {
        if let Self::Response { end, .. } = &mut self {
            *end = how;
        }
        self
    }

    /// The response's bytes, and the end that comes after them.
    fn bytes(&self) -> (Vec<u8>, BodyEnd) {
        let Self::Response {
            status,
            headers,
            body,
            end,
            ..
        } = self
        else {
            return match self {
                Self::HalfHead => (b"HTTP/1.1 200 OK\r\ncontent-le".to_vec(), BodyEnd::Half),
                Self::Garbage => (b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(), BodyEnd::Half),
                Self::Silence => (Vec::new(), BodyEnd::Stalls),
                _ => (Vec::new(), BodyEnd::Half),
            };
        };
        let mut bytes = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            bytes += &format!("{name}: {value}\r\n");
        }
        let mut bytes = (bytes + "\r\n").into_bytes();
        let part = if *end == BodyEnd::Whole {
            body.len()
        } else {
            body.len() / 2
        };
        bytes.extend(&body[..part]);
        (bytes, *end)
    }
}

/// A request that the server has seen, perhaps in part.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) step: Step,
    pub(crate) at: Duration,
    /// The number of the connection that it came on.
    pub(crate) connection: u32,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }

    /// The body without its chunks, which end with an empty one.
    pub(crate) fn content(&self) -> Vec<u8> {
        let (content, is_whole) = self.chunks();
        assert!(is_whole, "the last chunk is missing");
        content
    }

    /// The body without its chunks, which may be cut off.
    pub(crate) fn content_or_cut(&self, is_cut: bool) -> Vec<u8> {
        if is_cut {
            self.chunks().0
        } else {
            self.content()
        }
    }

    fn chunks(&self) -> (Vec<u8>, bool) {
        if self.header("transfer-encoding").is_none() {
            return (self.body.clone(), true);
        }
        let (mut rest, mut content) = (&self.body[..], Vec::new());
        while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&rest[..end]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                return (content, true);
            }
            content.extend(&rest[end + 2..end + 2 + size]);
            rest = &rest[end + 2 + size + 2..];
        }
        (content, false)
    }
}

#[derive(Debug, Default)]
struct World {
    script: VecDeque<Step>,
    /// All steps that requests have met, also those that the server did not see.
    met: Vec<Step>,
    received: Vec<Received>,
    connections: u32,
    closed: u32,
    /// Connections are kept open after a whole response.
    keeps_alive: bool,
}

/// A server in memory; clones are one server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    world: Arc<Mutex<World>>,
    pub(crate) clock: ManualRuntime,
}

impl Server {
    /// A server whose requests meet these steps; once they are used up, a 200.
    pub(crate) fn new(script: impl IntoIterator<Item = Step>) -> Self {
        let server = Self {
            clock: ManualRuntime::new(),
            ..Self::default()
        };
        server.world().script.extend(script);
        server
    }

    pub(crate) fn keeping_alive(self) -> Self {
        self.world().keeps_alive = true;
        self
    }

    pub(crate) fn with_clock(self, clock: ManualRuntime) -> Self {
        Self { clock, ..self }
    }

    /// An agent that sends everything here.
    pub(crate) fn agent(&self, retries: Retries) -> Agent {
        self.agent_with(retries, |config| config)
    }

    pub(crate) fn agent_with(
        &self,
        retries: Retries,
        configure: impl Fn(ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope>,
    ) -> Agent {
        let own = self.clone();
        let retries = retries.runtime(self.clock.clone());
        retries.build_with_parts(
            move |config| configure(config.proxy(None)),
            own.clone(),
            own,
        )
    }

    /// An agent without retries that sends everything here.
    pub(crate) fn plain_agent(&self, status_as_error: bool) -> Agent {
        let config = Agent::config_builder()
            .proxy(None)
            .http_status_as_error(status_as_error);
        Agent::with_parts(config.build(), self.clone(), self.clone())
    }

    pub(crate) fn met(&self) -> Vec<Step> {
        self.world().met.clone()
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.world().received.clone()
    }

    pub(crate) fn connections(&self) -> (u32, u32) {
        let world = self.world();
        (world.connections, world.closed)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// The step of the request that is being sent.
    fn step(&self) -> Step {
        self.world().met.last().cloned().unwrap()
    }

    /// Lets the time of a limit pass. Without one the test would hang for ever.
    fn hang<T>(&self, timeout: NextTimeout) -> Result<T, Error> {
        assert!(!timeout.after.is_not_happening(), "nothing ends this wait");
        self.clock.advance(*timeout.after);
        Err(Error::Timeout(timeout.reason))
    }
}

fn io(kind: io::ErrorKind) -> Error {
    Error::Io(kind.into())
}

impl Resolver for Server {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut world = self.world();
        let step = world.script.pop_front();
        let step = step.unwrap_or_else(|| Step::status(200));
        world.met.push(step.clone());
        match step {
            Step::NoHost => Err(Error::HostNotFound),
            Step::NoResolver => Err(Error::Io(io::Error::other("failed to lookup address"))),
            _ => Ok(self.empty()),
        }
    }
}

impl Connector<()> for Server {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        match self.step() {
            Step::Refused => return Err(io(io::ErrorKind::ConnectionRefused)),
            Step::Fails(words) => return Err(Error::Other(words.into())),
            Step::FailsBy(kind, words) => return Err(Error::Io(io::Error::new(kind, words))),
            Step::Proxy(status) => {
                let reason = format!("proxy server responded {status}/{status}");
                return Err(Error::ConnectProxyFailed(reason));
            }
            Step::HandshakeReset => return Err(io(io::ErrorKind::ConnectionReset)),
            Step::HandshakeEof => return Err(io(io::ErrorKind::UnexpectedEof)),
            Step::BadCertificate => return Err(io(io::ErrorKind::InvalidData)),
            Step::ConnectHangs => return self.hang(details.timeout),
            _ => {}
        }
        let mut world = self.world();
        world.connections += 1;
        Ok(Some(Connection {
            server: self.clone(),
            buffers: LazyBuffers::new(16 * 1024, 16 * 1024),
            number: world.connections,
            head: Vec::new(),
            is_new: true,
            response: None,
        }))
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    server: Server,
    buffers: LazyBuffers,
    number: u32,
    head: Vec<u8>,
    /// The next bytes begin a request.
    is_new: bool,
    /// The response's bytes that are left, and the end after them.
    response: Option<(Vec<u8>, BodyEnd)>,
}

impl Connection {
    fn take(&mut self, bytes: &[u8]) {
        let mut world = self.server.world();
        if self.is_new {
            self.is_new = false;
            self.head.clear();
            let (step, at) = (world.met.last().cloned().unwrap(), self.server.clock.now());
            world.received.push(Received {
                head: String::new(),
                body: Vec::new(),
                step,
                at,
                connection: self.number,
            });
        }
        let own = world.received.last_mut().unwrap();
        if !own.head.ends_with("\r\n\r\n") {
            self.head.extend(bytes);
            own.head = String::from_utf8(self.head.clone()).unwrap();
        } else {
            own.body.extend(bytes);
        }
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let bytes = self.buffers.output()[..amount].to_vec();
        let was_new = self.is_new;
        self.take(&bytes);
        match self.server.step() {
            Step::ResetAtWrite => Err(io(io::ErrorKind::ConnectionReset)),
            Step::ResetInBody if !was_new => Err(io(io::ErrorKind::BrokenPipe)),
            _ => Ok(()),
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let step = self.server.step();
        self.is_new = true;
        if self.response.is_none() {
            if let Step::Response { after, .. } = &step {
                if *timeout.after < *after {
                    return self.server.hang(timeout);
                }
                self.server.clock.advance(*after);
            }
            if matches!(step, Step::ResetAfterWrite | Step::ResetInBody) {
                return Err(io(io::ErrorKind::ConnectionReset));
            }
            self.response = Some(step.bytes());
        }
        let (bytes, end) = self.response.as_mut().unwrap();
        if bytes.is_empty() {
            return match end {
                BodyEnd::Stalls => self.server.hang(timeout),
                BodyEnd::Half | BodyEnd::Whole => Ok(false),
            };
        }
        let to = self.buffers.input_append_buf();
        let read = bytes.len().min(to.len()).min(5_000);
        to[..read].copy_from_slice(&bytes[..read]);
        bytes.drain(..read);
        self.buffers.input_appended(read);
        Ok(true)
    }

    fn is_open(&mut self) -> bool {
        let is_whole = matches!(&self.response, Some((rest, BodyEnd::Whole)) if rest.is_empty());
        let is_kept = is_whole && self.server.world().keeps_alive;
        if is_kept {
            self.response = None;
        }
        // Between two requests there is no response.
        is_kept || self.response.is_none()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.world().closed += 1;
    }
}
