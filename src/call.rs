//! One request in flight, as an adapter sees it: an [`Exchange`] decides, and this module reads the client's types for
//! it.
//!
//! [`Call`] has the exchange, the copy that later attempts are made of, and the last result. It does no I/O: the future of
//! the tower layer and [`drive()`] do, each in its own way. [`Client`] is the interface to an HTTP client.

mod client;
mod drive;
mod reading;

pub(crate) use client::{AttemptResult, Client, Sends, http_error_facts};
pub(crate) use drive::{carry_on, drive};
pub(crate) use http_retry_core::adapter::ErrorFacts;

use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::engine::Engine;
use crate::error::{AttemptTimeout, LayerError, RequestFailed};
use crate::report::RetryReport;
use crate::{Attempt, ErrorKind, StopReason};
use client::{SavedOf, number};
use http::StatusCode;
use http_retry_core::adapter::{
    self, Changes, End, Ending, Exchange, Head as _, Kept, RequestSettings, Todo,
};
use http_retry_core::attempt::AttemptHandle;
use reading::BodyRead;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A request in flight, without its I/O.
pub(crate) struct Call<C: Client> {
    pub(crate) exchange: Exchange,
    saved: Saved<C>,
    held: Held<C>,
}

/// The parts that a call holds while no attempt is under way.
enum Held<C: Client> {
    Nothing,
    /// The request, which must wait before it is sent for the first time.
    First(Box<C::Request>),
    /// The last result, unless it was returned or dropped.
    Last(Box<AttemptResult<C>>),
    /// The last response, while a part of it is read.
    Reading(Box<BodyRead<C>>),
}

/// The copy that later attempts are made of.
struct Saved<C: Client>(Option<SavedOf<C>>);

impl<C: Client> Call<C> {
    /// Begins a request.
    #[inline(always)]
    pub(crate) fn new(engine: Arc<Engine>, own: RequestSettings, request: &mut C::Request) -> Self {
        let exchange = Exchange::new(engine, own, C::Requests::head(request).as_ref());
        if exchange.engine().idempotency_keys {
            add_key::<C>(&exchange, request);
        }
        Self {
            exchange,
            saved: Saved(None),
            held: Held::Nothing,
        }
    }

    /// Takes the request's turn at its gates.
    #[inline(always)]
    pub(crate) fn start(&mut self, request: &C::Request) -> Todo {
        self.exchange.start(C::Requests::head(request).as_ref())
    }

    /// Keeps the request until it can be sent.
    pub(crate) fn delay(&mut self, request: C::Request) {
        self.held = Held::First(Box::new(request));
    }

    /// Saves the request for later attempts, and returns it for the first.
    #[inline(always)]
    pub(crate) fn save(&mut self, requests: &C::Requests, request: C::Request) -> C::Request {
        if !self.exchange.may_retry() {
            self.keep_facts(&request);
            return request;
        }
        let (request, saved) = requests.save(request, self.exchange.engine().save);
        self.saved.0 = saved;
        // Its body cannot be copied.
        if self.saved.0.is_none() {
            self.keep_facts(&request);
        }
        request
    }

    /// The same for a request that stays where it is.
    #[cfg(feature = "reqwest")]
    #[inline(always)]
    pub(crate) fn save_in_place(
        &mut self,
        save: impl FnOnce(&mut C::Request, adapter::SaveOptions, &mut Option<SavedOf<C>>),
        request: &mut C::Request,
    ) {
        if self.exchange.may_retry() {
            save(request, self.exchange.engine().save, &mut self.saved.0);
        }
        // Its body cannot be copied, or nothing is saved.
        if self.saved.0.is_none() {
            self.keep_facts(request);
        }
    }

    fn keep_facts(&mut self, request: &C::Request) {
        if let Some(head) = C::Requests::head(request) {
            self.exchange.keep_facts(&head);
        }
    }

    /// Returns the request of the next attempt.
    ///
    /// # Errors
    ///
    /// The todo to carry out instead.
    pub(crate) fn next_request(&mut self, requests: &C::Requests) -> Result<C::Request, Todo> {
        let held = match self.held.take() {
            Held::First(request) => return Ok(self.save(requests, *request)),
            held => held,
        };
        // A body that is shared with earlier attempts may have lost bytes to them since the retry was planned. Without
        // an outcome to return instead, it is sent unchecked.
        let has_no_result = held.last().is_none();
        let is_whole = |saved: &SavedOf<C>| has_no_result || C::Requests::is_whole(saved, false);
        let Some(saved) = self.saved.0.take().filter(is_whole) else {
            self.held = held;
            return Err(self.exchange.failed(StopReason::BodyNotReplayable));
        };
        drop(held);
        let (request, saved) = C::Requests::restore(saved, !self.exchange.may_retry());
        self.saved.0 = saved;
        Ok(request)
    }

