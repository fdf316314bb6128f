//! An attempt that is several requests: what it may have done is the sum of what they may have done.

use crate::calls::{URL, retries};
use crate::server::{Server, Step};
use http_retry_core::{ErrorKind, Reach, RetryOverride};
use http_retry_ureq::{RetryReport, StopReason, attempt};
use std::io::Read;
use ureq::http::{Request, Response};
use ureq::middleware::{Middleware, MiddlewareNext};
use ureq::{Agent, Body, Error, SendBody};

/// The agent that a middleware below sends its records by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Without retries, and with errors for statuses as they are by default.
    Plain,
    /// The same, as the middleware reports.
    Reported,
    /// With retries, and without errors for statuses.
    Retrying,
}

impl By {
    pub(crate) fn agent(self, server: &Server) -> Agent {
        match self {
            Self::Plain => server.plain_agent(true),
            Self::Reported => server.plain_agent(false),
            Self::Retrying => {
                server.agent_with(retries(), |config| config.http_status_as_error(false))
            }
        }
    }
}

/// A middleware that sends a record of each success; the last of the two responses is the result.
#[derive(Clone)]
pub(crate) struct Records(pub(crate) By, pub(crate) Agent);

impl Middleware for Records {
    fn handle(
        &self,
        request: Request<SendBody>,
        next: MiddlewareNext,
    ) -> Result<Response<Body>, Error> {
        let response = next.handle(request)?;
        if !response.status().is_success() {
            return Ok(response);
        }
        if self.0 == By::Reported {
            attempt::sent();
        }
        self.1.post(URL).send("a record")
    }
}

fn ordered(by: By, orders: &Server, records: &Server) -> RetryReport {
    let record = Records(by, by.agent(records));
    let slot = RetryReport::slot();
    let agent = orders.agent_with(retries(), move |config| config.middleware(record.clone()));
    let request = agent.post(URL).extension(slot.clone());
    assert!(request.send("an order").is_err());
    slot.take().unwrap()
}

#[test]
fn an_order_is_sent_once_when_the_record_after_it_is_refused() {
    for by in [By::Plain, By::Reported, By::Retrying] {
        for refusal in [Step::Refused, Step::status(429), Step::HandshakeReset] {
            let orders = Server::new((0..9).map(|_| Step::status(201)));
            let records = Server::new((0..9).map(|_| refusal.clone()));
            let report = ordered(by, &orders, &records);
            let what = format!("{by:?} {refusal:?}");
            assert_eq!(report.stop, StopReason::NotIdempotent, "{what}");
            assert_eq!(orders.received().len(), 1, "{what}");
        }
    }
}

#[test]
fn an_order_that_was_refused_is_sent_again_and_then_recorded() {
    let orders = Server::new([Step::status(429), Step::Refused, Step::status(201)]);
    let records = Server::new([Step::status(500)]);
    let report = ordered(By::Reported, &orders, &records);
    let reached: Vec<_> = report.attempts.iter().map(|one| one.reach).collect();
    assert_eq!(reached, [Reach::Refused, Reach::Unsent, Reach::Answered]);
    assert_eq!(orders.received().len(), 2);
}

/// A token that is fetched before an order does no harm if it is fetched again.
#[test]
fn an_order_is_sent_again_with_another_token() {
    for refusal in [Step::Refused, Step::status(429)] {
        let tokens = Server::new([]);
        let fetcher = tokens.agent(retries());
        let sign = move |request: Request<SendBody>, next: MiddlewareNext| {
            fetcher.get(URL).call()?;
            next.handle(request)
        };
        let orders = Server::new([refusal]);
        let agent = orders.agent_with(retries(), move |config| config.middleware(sign.clone()));
        agent.post(URL).send("an order").unwrap();
        assert_eq!(tokens.received().len(), 2);
    }
}

/// The token's request says itself that it must not be repeated, by its setting: an order of one-time tokens.
#[test]
fn an_order_is_not_sent_again_if_its_token_must_not_be() {
    let tokens = Server::new([]);
    let fetcher = tokens.agent(retries());
    let sign = move |request: Request<SendBody>, next: MiddlewareNext| {
        let once = RetryOverride::new().idempotent(false);
        fetcher.get(URL).extension(once).call()?;
        next.handle(request)
    };
    let orders = Server::new([Step::Refused]);
    let agent = orders.agent_with(retries(), move |config| config.middleware(sign.clone()));
    assert!(agent.post(URL).send("an order").is_err());
    assert_eq!(tokens.received().len(), 1);
}

/// A middleware that sends the request by another agent: nothing is seen of its connections.
#[test]
fn an_order_that_another_agent_sends_may_have_been_processed() {
    for (step, sent, kind) in [
        (Step::ResetAfterWrite, 1, ErrorKind::Reset),
        (Step::Closed, 1, ErrorKind::Incomplete),
        (Step::Refused, 2, ErrorKind::Connect),
    ] {
        let orders = Server::new([step.clone()]);
        let below = orders.plain_agent(true);
        let pass_on =
            move |request: Request<SendBody>, _: MiddlewareNext| -> Result<Response<Body>, Error> {
                let (parts, body) = request.into_parts();
                let mut text = Vec::new();
                body.into_reader().read_to_end(&mut text)?;
                below.run(Request::from_parts(parts, &text[..]))
            };
        let unused = Server::new([]);
        let agent = unused.agent_with(retries(), move |config| config.middleware(pass_on.clone()));
        let slot = RetryReport::slot();
        let request = agent.post(URL).extension(slot.clone());
        assert_eq!(request.send("an order").is_ok(), sent == 2, "{step:?}");
        let report = slot.take().unwrap();
        assert_eq!(report.attempts[0].error, Some(kind), "{step:?}");
        assert_eq!(
            (report.attempt_count, orders.met().len()),
            (sent, sent as usize),
            "{step:?}"
        );
    }
}
