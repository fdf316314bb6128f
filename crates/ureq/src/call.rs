//! One request on its way: an [`Exchange`] decides, and what is here sends, reads and waits on ureq.

use crate::errors::{RequestFailed, outcome_of, outcome_of_body, shown, words};
use crate::request::ReplayableRequest;
use crate::response::{at_most, canned, read};
use crate::runtime::clock;
use crate::watch::{self, Seen};
use http::{Request, Response};
use http_retry_core::adapter::{
    BodyPart, Changes, End, Engine, ErrorFacts, Exchange, Found, Head, Inspected, Kept,
    RedirectSigns, RequestSettings, Todo,
};
use http_retry_core::reading::is_longer;
use http_retry_core::runtime::block_on;
use http_retry_core::settings::PolicyExt;
use http_retry_core::{ErrorKind, Outcome, RetryReport, StopReason};
use std::any::type_name;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use ureq::{Agent, Body, Error, SendBody, Timeout};

/// The result of an attempt.
type AttemptResult = Result<Response<Body>, Error>;

/// A request on its way.
pub(crate) struct Call<'a, 'b> {
    exchange: Exchange,
    agent: &'a Agent,
    request: ReplayableRequest<'b>,
    /// The last result, if it was kept, and what was seen of its attempt.
    last: Option<AttemptResult>,
    seen: Seen,
}

