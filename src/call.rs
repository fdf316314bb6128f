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
pub(crate) use reading::read;

use crate::client::requests::{RequestEdit, Requests};
use crate::client::responses::Responses;
use crate::engine::Engine;
use crate::error::{AttemptTimeout, LayerError, RequestFailed};
use crate::policy::{Attempt, ErrorKind, StopReason};
use crate::report::RetryReport;
use client::{KeptResponse, SavedOf, number};
use http::StatusCode;
use http_retry_core::adapter::{
    self, BodyNeed, BodyPart, Changes, End, Ending, EndsWith, Exchange, Found, Head as _,
    Inspected, Kept, RequestSettings, Todo,
};
use http_retry_core::attempt::AttemptHandle;
use reading::PartRead;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A request in flight, without its I/O.
pub(crate) struct Call<C: Client> {
    pub(crate) exchange: Exchange,
    saved: Saved<C>,
    /// The request, if it must wait before it is sent for the first time.
    first: Option<Box<C::Request>>,
    /// The last result, unless it was returned or dropped.
    last: Option<Box<AttemptResult<C>>>,
}

/// A response of which a part was read.
pub(crate) type PartOf<C> = (KeptResponse<C>, PartRead);

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
            first: None,
            last: None,
        }
    }

    /// Takes the request's turn at its gates.
    #[inline(always)]
    pub(crate) fn start(&mut self, request: &C::Request) -> Todo {
        self.exchange.start(C::Requests::head(request).as_ref())
    }

    /// Keeps the request until it can be sent.
    pub(crate) fn delay(&mut self, request: C::Request) {
        self.first = Some(Box::new(request));
    }

    /// Returns `true` if nothing was sent yet.
    pub(crate) fn is_delayed(&self) -> bool {
        self.first.is_some()
    }

    /// Saves the request for later attempts, and returns it for the first.
    #[inline(always)]
    pub(crate) fn save(&mut self, requests: &C::Requests, request: C::Request) -> C::Request {
        if !self.exchange.may_retry() {
            return self.keep_facts(request);
        }
        let (request, saved) = requests.save(request, self.exchange.engine().save);
        self.saved.0 = saved;
        match self.saved.0 {
            Some(_) => request,
            // Its body cannot be copied.
            None => self.keep_facts(request),
        }
    }

    fn keep_facts(&mut self, request: C::Request) -> C::Request {
        if let Some(head) = C::Requests::head(&request) {
            self.exchange.keep_facts(&head);
        }
        request
    }

    /// Returns the request of the next attempt.
    ///
    /// # Errors
    ///
    /// The todo to carry out instead.
    pub(crate) fn next_request(&mut self, requests: &C::Requests) -> Result<C::Request, Todo> {
        if let Some(request) = self.first.take() {
            return Ok(self.save(requests, *request));
        }
        // A body that is shared with earlier attempts may have lost bytes to them since the retry was planned. Without
        // an outcome to return instead, it is sent unchecked.
        let has_no_result = self.last.is_none();
        let is_whole = |saved: &SavedOf<C>| has_no_result || C::Requests::is_whole(saved, false);
        let Some(saved) = self.saved.0.take().filter(is_whole) else {
            return Err(self.exchange.failed(StopReason::BodyNotReplayable));
        };
        self.last = None;
        let (request, saved) = C::Requests::restore(saved, !self.exchange.may_retry());
        self.saved.0 = saved;
        Ok(request)
    }

    /// Begins an attempt, and numbers its request for the server and for layers in other tasks, which also get a handle
    /// to report by.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, request: &mut C::Request) -> (Attempt, Option<AttemptHandle>) {
        let attempt = self.exchange.attempt();
        let is_repeated = attempt.number() > 1;
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

    /// Takes the result of an attempt. [`Todo::Done`] is the end: then call [`last`](Self::last) at once.
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
    pub(crate) fn keep(&mut self, result: AttemptResult<C>) {
        self.last = Some(Box::new(result));
    }

    /// Takes the end of an attempt that had no time left.
    pub(crate) fn cut(&mut self) -> Todo {
        let (attempt, by_deadline) = self.exchange.cut(&self.saved);
        let error = timeout_of(attempt, by_deadline);
        let text = format!("timeout: {error}");
        let own = C::own_error();
        if let Some(own) = own {
            self.last = Some(Box::new(Err(own(LayerError::Timeout(error)))));
        }
        self.exchange.timed_out(&self.saved, &text, own.is_some())
    }

    /// Keeps later requests off the connection of an attempt that was cut and does not go on.
    pub(crate) fn abandon(&self, client: &mut C, todo: Todo) -> Todo {
        client.leave_connection(self.exchange.policy(), None);
        todo
    }

    /// Returns the response of which this much is to be read.
    ///
    /// # Errors
    ///
    /// The todo to carry out instead, if there is nothing to read.
    pub(crate) fn take_to_read(&mut self, need: &BodyNeed) -> Result<KeptResponse<C>, Todo> {
        let is_rest = matches!(need.part, BodyPart::Rest(_));
        if is_rest && self.exchange.has_deadline() && !C::Responses::GIVES_BACK {
            return Err(Todo::Wait);
        }
        let is_late = need.until <= self.exchange.engine().runtime.now();
        let is_probe = matches!(need.part, BodyPart::Probe(_));
        match self.last.take().map(|last| *last) {
            Some(Ok(response)) if !(is_probe && is_late) => Ok(response),
            Some(result) => {
                let head = result.as_ref().ok().and_then(C::Responses::head);
                let todo = match (&need.part, &result) {
                    (BodyPart::Start(_), Err(error)) => {
                        let kind = self.exchange.error_kind();
                        let text = C::error_text(self.exchange.policy(), error, kind);
                        self.exchange.read(&self.saved, head, Found::Text(&text))
                    }
                    _ => self.exchange.read(&self.saved, head, Found::Nothing),
                };
                self.last = Some(Box::new(result));
                Err(todo)
            }
            None => Err(self.exchange.failed(StopReason::NotRetryable)),
        }
    }

    /// Takes a response of which a part was read.
    pub(crate) fn has_read(&mut self, client: &mut C, (response, end): PartOf<C>) -> Todo {
        let (exchange, saved) = (&mut self.exchange, &self.saved);
        let head = C::Responses::head(&response);
        let mut result = None;
        let todo = match end {
            PartRead::Start(bytes, is_whole) => {
                exchange.read(saved, head, Found::Start(&bytes, is_whole))
            }
            PartRead::Probe(verdict) => exchange.read(saved, head, Found::Verdict(verdict)),
            PartRead::Rest(has_ended) => {
                // The deadline may pass before the retry is sent, and the caller then gets this response.
                let is_kept = has_ended || exchange.has_deadline();
                self.last = is_kept.then(|| Box::new(Ok(response)));
                return Todo::Wait;
            }
            PartRead::Whole(Ok(Inspected::TimeIsUp)) => {
                let (attempt, by_deadline) = exchange.limit_reached();
                let error = timeout_of(attempt, by_deadline).after_an_answer();
                let own = C::own_error();
                result = own.map(|own| Err(own(LayerError::Timeout(error))));
                client.leave_connection(exchange.policy(), None);
                let text = format!("timeout: {error}");
                exchange.read(saved, head, Found::Late(&text, own.is_some()))
            }
            PartRead::Whole(Ok(_)) => exchange.read(saved, head, Found::Nothing),
            PartRead::Whole(Err(broken)) => {
                client.leave_connection(exchange.policy(), None);
                exchange.read(saved, head, Found::Broken(&broken))
            }
        };
        self.last = Some(Box::new(result.unwrap_or(Ok(response))));
        todo
    }

    /// Changes the request for its next attempt.
    pub(crate) fn prepare(&mut self, client: &mut C) -> Todo {
        let has_response = matches!(self.last.as_deref(), Some(Ok(_)));
        let kind = self.exchange.error_kind();
        let todo = self.exchange.prepare(&mut self.saved, has_response);
        // Only if a retry follows: it would go over the same dead connection. Otherwise the client is left alone.
        if matches!(todo, Todo::Wait | Todo::Read(_)) {
            match self.last.as_deref() {
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

    /// Polls a client until it is ready, or until the deadline. If there is nothing to return past that, it waits on.
    pub(crate) fn poll_ready(
        &mut self,
        ready: impl FnOnce(&mut Context<'_>) -> Poll<Result<(), C::Error>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Todo>> {
        let can_end = self.can_end();
        match ready(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(error)) => {
                self.last.get_or_insert_with(|| Box::new(Err(error)));
                Poll::Ready(Err(self.exchange.failed(StopReason::NotReady)))
            }
            Poll::Pending if can_end && self.exchange.poll_deadline(cx).is_ready() => {
                Poll::Ready(Err(self.exchange.failed(StopReason::DeadlineExceeded)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Closes the report, and returns the last result or the policy's replacement for it. `None` if there is nothing to
    /// return: no command ends a request before it has an outcome.
    pub(crate) fn finish(&mut self) -> Option<AttemptResult<C>> {
        let last = self.last.take().map(|last| *last);
        // The deadline has passed in a wait, and the last response was not kept.
        let late = || {
            let error = match self.exchange.limited() {
                Some(error) => LayerError::Limited(error),
                None => LayerError::Timeout(AttemptTimeout::in_wait(self.exchange.allowed())),
            };
            C::own_error().map(|own| Err(own(error)))
        };
        let last = last.or_else(late)?;
        Some(self.replaced(last))
    }

    fn can_end(&self) -> bool {
        self.last.is_some() || C::own_error().is_some()
    }

    /// Closes the report, and returns what the caller gets for this result.
    #[inline(always)]
    pub(crate) fn last(&mut self, result: AttemptResult<C>) -> AttemptResult<C> {
        if self.exchange.is_plain() {
            return result;
        }
        self.replaced(result)
    }

    #[cold]
    #[inline(never)]
    fn replaced(&mut self, mut result: AttemptResult<C>) -> AttemptResult<C> {
        let Ending { with, report, .. } = self.exchange.finish();
        match (with, &report) {
            (EndsWith::Response(canned, url), _) => {
                let canned = C::Responses::canned(&canned, &url);
                result = canned.map_or(result, Ok);
            }
            // An error already tells the caller of the failure, and stays unchanged.
            (EndsWith::Failure, Some(report)) if result.is_ok() => {
                let failed = || LayerError::Failed(RequestFailed::new(report.clone()));
                result = C::own_error().map_or(result, |own| Err(own(failed())));
            }
            _ => {}
        }
        // Last, so that a made-up response carries the report too.
        if let (Ok(response), Some(report)) = (&mut result, report) {
            if let Some(extensions) = C::Responses::extensions_mut(response) {
                extensions.insert::<RetryReport>(report);
            }
        }
        result
    }
}

impl<C: Client> Saved<C> {
    /// Returns `true` if doing the request twice may do harm, and its head may be all of it.
    fn is_harmful_head_alone(&self) -> bool {
        self.0.as_ref().is_some_and(|saved| {
            let head = C::Requests::saved_head(saved);
            let is_harmless = head.is_some_and(|head| head.facts().is_idempotent());
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
        let Changes {
            set,
            rebase,
            rewrite,
            ..
        } = changes;
        let Some(saved) = &mut self.0 else {
            return Err(StopReason::BodyNotReplayable);
        };
        let edit = RequestEdit {
            set,
            rebase,
            rewrite,
            ..RequestEdit::default()
        };
        if !C::Requests::edit(saved, edit) {
            return Err(StopReason::NotRetryable);
        }
        // From now on a cut attempt that is still being sent cannot take bytes of a shared body from the next one.
        C::Requests::next_in_turn(saved);
        Ok(())
    }
}

/// Returns the error of an attempt that had no time left.
fn timeout_of(attempt: Attempt, by_deadline: bool) -> AttemptTimeout {
    let error = AttemptTimeout::new(attempt.limit().unwrap_or_default());
    let error = error.on_attempt(attempt.number());
    if by_deadline {
        error.by_deadline()
    } else {
        error
    }
}

/// Adds an idempotency key to a request that is not idempotent and has none.
fn add_key<C: Client>(exchange: &Exchange, request: &mut C::Request) {
    let policy = exchange.policy();
    let needs_key = C::Requests::head(request)
        .is_some_and(|head| !head.facts().is_idempotent() && !head.has_own_key(policy));
    if let Some(headers) = C::Requests::headers_mut(request).filter(|_| needs_key) {
        exchange.engine().put_new_key(policy, headers);
    }
}
