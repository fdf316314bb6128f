//! Events while a request runs, and a report at its end.
//!
//! | you want | use |
//! |---|---|
//! | to see each step of every request as it happens | a function, set by `observe`, or an [`Observer`], set by `observer` |
//! | the reason for one request's end | the [`RetryReport`] in the response, or a [`ReportSlot`] in the request |
//! | counters and histograms | `MetricsObserver`, with the feature `metrics` |
//! | the requests that have no retries left | [`DeadLetters`], named by the policy's `on_exhausted` |
//!
//! Events and reports contain no query string, user info, header value or body. A [`DeadLetter`] contains the URI and
//! the headers, so that the request can be sent again.

#[cfg(feature = "metrics")]
mod metrics;
pub(crate) mod recorder;
mod retry_report;
pub(crate) mod span;

#[cfg(feature = "metrics")]
pub use metrics::MetricsObserver;
pub(crate) use recorder::Subject;
pub use retry_report::{AttemptReport, ReportSlot, RetryReport};
pub(crate) use span::{AttemptSpan, warn_of_misuse};
#[cfg(feature = "tracing")]
pub use tracing::Level;

use crate::named::named;
use crate::policy::{DelaySource, ErrorKind, ResumeFailure};
use http::{HeaderMap, Method};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A receiver of every event of every request; pass it to an adapter with `observer`.
///
/// It runs in the request's own task, so it must be quick, and must not panic. A function that takes an event is an
/// observer too, and so is an `Arc` of one.
///
/// The events of one request arrive in this order: optionally `WaitedAtGate`, then `AttemptStarted` and `AttemptEnded`,
/// between which a hedging layer sends `HedgeSent`, and `HedgeWon` or `HedgeLost`. If a retry follows, optionally
/// `TextCut`, then `RetryScheduled`, and the same again. The last one is `Stopped`, except for a request that is
/// dropped. A download sends `Resuming` after a break. The request for the rest sends its own events up to `Stopped`,
/// and is followed by `Resumed` or `Interrupted`.
///
/// Changes of a fleet are reported once to every observer of every adapter in it, no matter which adapter calls the
/// service.
///
/// ```
/// use http_retry::report::{Observer, RetryEvent, RetryEventKind};
///
/// struct Print;
///
/// impl Observer for Print {
///     fn on_event(&self, event: &RetryEvent<'_>) {
///         if let RetryEventKind::RetryScheduled { retry, delay, .. } = event.kind {
///             println!("{}: retry {retry} in {delay:?}", event.service);
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an observer",
    note = "a function of one argument is one: `.observe(|event| ..)`"
)]
pub trait Observer: Send + Sync + 'static {
    /// Called for each event, in order within one request. Events of concurrent requests may arrive in any order, or at
    /// the same time.
    fn on_event(&self, event: &RetryEvent<'_>);
}