impl<'a, 'b> Call<'a, 'b> {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        agent: &'a Agent,
        request: Request<SendBody<'b>>,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let settings = RequestSettings::from_extensions(Some(&parts.extensions));
        let exchange = Exchange::new(Arc::clone(engine), settings, Some(&&parts));
        // The gate needs the head of a refusal, which an error of the agent has lost.
        let is_watched = exchange.may_retry()
            || exchange.policy().gate_wait_limit().is_some()
            || exchange.first_limit().is_some();
        let request = if is_watched {
            ReplayableRequest::recorded(agent, parts, body, engine.save.recorded)
        } else {
            ReplayableRequest::once(parts, body)
        };
        Self {
            exchange,
            agent,
            request,
            last: None,
            seen: Seen::default(),
        }
    }

    /// Makes attempts until the request is finished.
    pub(crate) fn run(mut self) -> AttemptResult {
        let mut todo = self.exchange.start(Some(&&self.request.parts));
        loop {
            todo = match todo {
                Todo::Send => self.send(),
                Todo::Wait | Todo::Ask => {
                    block_on(clock, poll_fn(|cx| self.exchange.poll_wait(cx, true)))
                }
                Todo::Read { part, until } => self.read(part, until),
                Todo::Prepare => {
                    let has_response = matches!(self.last, Some(Ok(_)));
                    self.exchange.prepare(&mut self.request, has_response)
                }
                Todo::Stay | Todo::Done => return self.finish(),
            };
        }
    }

    fn send(&mut self) -> Todo {
        self.last = None;
        let attempt = self.exchange.attempt();
        let clock = Arc::clone(&self.exchange.engine().runtime);
        let until = attempt.limit.map(|limit| clock.now().saturating_add(limit));
        let head = &self.request.parts;
        let harmless = self.exchange.is_idempotent_by_itself(Some(&head));
        let (request, agent) = (&mut self.request, self.agent);
        let send = || request.send(agent, attempt);
        let sent = || watch::around(&clock, until, harmless, send);
        let (result, seen) = self.exchange.around(sent);
        self.seen = seen;
        // The agent makes no error of a status: this one is of another agent's request.
        let is_anothers = seen.sent && matches!(result, Err(Error::StatusCode(_)));
        if seen.requests > 1 || is_anothers {
            self.exchange.sent_several();
        }
        let is_late = until.is_some_and(|until| until <= clock.now());
        let end = if is_late && matches!(result, Err(Error::Timeout(_))) {
            End::Late {
                text: "timeout: the attempt had no time left",
                can_report: true,
            }
        } else {
            self.end_of(&result)
        };
        let todo = self.exchange.ended(&self.request, &end);
        self.last = Some(result);
        todo
    }

    fn end_of<'r>(&self, result: &'r AttemptResult) -> End<'r> {
        let error = match result {
            Ok(response) => {
                return End::Response {
                    status: response.status(),
                    headers: response.headers(),
                    url: None,
                    can_leave: false,
                };
            }
            Err(error) => error,
        };
        let outcome = if self.request.has_failed() {
            Outcome::error(ErrorKind::Body)
        } else {
            outcome_of(self.exchange.policy(), error, self.seen)
        };
        End::Error(ErrorFacts {
            outcome,
            type_name: type_name::<Error>(),
            error: shown(error),
            redirects: RedirectSigns::default(),
        })
    }

    /// Reads as much of a response as is needed.
    fn read(&mut self, part: BodyPart, until: Duration) -> Todo {
        let (exchange, request) = (&mut self.exchange, &self.request);
        let response = match (self.last.take(), &part) {
            (None, _) => return exchange.failed(StopReason::NotRetryable),
            (Some(Ok(response)), BodyPart::Whole(bytes))
                if is_longer(response.headers(), *bytes) =>
            {
                return self.has_read(response, Found::Nothing);
            }
            (Some(Ok(response)), _) => response,
            (Some(Err(error)), part) => {
                let text = words(&error, exchange.error_kind());
                let found = match part {
                    BodyPart::Start(_) => Found::Text(&text, shown(&error)),
                    _ => Found::Nothing,
                };
                let todo = exchange.read(request, None, found);
                self.last = Some(Err(error));
                return todo;
            }
        };
        let clock = Arc::clone(&exchange.engine().runtime);
        let read = |response, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>| {
            read(response, &clock, Some(until), see)
        };
        match part {
            BodyPart::Start(most) => {
                let mut start = Vec::new();
                let mut see = |data: &[u8]| {
                    let room = most.saturating_sub(start.len());
                    start.extend(data.iter().take(room));
                    if start.len() < most {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                };
                let (response, end) = read(response, &mut see);
                let is_whole = matches!(end, Ok(Inspected::AtTheEnd));
                self.has_read(response, Found::Start(&start, is_whole))
            }
            BodyPart::Probe(mut probe) => {
                let (response, end) = read(response, &mut |data| probe.push(data));
                let verdict = probe.verdict(end.unwrap_or(Inspected::AtAnError));
                self.has_read(response, Found::Verdict(verdict))
            }
            BodyPart::Whole(bytes) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                let (response, end) = read(response, &mut at_most(bytes));
                match end {
                    Ok(Inspected::TimeIsUp) => {
                        let text = "timeout: the response was not whole in its time";
                        let todo = self.has_read(response, Found::Late(text, true));
                        self.last = Some(Err(Error::Timeout(Timeout::Global)));
                        todo
                    }
                    Ok(_) => self.has_read(response, Found::Nothing),
                    Err(error) => {
                        let outcome = outcome_of_body(self.exchange.policy(), &error);
                        let words = words(&error, outcome.error_kind());
                        // The caller gets the bytes before the break, if no other attempt follows.
                        self.has_read(response, Found::Broken(&outcome, &words))
                    }
                }
            }
            BodyPart::Rest(bytes) => {
                let (response, end) = read(response, &mut at_most(bytes));
                // The deadline may pass before the retry is sent, and the caller then gets this response.
                let is_kept =
                    matches!(end, Ok(Inspected::AtTheEnd)) || self.exchange.time_limit().is_some();
                // If the caller wants an error for its status, that is all there is to keep.
                self.last = match self.status_error(Ok(response)) {
                    Ok(response) => is_kept.then_some(Ok(response)),
                    error => Some(error),
                };
                Todo::Wait
            }
        }
    }

    fn has_read(&mut self, response: Response<Body>, found: Found<'_>) -> Todo {
        let head = Some((response.status(), response.headers()));
        let todo = self.exchange.read(&self.request, head, found);
        self.last = Some(Ok(response));
        todo
    }

    /// Closes the report, and returns the last result, or the policy's replacement for it.
    fn finish(mut self) -> AttemptResult {
        let ending = self.exchange.finish();
        // A response that was let go before a wait is gone when no attempt follows after all.
        let late = || match self.exchange.limited() {
            Some(error) => Err(Error::Other(Box::new(error))),
            None => Err(Error::Timeout(Timeout::Global)),
        };
        let mut result = self.last.take().unwrap_or_else(late);
        let Some(ending) = ending else {
            return self.status_error(result);
        };
        if let Some((response, _)) = ending.response {
            result = Ok(canned(&response));
        }
        let mut response = self.status_error(result)?;
        if let Some(report) = ending.report {
            if ending.fails {
                return Err(Error::Other(Box::new(RequestFailed::new(report))));
            }
            response.extensions_mut().insert::<RetryReport>(report);
        }
        Ok(response)
    }

    /// Turns a response into the error that the caller's settings of ureq ask for.
    fn status_error(&self, result: AttemptResult) -> AttemptResult {
        let response = result?;
        let status = response.status();
        let is_error = status.is_client_error() || status.is_server_error();
        if is_error && self.request.wants_status_errors() {
            return Err(Error::StatusCode(status.as_u16()));
        }
        Ok(response)
    }
}

impl Kept for ReplayableRequest<'_> {
    fn head(&self) -> Option<impl Head> {
        Some(&self.parts)
    }

    fn is_whole(&self, _: bool) -> bool {
        self.body_is_whole()
    }

    /// A request that goes to another service needs its URL and credentials changed, which is not done here.
    fn can_move() -> bool {
        false
    }

    fn change(&mut self, changes: Changes<'_>) -> Result<(), StopReason> {
        if let Some(set) = changes.set {
            self.set(set);
        }
        if let Some(rewrite) = changes.rewrite {
            self.rewrite(rewrite).ok_or(StopReason::NotRetryable)?;
        }
        Ok(())
    }
}
