//! An attempt as ureq's resolver and connector see it.
//!
//! ureq returns one error for a request, and does not say how far it got or if a redirect came before. Its parts run in
//! the thread of the request, so an attempt is watched by a thread-local: the resolver is asked once for each request
//! that goes out, a redirect being one more, and the first write on a connection is the first byte that a server may
//! see. A middleware below may send requests by another agent: one with retries adds its own to those of the attempt,
//! and others are those that the middleware reports. The same parts cut an attempt at its time limit, which ends with
//! the response's head: ureq's own limits over more than one phase include the body.

use http::Uri;
use http_retry_core::runtime::Runtime;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use ureq::config::Config;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};
use ureq::{Error, Timeout};

/// The facts of an attempt that its result does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The number of requests that went out for it: two or more if a redirect was followed.
    pub(crate) requests: u32,
    /// A server may have seen a byte of one of them.
    pub(crate) sent: bool,
    /// The last of them ended while its host name was resolved.
    pub(crate) resolving: bool,
}

impl Seen {
    /// Returns `true` if no server can have seen a byte of the attempt. If this agent was asked for no request, another
    /// one may have sent it.
    pub(crate) fn is_unsent(self) -> bool {
        self.requests > 0 && !self.sent
    }
}

/// A part of a request that is under way on this thread.
struct Watched {
    clock: Arc<dyn Runtime>,
    until: Option<Duration>,
    seen: Seen,
    /// The number of connectors that this thread is in: a proxy's connection is made within the connection.
    connectors: u32,
}

thread_local! {
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

fn with_watched<T>(act: impl FnOnce(&mut Watched) -> T) -> Option<T> {
    let acted = WATCHED.try_with(|watched| watched.try_borrow_mut().ok()?.as_mut().map(act));
    acted.ok().flatten()
}

fn replace(watched: Option<Watched>) -> Option<Watched> {
    let before = WATCHED.try_with(|place| Some(place.try_borrow_mut().ok()?.take()));
    let before = before.ok().flatten().flatten();
    let _ = WATCHED.try_with(|place| {
        if let Ok(mut place) = place.try_borrow_mut() {
            *place = watched;
        }
    });
    before
}

/// Restores the watch of an outer attempt, which has sent what the inner one has.
struct Restore {
    outer: Option<Watched>,
    harmless: bool,
}

impl Drop for Restore {
    fn drop(&mut self) {
        let mut outer = self.outer.take();
        let inner = with_watched(|watched| watched.seen).unwrap_or_default();
        if let Some(outer) = outer.as_mut().filter(|_| inner.sent && !self.harmless) {
            outer.seen.requests = outer.seen.requests.saturating_add(1);
            outer.seen.sent = true;
        }
        replace(outer);
    }
}

/// Runs a part of a request, which is cut off at `until`, and returns what was seen of it. Nothing is cut if `until` is
/// `None`. `harmless` is `true` if it may be repeated with an attempt of another agent around it.
pub(crate) fn around<T>(
    clock: &Arc<dyn Runtime>,
    until: Option<Duration>,
    harmless: bool,
    run: impl FnOnce() -> T,
) -> (T, Seen) {
    let before = replace(Some(Watched {
        clock: Arc::clone(clock),
        until,
        seen: Seen::default(),
        connectors: 0,
    }));
    let restore = Restore {
        outer: before,
        harmless,
    };
    let ended = run();
    let seen = with_watched(|watched| watched.seen).unwrap_or_default();
    drop(restore);
    (ended, seen)
}

/// Cuts a timeout of ureq to the time that is left.
///
/// # Errors
///
/// The timeout, if no time is left.
fn cut(timeout: NextTimeout) -> Result<NextTimeout, Error> {
    let limit = with_watched(|watched| Some((watched.until?, Arc::clone(&watched.clock))));
    // The clock may be the user's own, so it is asked while nothing is borrowed.
    let left = limit
        .flatten()
        .map(|(until, clock)| until.saturating_sub(clock.now()));
    match left {
        Some(Duration::ZERO) => Err(Error::Timeout(timeout.reason)),
        Some(left) if left < *timeout.after => Ok(NextTimeout {
            after: left.into(),
            ..timeout
        }),
        _ => Ok(timeout),
    }
}

/// A resolver that counts the requests of an attempt.
#[derive(Debug)]
pub(crate) struct WatchedResolver<R>(pub(crate) R);

/// Counts a request, unless a proxy is being resolved for one.
fn request_begins() {
    with_watched(|watched| {
        if watched.connectors == 0 {
            watched.seen.requests = watched.seen.requests.saturating_add(1);
            watched.seen.resolving = true;
        }
    });
}

fn is_resolved() {
    with_watched(|watched| watched.seen.resolving &= watched.connectors > 0);
}

impl<R: Resolver> Resolver for WatchedResolver<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        request_begins();
        let found = self.0.resolve(uri, config, cut(timeout)?)?;
        is_resolved();
        Ok(found)
    }

    fn empty(&self) -> ResolvedSocketAddrs {
        request_begins();
        let empty = self.0.empty();
        is_resolved();
        empty
    }
}

/// A connector whose connections tell when they are written to.
pub(crate) struct WatchedConnector<C>(pub(crate) C);

impl<C: fmt::Debug> fmt::Debug for WatchedConnector<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<C: Connector<()>> Connector<()> for WatchedConnector<C> {
    type Out = WatchedTransport<C::Out>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        cut(NextTimeout {
            reason: Timeout::Connect,
            ..details.timeout
        })?;
        let _within = Connecting::new();
        let made = self.0.connect(details, chained)?;
        Ok(made.map(WatchedTransport))
    }
}

/// The thread is in a connector until this is dropped.
struct Connecting;

impl Connecting {
    fn new() -> Self {
        with_watched(|watched| watched.connectors = watched.connectors.saturating_add(1));
        Self
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        with_watched(|watched| watched.connectors = watched.connectors.saturating_sub(1));
    }
}

/// A connection that tells when it is written to.
#[derive(Debug)]
pub(crate) struct WatchedTransport<T>(T);

impl<T: Transport> Transport for WatchedTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = cut(timeout)?;
        // Before the write: one that fails may have been seen in part.
        with_watched(|watched| watched.seen.sent |= watched.connectors == 0);
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(cut(timeout)?)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