impl<F: Fn(&RetryEvent<'_>) + Send + Sync + 'static> Observer for F {
    fn on_event(&self, event: &RetryEvent<'_>) {
        self(event);
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn on_event(&self, event: &RetryEvent<'_>) {
        (**self).on_event(event);
    }
}

/// A function that receives every event; pass it to an adapter with `observe`. Every function of this form is one.
// A trait of its own, since rustc's words about `Fn` cannot be chosen.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function of an event",
    note = "pass an observer, such as `MetricsObserver`, to `.observer(..)`"
)]
pub trait OnEvent: Fn(&RetryEvent<'_>) {}

#[diagnostic::do_not_recommend]
impl<F: Fn(&RetryEvent<'_>)> OnEvent for F {}

/// An event of a request, or of a fleet.
///
/// ```
/// use futures_util::FutureExt;
/// use http_retry::report::{RetryEvent, RetryEventKind};
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, StopReason};
/// use std::sync::{Arc, Mutex};
/// use tower::{Layer, ServiceExt};
///
/// let stops = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&stops);
/// let layer = RetryLayer::new(RetryPolicy::background())
///     .runtime(ManualRuntime::new())
///     .observe(move |event: &RetryEvent<'_>| {
///         if let RetryEventKind::Stopped(report) = event.kind {
///             seen.lock().unwrap().push((event.service.to_owned(), report.stop));
///         }
///     });
///
/// let service = layer.layer(Script::new().status(503).status(200));
/// let request = http::Request::get("http://api.example/a").body(String::new()).unwrap();
/// service.oneshot(request).now_or_never().unwrap().unwrap();
/// let succeeded = ("api.example".to_owned(), StopReason::Succeeded);
/// assert_eq!(*stops.lock().unwrap(), [succeeded]);
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RetryEvent<'a> {
    /// The number of the call, the same for all of its attempts. No other call of this process has it, and log lines and
    /// spans carry it as `call`. Numbers begin at 1 and grow; calls that nobody observes may leave gaps. `None` for an
    /// event of a download, whose requests are calls of their own, and for one of a fleet.
    pub call: Option<u64>,
    /// The request's service: its given name, else host and port; empty if it has neither.
    pub service: &'a str,
    /// The request's method; `None` for an operation that is not HTTP, and for an event of a fleet.
    pub method: Option<&'a Method>,
    /// The time of the event, on the runtime's clock: since the epoch of
    /// [`Runtime::now`](crate::runtime::Runtime::now).
    pub at: Duration,
    /// The error of an attempt, with [`AttemptEnded`](RetryEventKind::AttemptEnded), for as long as the observer runs: to
    /// look for a type of your own in its chain, for example. An error of reqwest has a URL in its text, so it and all
    /// around it are left out, and this is what caused it. `None` if no attempt failed, if the error is of a type that the
    /// layer does not know ([`RetryPolicyBuilder::classify_error`](crate::RetryPolicyBuilder::classify_error) makes it
    /// known), for a time limit of this crate, and for a body that broke.
    ///
    /// <div class="warning">
    ///
    /// Its text is the client's own, or that of a layer below: **it may name hosts and paths, or quote what a server
    /// sent**. Nothing else in an event, a report or a log line of this crate does.
    ///
    /// </div>
    pub error: Option<&'a (dyn Error + 'static)>,
    /// The kind of the event.
    pub kind: RetryEventKind<'a>,
}

/// Leaves out the error, whose text may hold a secret.
impl fmt::Debug for RetryEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryEvent")
            .field("call", &self.call)
            .field("service", &self.service)
            .field("method", &self.method)
            .field("at", &self.at)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl<'a> RetryEvent<'a> {
    /// Creates the event that this process no longer shares a service's budget or gate with its fleet.
    #[must_use]
    pub fn fleet_left(service: &'a str, at: Duration, reason: LeaveReason) -> Self {
        Self::of_service(service, at, RetryEventKind::FleetLeft { reason })
    }

    /// Creates the event that this process shares a service's budget and gate with its fleet, after this time without
    /// it.
    #[must_use]
    pub fn fleet_joined(service: &'a str, at: Duration, away: Duration) -> Self {
        Self::of_service(service, at, RetryEventKind::FleetJoined { away })
    }

    fn of_service(service: &'a str, at: Duration, kind: RetryEventKind<'a>) -> Self {
        Self {
            call: None,
            service,
            method: None,
            at,
            error: None,
            kind,
        }
    }
}

