//! A request that can be sent again.

use crate::dry_run::{Framing, RequestSettings, announce, examine};
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use http_retry_core::Attempt;
use http_retry_core::adapter::RewriteWith;
use std::io::{self, Read};
use std::time::Duration;
use ureq::{Agent, AsSendBody, Body, Error, SendBody};

/// A request, and what its attempts have read of its body.
pub(crate) struct ReplayableRequest<'b> {
    pub(crate) parts: Parts,
    body: RequestBody<'b>,
    /// `None` if ureq's own settings are left as they are.
    settings: Option<RequestSettings>,
    recorded_limit: usize,
}

enum RequestBody<'b> {
    Absent,
    Recorded(Recording<'b>),
    /// It is sent once, as the caller gave it; gone afterwards.
    Once(Option<SendBody<'b>>),
}

/// A body, and the start of it that was read.
struct Recording<'b> {
    start: Vec<u8>,
    /// The number of bytes of the start that the present attempt has read again.
    at: usize,
    rest: Box<dyn Read + 'b>,
    limit: usize,
    /// The number of bytes that its headers announce.
    length: Option<u64>,
    /// The number of bytes that were read.
    read: u64,
    /// More than the limit was read, so the start is lost.
    is_lost: bool,
    /// The caller's reader is at its end. It is not asked again: it could block, or have grown meanwhile.
    has_ended: bool,
    /// The caller's reader has failed.
    has_failed: bool,
}

impl Recording<'_> {
    /// Returns the body from its beginning, for another attempt.
    fn again(&mut self) -> &mut Self {
        self.at = 0;
        self
    }

    /// Returns `true` if all of the body was read. ureq does not read on after the announced bytes.
    fn is_over(&self) -> bool {
        self.has_ended || self.length.is_some_and(|length| self.read >= length)
    }

    /// Reads on from the caller's reader.
    fn read_on(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.is_over() || buf.is_empty() {
            return Ok(0);
        }
        let read = self.rest.read(buf);
        let read = read.inspect_err(|error| {
            self.has_failed |= error.kind() != io::ErrorKind::Interrupted;
        })?;
        self.read = self
            .read
            .saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        self.has_ended = read == 0;
        if self.has_ended && self.length.is_some_and(|length| self.read < length) {
            // ureq would wait for the missing bytes for ever.
            self.has_failed = true;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.start.len().saturating_add(read) > self.limit {
            self.is_lost = true;
            self.start = Vec::new();
        }
        if !self.is_lost {
            self.start
                .extend_from_slice(buf.get(..read).unwrap_or_default());
        }
        Ok(read)
    }
}

impl Read for Recording<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let start = self.start.get(self.at..);
        let Some(again) = start.filter(|again| !again.is_empty()) else {
            let read = self.read_on(buf)?;
            self.at = self.start.len();
            return Ok(read);
        };
        let read = again.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..read), again.get(..read)) {
            to.copy_from_slice(from);
        }
        self.at = self.at.saturating_add(read);
        Ok(read)
    }
}

impl<'b> ReplayableRequest<'b> {
    /// Creates a request whose body is recorded up to this many bytes.
    pub(crate) fn recorded(
        agent: &Agent,
        mut parts: Parts,
        mut body: SendBody<'b>,
        limit: usize,
    ) -> Self {
        let (settings, framing) = examine(agent, &parts, &mut body);
        let body = match framing {
            Some(Framing::Absent) => RequestBody::Absent,
            Some(framing) => {
                announce(&mut parts.headers, framing);
                let is_long =
                    |length| usize::try_from(length).map_or(true, |length: usize| length > limit);
                RequestBody::Recorded(Recording {
                    start: Vec::new(),
                    at: 0,
                    rest: Box::new(body.into_reader()),
                    // One that will be lost is not recorded at all.
                    limit: match framing {
                        Framing::Length(length) if is_long(length) => 0,
                        _ => limit,
                    },
                    length: match framing {
                        Framing::Length(length) => Some(length),
                        Framing::Absent | Framing::Chunked => None,
                    },
                    read: 0,
                    is_lost: false,
                    has_ended: false,
                    has_failed: false,
                })
            }
            // ureq refuses such a request before it is sent.
            None => RequestBody::Once(Some(body)),
        };
        Self {
            parts,
            body,
            settings: Some(settings),
            recorded_limit: limit,
        }
    }

