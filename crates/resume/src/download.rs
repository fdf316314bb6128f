//! The state of one download: the bytes handed out, and the step after each break.

mod payment;

pub(super) use payment::Question;

use super::exclusive::Exclusive;
use super::idle_timer::IdleTimer;
use super::interrupted::Interrupted;
use super::mark::ResumeValidator;
use super::overlap::Overlap;
use super::progress::ResumeProgress;
use super::terms::DownloadTerms;
use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderName, Response};
use http_retry_core::budget::PaidRetry;
use http_retry_core::policy::{ResumeFailure, RetrySession};
use http_retry_core::runtime::Sleep;
use http_retry_core::{ErrorKind, Outcome, RetryPolicy, StopReason};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

type BoxError = Box<dyn Error + Send + Sync>;

/// The request for the rest, in flight.
///
/// # Cancel safety
///
/// Dropping it ends the request.
pub type Sending<B> = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

/// A client that can send a request again, for the rest of its response, and reads its own errors.
pub trait Resend<B>: Send {
    /// Returns `None` if the request cannot be sent, or not for the rest.
    fn resend(&mut self, rest: &RestRequest<'_>) -> Option<Sending<B>>;

    /// Retires the connection, on which the body broke or stalled, so that no later request uses it. Default: the
    /// client does so by itself.
    fn leave_connection(&mut self) {}

    /// Returns the outcome that the error of a body stands for, judged by the policy.
    fn outcome(&self, policy: &RetryPolicy, error: &(dyn Error + 'static)) -> Outcome<'static>;

    /// Returns the error without secrets, such as a signed URL: it becomes the source of an
    /// [`Interrupted`]. Default: unchanged.
    fn without_secrets(&self, error: BoxError) -> BoxError {
        error
    }
}

/// An extension that marks a response from another URL than the start. A validator counts only within one resource (RFC
/// 9110, section 8.8), so such a response cannot continue the download.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "a mark without content")]
pub struct OtherOrigin;

/// The parts that turn a request into one for the rest of its response.
pub struct RestRequest<'a> {
    validator: &'a ResumeValidator,
    received: u64,
    terms: &'a DownloadTerms,
}

impl RestRequest<'_> {
    /// Adds the headers that request the rest. Returns `false` if there is no room for them.
    #[must_use]
    pub fn ask(&self, headers: &mut HeaderMap) -> bool {
        self.validator.ask(self.received, headers)
    }

    /// Returns the names of the headers that are for the first server alone.
    #[must_use]
    pub fn credentials(&self) -> Vec<HeaderName> {
        self.terms.credentials()
    }

    /// Marks the request's extensions: the retry layer that sends it reports nothing of its own.
    pub fn extend(&self, extensions: &mut Extensions) {
        self.terms.apply_to(extensions);
    }
}

/// The state of a download that does not depend on its reader.
pub(super) struct Download<B> {
    validator: ResumeValidator,
    sender: Exclusive<Box<dyn Resend<B>>>,
    terms: DownloadTerms,
    idle: IdleTimer,
    deadline: Option<Deadline>,
    overlap: Overlap,
    /// Set if the response continues past the last byte of the download.
    goes_past: bool,
    /// `true` if the start came from another service than the one requested, so that the origin of the rest is unknown.
    pub(super) is_from_elsewhere: bool,
    progress: ResumeProgress,
    /// The number of bytes handed out.
    received: u64,
    last_break: Option<BodyBreak>,
    /// The place of the list or rule that allows no other resume.
    stopped_by: Option<Arc<str>>,
    /// The payment of the latest resume, until it has made progress.
    paid: Option<PaidRetry>,
}

/// The last break, together with the breaks before it if no byte came between them.
struct BodyBreak {
    session: RetrySession,
    at: u64,
    kind: ErrorKind,
}

/// The time by which the download must be whole.
struct Deadline {
    at: Duration,
    timer: Exclusive<Sleep>,
}

/// The progress that makes a resume free, as the end of the body does: it repeats nothing, so its token is returned.
const FREE_RESUME_BYTES: u64 = 64 * 1024;

impl<B> Download<B> {
    pub(super) fn new(
        validator: ResumeValidator,
        sender: Box<dyn Resend<B>>,
        terms: DownloadTerms,
        progress: ResumeProgress,
    ) -> Self {
        let (limits, runtime) = (terms.limits(), &terms.engine.runtime);
        Self {
            validator,
            sender: Exclusive::new(sender),
            idle: IdleTimer::new(limits.idle_timeout),
            deadline: limits.deadline.map(|limit| Deadline {
                at: runtime.now().saturating_add(limit),
                timer: Exclusive::new(runtime.sleep(limit)),
            }),
            terms,
            overlap: Overlap::default(),
            goes_past: false,
            is_from_elsewhere: false,
            progress,
            received: 0,
            last_break: None,
            stopped_by: None,
            paid: None,
        }
    }

    pub(super) fn left(&self) -> u64 {
        self.validator.length().saturating_sub(self.received)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.left() == 0
    }

    /// Returns `true` if all bytes of the download are there, although the response has more.
    pub(super) fn is_complete(&self) -> bool {
        self.goes_past && self.is_whole()
    }