/// The kind of an event.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum RetryEventKind<'a> {
    /// An attempt is about to be sent.
    #[non_exhaustive]
    AttemptStarted {
        /// 1 for the first attempt, 2 for the first retry, and so on.
        number: u32,
    },
    /// An attempt ended with a response head or an error, or was cut by its time limit. An attempt that is dropped with
    /// its call has no such event.
    AttemptEnded(&'a AttemptReport),
    /// A paid retry will be sent after the delay and, with a gate, after its turn there. This event has the delay;
    /// [`WaitedAtGate`](Self::WaitedAtGate) has only the wait that the gate adds.
    #[non_exhaustive]
    RetryScheduled {
        /// 1 for the first retry, 2 for the second, and so on.
        retry: u32,
        /// The delay of the request itself, from now on.
        delay: Duration,
        /// The end of that delay, on the runtime's clock.
        due: Duration,
        /// The source of the delay.
        source: DelaySource,
    },
    /// The request has waited at the gate with all callers of the service, and is about to be sent.
    #[non_exhaustive]
    WaitedAtGate {
        /// The wait at the gate, besides the delay of a retry.
        waited: Duration,
    },
    /// A request that is slow is sent once more, beside the copies under way. It is paid for.
    #[non_exhaustive]
    HedgeSent {
        /// The number of the attempt that it belongs to; 1 without a retry layer.
        attempt: u32,
        /// 2 for the first hedge of an attempt, 3 for the second, and so on.
        copy: u32,
        /// The time since the first copy was sent.
        after: Duration,
    },
    /// The response to a hedge arrived first and goes up to the caller.
    #[non_exhaustive]
    HedgeWon {
        /// The number of the attempt that it belongs to; 1 without a retry layer.
        attempt: u32,
        /// The number of the copy, from 2 on.
        copy: u32,
        /// The time since the first copy was sent.
        after: Duration,
    },
    /// A hedge was sent in vain: another copy was faster, or this one failed. A hedge that is dropped with its call has no
    /// such event.
    #[non_exhaustive]
    HedgeLost {
        /// The number of the attempt that it belongs to; 1 without a retry layer.
        attempt: u32,
        /// The number of the copy, from 2 on.
        copy: u32,
        /// The time since the first copy was sent.
        after: Duration,
    },
    /// The longest text of the request was too long for the model and was cut; the next attempt sends the cut text.
    TextCut(TextCut),
    /// The request is over, and its last outcome goes to the caller. A request that is dropped by its caller has no
    /// such event.
    Stopped(&'a RetryReport),
    /// The body of a download broke; its rest will be requested after the delay.
    #[non_exhaustive]
    Resuming {
        /// The number of bytes that the caller has read.
        at: u64,
        /// The length of the body in bytes.
        length: u64,
        /// The error that broke the body.
        kind: ErrorKind,
        /// The wait before the request for the rest.
        delay: Duration,
    },
    /// The rest of a download has begun to arrive.
    #[non_exhaustive]
    Resumed {
        /// The number of bytes that the caller has read.
        at: u64,
        /// The error that had broken the body.
        kind: ErrorKind,
    },
    /// A download broke for good.
    #[non_exhaustive]
    Interrupted {
        /// The number of bytes that the caller has read.
        at: u64,
        /// The last error that broke the body; `None` if none did.
        kind: Option<ErrorKind>,
        /// The reason why the rest does not arrive.
        why: ResumeFailure,
    },
    /// This process cannot share the service's budget or gate with its fleet, and uses a share of its own until
    /// [`FleetJoined`](Self::FleetJoined). The event belongs to no request: `method` is `None`.
    #[non_exhaustive]
    FleetLeft {
        /// The reason.
        reason: LeaveReason,
    },
    /// This process shares the service's budget and gate with its fleet, for the first time or again. The event belongs
    /// to no request: `method` is `None`.
    #[non_exhaustive]
    FleetJoined {
        /// The time without the fleet, or the wait for the first reply.
        away: Duration,
    },
}

/// A cut of one text in a request, so that the next attempt fits into the model's context. It is measured in characters
/// (`char`), not in tokens or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TextCut {
    /// The number of characters before the cut.
    pub before: usize,
    /// The number of characters after the cut.
    pub after: usize,
}