    /// Creates a request that is sent once, as the caller gave it.
    pub(crate) fn once(parts: Parts, body: SendBody<'b>) -> Self {
        Self {
            parts,
            body: RequestBody::Once(Some(body)),
            settings: None,
            recorded_limit: 0,
        }
    }

    /// Returns `true` if all of the body can be sent again.
    pub(crate) fn body_is_whole(&self) -> bool {
        match &self.body {
            RequestBody::Absent => true,
            RequestBody::Recorded(recording) => !recording.is_lost && !recording.has_failed,
            RequestBody::Once(_) => false,
        }
    }

    /// Returns `true` if the caller's own body has failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&self.body, RequestBody::Recorded(recording) if recording.has_failed)
    }

    /// Returns `true` if the caller wants an error for a response with a status of 400 or more.
    pub(crate) fn wants_status_errors(&self) -> bool {
        self.settings
            .is_some_and(|settings| settings.status_as_error)
    }

    /// Sends an attempt, which has this much time.
    pub(crate) fn send(
        &mut self,
        agent: &Agent,
        attempt: Attempt,
    ) -> Result<Response<Body>, Error> {
        let mut parts = self.parts.clone();
        parts.extensions.insert(attempt);
        let limit = attempt.limit;
        let settings = self.settings;
        match &mut self.body {
            RequestBody::Absent => run(
                agent,
                Request::from_parts(parts, SendBody::none()),
                settings,
                limit,
            ),
            RequestBody::Recorded(recording) => {
                let body = SendBody::from_reader(recording.again());
                run(agent, Request::from_parts(parts, body), settings, limit)
            }
            RequestBody::Once(body) => {
                let Some(body) = body.take() else {
                    return Err(Error::Other("the body was sent before".into()));
                };
                run(agent, Request::from_parts(parts, body), settings, limit)
            }
        }
    }

    /// Sets these headers.
    pub(crate) fn set(&mut self, set: &HeaderMap) {
        for name in set.keys() {
            self.parts.headers.remove(name);
        }
        for (name, value) in set {
            let _ = self.parts.headers.try_append(name, value.clone());
        }
    }

    /// Replaces the body by the result of a function. Returns `None` if the body is not at hand, or if the function has
    /// no better one.
    pub(crate) fn rewrite(&mut self, rewrite: &mut RewriteWith<'_>) -> Option<()> {
        let RequestBody::Recorded(recording) = &mut self.body else {
            return None;
        };
        let mut bytes = Vec::new();
        recording
            .again()
            .take(u64::try_from(self.recorded_limit).ok()?)
            .read_to_end(&mut bytes)
            .ok()?;
        let is_whole = recording.read_on(&mut [0]).is_ok_and(|read| read == 0);
        if recording.is_lost || !is_whole {
            return None;
        }
        let body = rewrite(&mut self.parts.headers, &bytes)?;
        let length = u64::try_from(body.len()).ok()?;
        // As if the new bytes had been read to their end.
        (recording.read, recording.length) = (length, Some(length));
        recording.has_ended = true;
        recording.limit = recording.limit.max(body.len());
        recording.start = body;
        recording.rest = Box::new(io::empty());
        Some(())
    }
}

/// Runs a request. Its response is shown whatever its status is, and no connection takes longer than the attempt may.
fn run(
    agent: &Agent,
    request: Request<impl AsSendBody>,
    settings: Option<RequestSettings>,
    limit: Option<Duration>,
) -> Result<Response<Body>, Error> {
    let Some(settings) = settings else {
        return agent.run(request);
    };
    let config = agent.configure_request(request).http_status_as_error(false);
    let own = settings.timeouts.connect;
    let config = match limit {
        Some(limit) => config.timeout_connect(Some(own.map_or(limit, |own| own.min(limit)))),
        None => config,
    };
    agent.run(config.build())
}