    /// Returns `true` if a break from here on can be resumed.
    pub(super) fn can_resume(&self) -> bool {
        self.received == 0 || self.validator.is_proven()
    }

    /// Returns `Ready` once the reader has waited too long.
    pub(super) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.idle.poll(&*self.terms.engine.runtime, cx)
    }

    /// Returns `Ready` once the download has taken too long.
    pub(super) fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        let (now, is_whole) = (|| self.terms.engine.runtime.now(), self.is_whole());
        let Some(deadline) = self.deadline.as_mut().filter(|_| !is_whole) else {
            return Poll::Pending;
        };
        // A timer may start only with its first poll, so the clock decides first.
        if now() < deadline.at {
            ready!(deadline.timer.get().as_mut().poll(cx));
        }
        // A timer that has fired must not be polled again.
        self.deadline = None;
        let failure = ResumeFailure::Stopped(StopReason::DeadlineExceeded);
        Poll::Ready(self.fail(failure, None))
    }

    pub(super) fn reset_idle(&mut self) {
        self.idle.reset();
    }

    /// Returns the part of this data that is new.
    pub(super) fn take(&mut self, data: Bytes) -> Result<Bytes, BoxError> {
        let Some((data, repeated)) = self.overlap.strip(data) else {
            return Err(self.fail(ResumeFailure::WrongOverlap, None));
        };
        self.progress.count_read_twice(repeated);
        // A whole file sent instead of a range continues past it; those bytes were not requested.
        let data = match usize::try_from(self.left()) {
            Ok(left) if self.goes_past && left < data.len() => data.slice(..left),
            _ => data,
        };
        let new = u64::try_from(data.len()).unwrap_or(u64::MAX);
        if new > self.left() {
            return Err(self.fail(ResumeFailure::TooLong, None));
        }
        self.received = self.received.saturating_add(new);
        self.progress.set_received(self.received);
        // Without a validator no byte is requested twice, so there is nothing to compare.
        if self.validator.is_proven() {
            self.overlap.remember(&data);
        }
        let resumed_at = self.last_break.as_ref().map_or(0, |last| last.at);
        if self.received.saturating_sub(resumed_at) >= FREE_RESUME_BYTES || self.is_whole() {
            // Dropping the payment returns its token.
            self.paid = None;
        }
        if self.is_whole() {
            self.idle.expect_end();
        }
        Ok(data)
    }

    /// Sends the request for the rest.
    pub(super) fn send(&mut self) -> Result<Sending<B>, BoxError> {
        let rest = RestRequest {
            validator: &self.validator,
            received: self.received,
            terms: &self.terms,
        };
        // An operation that reads this body sends more than the request that began it.
        http_retry_core::attempt::sent();
        match self.sender.get().resend(&rest) {
            Some(sending) => {
                self.progress.count_resume();
                Ok(sending)
            }
            None => Err(self.fail(ResumeFailure::HeadFailed, None)),
        }
    }

    /// Checks the response to that request. Returns its body, or `None` if nothing is left to read.
    pub(super) fn accept(
        &mut self,
        response: Result<Response<B>, BoxError>,
    ) -> Result<Option<B>, BoxError> {
        let (head, body) = match response {
            Ok(response) => response.into_parts(),
            Err(error) => return Err(self.fail(ResumeFailure::HeadFailed, Some(error))),
        };
        self.reset_idle();
        // Before the validator, which proves nothing about a response from another URL.
        if head.extensions.get::<OtherOrigin>().is_some() {
            let error = self.interrupt(ResumeFailure::Changed);
            return Err(error.with_status(head.status).into());
        }
        let skip = match self
            .validator
            .check(self.received, head.status, &head.headers)
        {
            Ok(Some(skip)) => skip,
            Ok(None) => return Ok(None),
            Err(why) => {
                let error = self.interrupt(why);
                return Err(error.with_status(head.status).into());
            }
        };
        self.overlap.expect_again(skip);
        self.goes_past = self.validator.is_whole_again(head.status);
        if let Some(last) = &self.last_break {
            let recorder = &self.terms.recorder;
            recorder.resumed(self.received, last.kind, self.now());
        }
        Ok(Some(body))
    }

    fn now(&self) -> Duration {
        self.terms.engine.runtime.now()
    }

    fn fail(&mut self, why: ResumeFailure, source: Option<BoxError>) -> BoxError {
        let source = source.map(|error| self.sender.get().without_secrets(error));
        self.interrupt(why).caused_by(source).into()
    }

    fn interrupt(&mut self, why: ResumeFailure) -> Interrupted {
        // The last resume has failed for good, so its token is not returned.
        self.spend();
        let kind = self.last_break.as_ref().map(|last| last.kind);
        let position = (self.received, self.validator.length());
        self.terms.recorder.interrupted(
            position,
            kind,
            (why, self.stopped_by.as_deref()),
            self.now(),
        );
        Interrupted::new(position, why).stopped_by(self.stopped_by.take())
    }

    /// Spends the token of the last resume, which made too little progress.
    fn spend(&mut self) {
        if let Some(paid) = self.paid.take() {
            paid.commit();
        }
    }
}
