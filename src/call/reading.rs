//! The part of a response's body that an exchange needs.

use super::client::{Client, OpenResponse, ReturnedResponse};
use super::{Call, Held};
use crate::StopReason;
use crate::client::responses::Responses;
use crate::error::{AttemptTimeout, LayerError};
use crate::runtime::{Runtime, Sleep};
use http_retry_core::adapter::{BodyPart, Found, Inspected, Todo};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A response of which a part is being read.
pub(super) struct BodyRead<C: Client> {
    response: OpenResponse<C>,
    part: BodyPart,
    /// The time by which the read is over.
    until: Duration,
    /// The number of bytes that a probe has seen, or that were read and dropped.
    seen: usize,
    /// Made once the body keeps the call waiting.
    timer: Option<Sleep>,
}

impl<C: Client> Call<C> {
    /// Begins to read a part of the last response.
    ///
    /// # Errors
    ///
    /// The todo to carry out instead, if there is nothing to read.
    pub(crate) fn begin_read(&mut self, part: BodyPart, until: Duration) -> Result<(), Todo> {
        let is_rest = matches!(part, BodyPart::Rest(_));
        if is_rest && self.exchange.time_limit().is_some() && !C::Responses::GIVES_BACK {
            return Err(Todo::Wait);
        }
        let is_late = until <= self.exchange.engine().runtime.now();
        let is_probe = matches!(part, BodyPart::Probe(_));
        match self.held.take().into_last() {
            Some(Ok(response)) if !(is_probe && is_late) => {
                self.held = Held::Reading(Box::new(BodyRead {
                    response: response.into(),
                    part,
                    until,
                    seen: 0,
                    timer: None,
                }));
                Ok(())
            }
            Some(result) => {
                let head = result.as_ref().ok().and_then(C::Responses::head);
                let todo = match (&part, &result) {
                    (BodyPart::Start(_), Err(error)) => {
                        let kind = self.exchange.error_kind();
                        let text = C::error_text(self.exchange.policy(), error, kind);
                        let shown = C::shown_error(self.exchange.policy(), error);
                        self.exchange
                            .read(&self.saved, head, Found::Text(&text, shown))
                    }
                    _ => self.exchange.read(&self.saved, head, Found::Nothing),
                };
                self.hold(result);
                Err(todo)
            }
            None => Err(self.exchange.failed(StopReason::NotRetryable)),
        }
    }

    /// Reads on, until the part is there or its time is up.
    pub(crate) fn poll_read(&mut self, client: &mut C, cx: &mut Context<'_>) -> Poll<Todo> {
        let Held::Reading(read) = &mut self.held else {
            return Poll::Ready(Todo::Wait);
        };
        let BodyRead {
            response,
            part,
            until,
            seen,
            timer,
        } = &mut **read;
        let end = match C::Responses::poll_read(response, part, seen, cx) {
            Poll::Ready(end) => end,
            Poll::Pending => {
                let runtime = &self.exchange.engine().runtime;
                let timer = timer.get_or_insert_with(|| sleep_until(&**runtime, *until));
                ready!(timer.as_mut().poll(cx));
                Inspected::TimeIsUp
            }
        };
        Poll::Ready(match self.held.take() {
            Held::Reading(read) => self.has_read(client, *read, end),
            _ => Todo::Wait,
        })
    }

    /// Takes a response of which a part was read.
    fn has_read(&mut self, client: &mut C, read: BodyRead<C>, end: Inspected) -> Todo {
        let (exchange, saved) = (&mut self.exchange, &self.saved);
        let BodyRead { response, part, .. } = read;
        if let BodyPart::Rest(_) = part {
            // The deadline may pass before the retry is sent, and the caller then gets this response.
            let is_kept = end == Inspected::AtTheEnd || exchange.time_limit().is_some();
            if is_kept {
                self.hold(Ok(response.into()));
            }
            return Todo::Wait;
        }
        let start = match part {
            BodyPart::Start(most) => C::Responses::start(&response, most).to_vec(),
            _ => Vec::new(),
        };
        let broken = match part {
            BodyPart::Whole(_) => C::Responses::broken(&response, exchange.policy()),
            _ => None,
        };
        let response: ReturnedResponse<C> = response.into();
        let head = C::Responses::head(&response);
        let mut result = None;
        let todo = match (part, broken, end) {
            (BodyPart::Start(_), ..) => {
                let is_whole = end == Inspected::AtTheEnd;
                exchange.read(saved, head, Found::Start(&start, is_whole))
            }
            (BodyPart::Probe(mut probe), ..) => {
                exchange.read(saved, head, Found::Verdict(probe.verdict(end)))
            }
            (_, Some((broken, text)), _) => {
                client.leave_connection(exchange.policy(), None);
                exchange.read(saved, head, Found::Broken(&broken, &text))
            }
            (_, None, Inspected::TimeIsUp) => {
                let (attempt, by_deadline) = exchange.cut(saved);
                let error = AttemptTimeout::of_attempt(attempt, by_deadline).after_a_response();
                let own = C::own_error();
                result = own.map(|own| Err(own(LayerError::Timeout(error))));
                client.leave_connection(exchange.policy(), None);
                let text = format!("timeout: {error}");
                exchange.read(saved, head, Found::Late(&text, own.is_some()))
            }
            _ => exchange.read(saved, head, Found::Nothing),
        };
        self.hold(result.unwrap_or(Ok(response)));
        todo
    }
}

/// Returns a sleep until this time, or for ever.
fn sleep_until(runtime: &dyn Runtime, until: Duration) -> Sleep {
    if until == Duration::MAX {
        return Box::pin(std::future::pending());
    }
    runtime.sleep(until.saturating_sub(runtime.now()))
}