    /// Begins an attempt, and numbers its request for the server and for layers in other tasks, which also get a handle
    /// to report by.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, request: &mut C::Request) -> (Attempt, Option<AttemptHandle>) {
        let attempt = self.exchange.attempt();
        let is_repeated = attempt.number > 1;
        let mut handle = None;
        if is_repeated || self.exchange.engine().across_tasks {
            let handle = handle.insert(self.exchange.handle());
            if let Some(extensions) = C::Requests::extensions_mut(request) {
                extensions.insert(attempt);
                extensions.insert(handle.clone());
            }
        }
        let engine = self.exchange.engine();
        if is_repeated || engine.attempt_header.is_some() {
            number::<C::Requests, _>(engine.attempt_header.as_ref(), request, attempt);
        }
        (attempt, handle)
    }

    /// Takes the result of an attempt. [`Todo::Done`] is the end: then call [`finish`](Self::finish) at once.
    #[inline(always)]
    pub(crate) fn ended(&mut self, client: &C, result: &AttemptResult<C>) -> Todo {
        let end = match result {
            Ok(response) => match C::Responses::head(response) {
                Some((status, headers)) => End::Response {
                    status,
                    headers,
                    url: C::Responses::url(response),
                    // The status first, since a look at the connection takes a lock.
                    can_leave: status == StatusCode::MISDIRECTED_REQUEST
                        && client.can_leave_connection(),
                },
                None => End::Value,
            },
            Err(error) => {
                let head_alone = self.saved.is_harmful_head_alone();
                End::Error(client.error_facts(self.exchange.policy(), error, head_alone))
            }
        };
        self.exchange.ended(&self.saved, &end)
    }

    /// Keeps the result of an attempt that is not the end.
    #[inline(never)]
    pub(crate) fn hold(&mut self, result: AttemptResult<C>) {
        self.held = Held::Last(Box::new(result));
    }

    /// Takes the end of an attempt that had no time left.
    pub(crate) fn cut(&mut self) -> Todo {
        let (attempt, by_deadline) = self.exchange.cut(&self.saved);
        let error = AttemptTimeout::of_attempt(attempt, by_deadline);
        let text = format!("timeout: {error}");
        let own = C::own_error();
        if let Some(own) = own {
            self.hold(Err(own(LayerError::Timeout(error))));
        }
        let end = End::Late {
            text: &text,
            can_report: own.is_some(),
        };
        self.exchange.ended(&self.saved, &end)
    }

    /// Keeps later requests off the connection of an attempt that was cut and does not go on.
    pub(crate) fn abandon(&self, client: &mut C, todo: Todo) -> Todo {
        client.leave_connection(self.exchange.policy(), None);
        todo
    }

    /// Changes the request for its next attempt.
    pub(crate) fn prepare(&mut self, client: &mut C) -> Todo {
        let has_response = matches!(self.held.last(), Some(Ok(_)));
        let kind = self.exchange.error_kind();
        let todo = self.exchange.prepare(&mut self.saved, has_response);
        // Only if a retry follows: it would go over the same dead connection. Otherwise the client is left alone.
        if matches!(todo, Todo::Wait | Todo::Read { .. }) {
            match self.held.last() {
                Some(Err(error)) if kind.is_some_and(ErrorKind::is_of_connection) => {
                    client.leave_connection(self.exchange.policy(), Some(error));
                }
                _ if self.exchange.was_misdirected() => {
                    client.leave_connection(self.exchange.policy(), None);
                }
                _ => {}
            }
        }
        todo
    }

    /// Waits for what the exchange waits for.
    pub(crate) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Todo> {
        let can_end = self.can_end();
        self.exchange.poll_wait(cx, can_end)
    }

    /// Polls a client until it is ready, or until the deadline. If there is nothing to return past that, it keeps waiting.
    pub(crate) fn poll_ready(
        &mut self,
        ready: impl FnOnce(&mut Context<'_>) -> Poll<Result<(), C::Error>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Todo>> {
        let can_end = self.can_end();
        match ready(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(error)) => {
                if self.held.last().is_none() {
                    self.hold(Err(error));
                }
                Poll::Ready(Err(self.exchange.failed(StopReason::NotReady)))
            }
            Poll::Pending if can_end && self.exchange.poll_deadline(cx).is_ready() => {
                Poll::Ready(Err(self.exchange.failed(StopReason::DeadlineExceeded)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Ends the request with the result that was [held](Self::hold), or with the policy's replacement for it. `None` if
    /// there is nothing to return: no `Todo` ends a request before it has an outcome.
    pub(crate) fn finish_held(&mut self) -> Option<AttemptResult<C>> {
        let kept = self.held.take().into_last();
        // The deadline has passed in a wait, and the last response was not kept.
        let late = || {
            let error = match self.exchange.limited() {
                Some(error) => LayerError::Limited(error),
                None => {
                    let limit = self.exchange.time_limit().unwrap_or_default();
                    LayerError::Timeout(AttemptTimeout::in_wait(limit))
                }
            };
            C::own_error().map(|own| Err(own(error)))
        };
        let result = kept.or_else(late)?;
        Some(self.finish(result))
    }

    /// Ends the request, and returns what the caller gets for this result.
    #[inline(always)]
    pub(crate) fn finish(&mut self, mut result: AttemptResult<C>) -> AttemptResult<C> {
        self.finish_in_place(&mut result);
        result
    }

    /// The same where the result stands: it is large, and most requests end with it as it is.
    #[inline(always)]
    fn finish_in_place(&mut self, result: &mut AttemptResult<C>) {
        if let Some(ending) = self.exchange.finish() {
            replace::<C>(result, ending);
        }
    }

    fn can_end(&self) -> bool {
        self.held.last().is_some() || C::own_error().is_some()
    }
}

impl<C: Client> Held<C> {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Nothing)
    }

    fn last(&self) -> Option<&AttemptResult<C>> {
        match self {
            Self::Last(last) => Some(last),
            Self::Nothing | Self::First(_) | Self::Reading(_) => None,
        }
    }

    fn into_last(self) -> Option<AttemptResult<C>> {
        match self {
            Self::Last(last) => Some(*last),
            Self::Nothing | Self::First(_) | Self::Reading(_) => None,
        }
    }
}

impl<C: Client> Saved<C> {
    /// Returns `true` if doing the request twice may do harm, and its head may be all of it.
    fn is_harmful_head_alone(&self) -> bool {
        self.0.as_ref().is_some_and(|saved| {
            let head = C::Requests::saved_head(saved);
            let is_harmless = head.is_some_and(|head| head.facts().idempotent);
            !is_harmless && C::Requests::may_be_head_alone(saved)
        })
    }
}

impl<C: Client> Kept for Saved<C> {
    fn head(&self) -> Option<impl adapter::Head> {
        self.0.as_ref().and_then(C::Requests::saved_head)
    }

    fn is_whole(&self, answered: bool) -> bool {
        let saved = self.0.as_ref();
        saved.is_some_and(|saved| C::Requests::is_whole(saved, answered))
    }

    fn may_follow() -> bool {
        C::may_follow()
    }

    fn change(&mut self, changes: Changes<'_>) -> Result<(), StopReason> {
        let Some(saved) = &mut self.0 else {
            return Err(StopReason::BodyNotReplayable);
        };
        if !C::Requests::change(saved, changes) {
            return Err(StopReason::NotRetryable);
        }
        Ok(())
    }
}

/// Replaces the last result of a request by what the caller gets for it, if the request ends like this.
#[cold]
#[inline(never)]
fn replace<C: Client>(result: &mut AttemptResult<C>, ending: Ending) {
    if let Some((canned, url)) = &ending.response {
        if let Some(canned) = C::Responses::canned(canned, url) {
            *result = Ok(canned);
        }
    }
    // An error already tells the caller of the failure, and stays unchanged.
    if let (Ok(response), Some(report)) = (&mut *result, ending.report) {
        if let Some(own) = C::own_error().filter(|_| ending.fails) {
            *result = Err(own(LayerError::Failed(RequestFailed::new(report))));
            return;
        }
        if let Some(extensions) = C::Responses::extensions_mut(response) {
            extensions.insert::<RetryReport>(report);
        }
    }
}

/// Adds an idempotency key to a request that is not idempotent and has none.
fn add_key<C: Client>(exchange: &Exchange, request: &mut C::Request) {
    let policy = exchange.policy();
    let needs_key = C::Requests::head(request)
        .is_some_and(|head| !head.facts().idempotent && !head.has_own_key(policy));
    if let Some(headers) = C::Requests::headers_mut(request).filter(|_| needs_key) {
        exchange.engine().put_new_key(policy, headers);
    }
}
