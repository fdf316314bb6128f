//! Attempt timeout and deadline, against a server that stalls.

mod by_hand;
mod deadline;
mod further_in;

use super::server::{Act, FaultServer};
use super::stacks::clients::{
    Call, Client, STACKS, Setup, Stack, Told, drive_to, fixed, get, post,
};
use crate::in_time::in_time;
use bytes::Bytes;
use http::Request;
use http_retry::{AttemptTimeout, ReportSlot, RetryReport, StopReason};
use std::time::Duration;
use tower::BoxError;

const TIMEOUT: Duration = Duration::from_secs(6);
const DEADLINE: Duration = Duration::from_secs(10);

/// The stacks that can say that an attempt was cut short.
const TELLING: [Stack; 2] = [Stack::Boxed, Stack::Middleware];

/// A request, and where its report will be.
fn reported(request: Request<Bytes>) -> (Request<Bytes>, ReportSlot) {
    let slot = RetryReport::slot();
    let mut request = request;
    request.extensions_mut().insert(slot.clone());
    (request, slot)
}

fn why(slot: &ReportSlot) -> StopReason {
    slot.take().unwrap().stop
}

fn cut_after(result: Result<Told, BoxError>) -> Duration {
    let error = result.unwrap_err();
    assert!(AttemptTimeout::is(&*error), "{error:?}");
    let own = error.downcast_ref::<AttemptTimeout>();
    let told = own.or_else(|| match error.downcast_ref()? {
        reqwest_middleware::Error::Middleware(inner) => inner.downcast_ref(),
        reqwest_middleware::Error::Reqwest(_) => None,
    });
    told.unwrap().after()
}

/// Lets the time pass that the last attempt, which the server has seen whole, is given.
async fn stall(
    call: &mut Call,
    server: &FaultServer,
    setup: &Setup,
    requests: usize,
    by: Duration,
) {
    drive_to(call, server, requests).await;
    setup.clock.advance(by);
}

#[tokio::test]
async fn a_stalled_attempt_is_cut_and_the_next_one_answers() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallHead]).await;
        let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
        let client = Client::new(stack, &setup);
        let mut call = client.call(get(server.url("/")));
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        let told = in_time(call).await.unwrap();
        assert_eq!((told.status.as_u16(), server.received().len()), (200, 2));
        assert_eq!(setup.tokens(), 18, "a retry after a timeout costs double");
        in_time(server.until(|server| server.open() == 1)).await;
        assert_eq!(setup.clock.alive(), 0);
    }
}

#[tokio::test]
async fn the_second_attempt_gets_what_remains_of_the_deadline() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallHead, Act::StallHead]).await;
        let limits = fixed(5, Duration::ZERO)
            .attempt_timeout(TIMEOUT)
            .deadline(DEADLINE);
        let setup = Setup::new(limits);
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        stall(&mut call, &server, &setup, 2, DEADLINE - TIMEOUT).await;
        assert_eq!(cut_after(in_time(call).await), DEADLINE - TIMEOUT);
        let report = slot.take().unwrap();
        assert_eq!(
            (report.stop, report.attempt_count),
            (StopReason::DeadlineExceeded, 2)
        );
        assert_eq!((server.received().len(), setup.tokens()), (2, 18));
    }
}

#[tokio::test]
async fn where_it_can_be_told_the_last_attempt_is_cut_too() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallHead, Act::StallHead]).await;
        let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        stall(&mut call, &server, &setup, 2, TIMEOUT).await;
        assert_eq!(cut_after(in_time(call).await), TIMEOUT);
        assert_eq!(why(&slot), StopReason::AttemptsExhausted);
        in_time(server.until(|server| server.open() == 0)).await;
    }
}

#[tokio::test]
async fn an_ambiguous_request_is_not_repeated_after_a_timeout() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallHead]).await;
        let setup = Setup::new(fixed(3, Duration::ZERO).attempt_timeout(TIMEOUT));
        let (request, slot) = reported(post(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        assert_eq!(cut_after(in_time(call).await), TIMEOUT);
        assert_eq!(why(&slot), StopReason::NotIdempotent);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}