/// The reason why a process leaves its fleet and decides alone for a while. The guide to fleets describes the
/// behavior meanwhile.
///
/// It is reported once, when the process leaves. The process rejoins with the first reply that is in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaveReason {
    /// The store has not replied within the fleet's `wait`, or is running another user's script that does not end.
    Timeout,
    /// There is no connection to the store: it refuses connections, has closed this one, or is still loading its data.
    Unreachable,
    /// The store rejects the user name or the password, or requires one.
    Auth,
    /// The store's access list forbids a command, a key or a channel. The documentation of the module `fleet` lists the
    /// required rights.
    Denied,
    /// The store accepts no writes: it is a replica, has lost its primary or its replicas, or cannot save.
    ReadOnly,
    /// The store has no memory left within its `maxmemory`.
    NoMemory,
    /// A key of the fleet holds a value of another type, since another program uses the prefix. It is never deleted.
    WrongType,
    /// The store cannot run the script, or its reply is not one of the script's.
    Script,
    /// The store is a cluster, and the key is on another of its nodes, which is not contacted.
    Moved,
    /// The store cannot notify all processes at once, as gates require, since it does not support RESP3. Budgets are
    /// still shared.
    NoPush,
}

named! {
    LeaveReason {
        Timeout => "timeout", "The store did not answer in time.";
        Unreachable => "unreachable", "The store cannot be reached.";
        Auth => "auth", "The store refuses the user name or the password.";
        Denied => "denied", "The store's access list forbids a command, a key or a channel.";
        ReadOnly => "read_only", "The store takes no writes.";
        NoMemory => "no_memory", "The store has no memory left.";
        WrongType => "wrong_type", "A key of the fleet holds a value of another type.";
        Script => "script", "The store cannot run the fleet's script.";
        Moved => "moved", "The store is a cluster, and the key is at another of its nodes.";
        NoPush => "no_push", "The store does not speak RESP3, by which gates are told.";
    }
}

/// A receiver of the requests of a policy whose `on_exhausted` names it as its `dead_letter`.
///
/// It runs in the request's own task before the caller gets the last outcome, so it must be quick, and must not panic.
/// It does not change that outcome. A function that takes a [`DeadLetter`] is one too. An operation of a `Runner` has
/// no head, and so no dead letter.
///
/// ```
/// use http_retry::report::{DeadLetter, DeadLetters};
///
/// struct Print;
///
/// impl DeadLetters for Print {
///     fn on_dead_letter(&self, letter: &DeadLetter<'_>) {
///         println!("{} {}: {}", letter.method, letter.service, letter.report.stop);
///     }
/// }
/// ```
pub trait DeadLetters: Send + Sync + 'static {
    /// Called once for each request that has no retries left.
    fn on_dead_letter(&self, letter: &DeadLetter<'_>);
}

impl<F: Fn(&DeadLetter<'_>) + Send + Sync + 'static> DeadLetters for F {
    fn on_dead_letter(&self, letter: &DeadLetter<'_>) {
        self(letter);
    }
}

/// The head of a request that has no retries left, and its report.
///
/// Unlike an event it contains the whole URI and the headers, secrets included, so that the request can be sent again
/// later.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct DeadLetter<'a> {
    /// The request's service.
    pub service: &'a str,
    /// The request's method, the same on every attempt.
    pub method: &'a Method,
    /// The URI of the first attempt, query included; a failover does not change it.
    pub uri: &'a str,
    /// The request's headers, including an idempotency key added by the layer, but without the headers that a rule or a
    /// failover sets for later attempts.
    pub headers: &'a HeaderMap,
    /// The attempts, and the reason why no more followed.
    pub report: &'a RetryReport,
}

impl<'a> DeadLetter<'a> {
    /// Creates the dead letter of a request that was given up.
    #[must_use]
    pub(crate) fn new(
        service: &'a str,
        method: &'a Method,
        uri: &'a str,
        headers: &'a HeaderMap,
        report: &'a RetryReport,
    ) -> Self {
        Self {
            service,
            method,
            uri,
            headers,
            report,
        }
    }
}

/// Leaves out possible secrets.
impl fmt::Debug for DeadLetter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetter")
            .field("service", &self.service)
            .field("method", &self.method)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
