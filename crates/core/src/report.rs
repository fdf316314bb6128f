//! Events while a request runs, and a report when it is over.
//!
//! | you want | take |
//! |---|---|
//! | to see each step of every request as it happens | an [`Observer`], set by `observe` |
//! | why one request ended as it did | the [`RetryReport`] in its response's extensions, or a [`ReportSlot`] in the request's |
//! | counters and histograms | `MetricsObserver`, with the feature `metrics` |
//! | the requests that have no retries left | [`DeadLetters`], named by the policy's `on_exhausted` |
//!
//! Events and reports hold no query string, user info, header value or body. A [`DeadLetter`] does, since the request is
//! to be sent again from it.

mod dead_letter;
pub(crate) mod download;
mod leave_reason;
#[cfg(feature = "metrics")]
mod metrics;
pub(crate) mod recorder;
mod retry_report;
pub(crate) mod span;
mod text_cut;

pub use dead_letter::{DeadLetter, DeadLetters};
pub use leave_reason::LeaveReason;
#[cfg(feature = "metrics")]
pub use metrics::MetricsObserver;
pub use retry_report::{AttemptReport, ReportSlot, RetryReport};
pub use text_cut::TextCut;

pub(crate) use recorder::Subject;
pub(crate) use span::AttemptSpan;
pub(crate) use span::warn_of_misuse;

use crate::policy::{DelaySource, ErrorKind, ResumeFailure};
use http::Method;
use std::sync::Arc;
use std::time::Duration;

/// Sees every event of every request; give it to an adapter with `observe`.
///
/// It runs in the request's own task, so it must be quick, and must not panic. A function of an event is an observer too,
/// and so is an `Arc` of one.
///
/// The events of one request come in this order: perhaps `WaitedAtGate`, `AttemptStarted`, `AttemptEnded`; then, if a retry
/// follows, perhaps `TextCut`, `RetryScheduled`, and the same again; at the end `Stopped`. A request that
/// is dropped ends without `Stopped`. A download tells `Resuming` at a break. The request for the
/// rest then tells its own events up to `Stopped`, and `Resumed` or `Interrupted` follows.
///
/// Of a fleet, every observer of every adapter in it hears each change once, whichever adapter calls the service.
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
pub trait Observer: Send + Sync + 'static {
    /// Called for each event, in order within one request; those of concurrent requests come in any order, also at once.
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

/// Something that happened to a request, or to a fleet.
///
/// ```
/// # #[cfg(feature = "testing")] {
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
///             seen.lock().unwrap().push((event.service.to_owned(), report.stop()));
///         }
///     });
///
/// let service = layer.layer(Script::new().status(503).status(200));
/// let request = http::Request::get("http://api.example/a").body(String::new()).unwrap();
/// service.oneshot(request).now_or_never().unwrap().unwrap();
/// let succeeded = ("api.example".to_owned(), StopReason::Succeeded);
/// assert_eq!(*stops.lock().unwrap(), [succeeded]);
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RetryEvent<'a> {
    /// The request's service: the name it gave, else host and port; empty if it has neither.
    pub service: &'a str,
    /// The request's method; `None` for an operation that is not HTTP, and for an event of a fleet.
    pub method: Option<&'a Method>,
    /// When it happened, on the runtime's clock: since the epoch of [`Runtime::now`](crate::runtime::Runtime::now).
    pub at: Duration,
    /// What happened.
    pub kind: RetryEventKind<'a>,
}

impl<'a> RetryEvent<'a> {
    /// The event of a service whose budget or gate this process no longer shares with its fleet.
    #[must_use]
    pub fn fleet_left(service: &'a str, at: Duration, reason: LeaveReason) -> Self {
        Self::of_service(service, at, RetryEventKind::FleetLeft { reason })
    }

    /// The event of a service whose budget and gate this process shares with its fleet, after this time without it.
    #[must_use]
    pub fn fleet_joined(service: &'a str, at: Duration, away: Duration) -> Self {
        Self::of_service(service, at, RetryEventKind::FleetJoined { away })
    }

    fn of_service(service: &'a str, at: Duration, kind: RetryEventKind<'a>) -> Self {
        Self {
            service,
            method: None,
            at,
            kind,
        }
    }
}

/// What happened to a request, or to a fleet.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum RetryEventKind<'a> {
    /// An attempt is about to be sent.
    #[non_exhaustive]
    AttemptStarted {
        /// 1 for the first attempt, 2 for the first retry, and so on.
        number: u32,
    },
    /// An attempt ended with a response head or an error, or was cut by its time limit. One that is dropped with its call
    /// tells nothing.
    AttemptEnded(&'a AttemptReport),
    /// A paid retry will be sent after the delay, and with a gate when its turn there has come. This event tells the
    /// delay; [`WaitedAtGate`](Self::WaitedAtGate) tells only what the gate adds to it.
    #[non_exhaustive]
    RetryScheduled {
        /// 1 for the first retry, 2 for the second, and so on.
        retry: u32,
        /// The delay of the request itself, from now on.
        delay: Duration,
        /// The end of that delay, on the runtime's clock.
        due: Duration,
        /// Who set the delay.
        source: DelaySource,
    },
    /// The request has waited at the gate with all callers of the service, and goes on.
    #[non_exhaustive]
    WaitedAtGate {
        /// The wait at the gate, besides the delay of a retry.
        waited: Duration,
    },
    /// The longest text of the request was too long for the model and was cut; the next attempt sends the cut text.
    TextCut(TextCut),
    /// The request is over: its last outcome goes to the caller. One that is dropped by its caller tells nothing.
    Stopped(&'a RetryReport),
    /// The body of a download broke; its rest will be asked for after the delay.
    #[non_exhaustive]
    Resuming {
        /// How many bytes the caller has read.
        at: u64,
        /// How many bytes the body has.
        length: u64,
        /// How the body broke.
        kind: ErrorKind,
        /// The wait before the request for the rest.
        delay: Duration,
    },
    /// The rest of a download begins to come.
    #[non_exhaustive]
    Resumed {
        /// How many bytes the caller has read.
        at: u64,
        /// How the body had broken.
        kind: ErrorKind,
    },
    /// A download broke for good.
    #[non_exhaustive]
    Interrupted {
        /// How many bytes the caller has read.
        at: u64,
        /// How the body broke last; `None` if it never did.
        kind: Option<ErrorKind>,
        /// Why its rest does not come.
        why: ResumeFailure,
    },
    /// This process cannot share the service's budget or gate with its fleet, and goes on with a share
    /// of its own until [`FleetJoined`](Self::FleetJoined). It is about no request: `method` is `None`.
    #[non_exhaustive]
    FleetLeft {
        /// Why it cannot.
        reason: LeaveReason,
    },
    /// This process shares the service's budget and gate with its fleet, for the first time or again. It
    /// is about no request: `method` is `None`.
    #[non_exhaustive]
    FleetJoined {
        /// How long it was without the fleet, or waited for the first answer.
        away: Duration,
    },
}
