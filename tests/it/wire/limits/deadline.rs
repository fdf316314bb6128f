//! A deadline that comes before the next attempt: in the delay, or while an error body is read.

use super::super::server::{Act, Answer, FaultServer};
use super::super::stacks::clients::{Client, SECOND, STACKS, Setup, Stack, drive, fixed, get};
use super::{TELLING, cut_after, reported, why};
use crate::in_time::in_time;
use http_retry::{AttemptTimeout, RetryOverride, StopReason};
use std::time::Duration;

#[tokio::test]
async fn a_delay_too_long_ends_at_once_with_the_answer() {
    let sorry = || Answer::new(503).header("x-why", "busy").body("sorry");
    let asking = sorry().header("retry-after", "4");
    for stack in STACKS {
        for (act, own) in [(sorry(), SECOND * 4), (asking.clone(), SECOND)] {
            let server = FaultServer::start([Act::Answer(act)]).await;
            let setup = Setup::new(fixed(2, own).deadline(SECOND * 4));
            let (request, slot) = reported(get(server.url("/")));
            let told = Client::new(stack, &setup).send(request).await.unwrap();
            assert_eq!((told.status.as_u16(), &told.body[..]), (503, &b"sorry"[..]));
            let report = told.report.unwrap();
            assert_eq!(report.stop(), StopReason::DeadlineExceeded);
            assert_eq!(
                (report.waited(), slot.take()),
                (Duration::ZERO, Some(report))
            );
            assert_eq!((server.received().len(), setup.tokens()), (1, 20));
        }
    }
}

#[tokio::test]
async fn a_delay_too_long_ends_at_once_with_the_error() {
    for stack in STACKS {
        let server = FaultServer::start([Act::CloseAfterRequest]).await;
        let setup = Setup::new(fixed(2, SECOND * 4).deadline(SECOND * 4));
        let (request, slot) = reported(get(server.url("/")));
        let error = Client::new(stack, &setup).send(request).await.unwrap_err();
        assert!(!AttemptTimeout::is(&*error), "{error:?}");
        assert!(
            format!("{error:?}").contains("IncompleteMessage"),
            "{error:?}"
        );
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn a_deadline_of_the_requests_own_comes_first() {
    for stack in STACKS {
        let server = FaultServer::start([Act::status(503)]).await;
        let setup = Setup::new(fixed(2, SECOND * 4).deadline(SECOND * 60));
        let (mut request, slot) = reported(get(server.url("/")));
        let own = RetryOverride::new().deadline(SECOND * 4);
        request.extensions_mut().insert(own);
        let told = Client::new(stack, &setup).send(request).await.unwrap();
        assert_eq!(told.status.as_u16(), 503);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
    }
}

#[tokio::test]
async fn time_that_ran_out_in_the_wait_leaves_the_answer_whole() {
    for stack in STACKS {
        let sorry = Answer::new(503).body("sorry");
        let server = FaultServer::start([Act::Answer(sorry)]).await;
        let setup = Setup::new(fixed(2, SECOND * 3).deadline(SECOND * 4));
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        drive(&mut call, || {
            setup.clock.begun().last() == Some(&(SECOND * 3))
        })
        .await;
        setup.clock.advance(SECOND * 4);
        let told = in_time(call).await.unwrap();
        assert_eq!((told.status.as_u16(), &told.body[..]), (503, &b"sorry"[..]));
        assert_eq!(told.report.unwrap().stop(), StopReason::DeadlineExceeded);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn time_that_ran_out_in_an_error_body_is_a_timeout() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let setup = Setup::new(fixed(2, Duration::ZERO).deadline(SECOND / 2));
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        drive(&mut call, || drains_until_the_deadline(&setup)).await;
        setup.clock.advance(SECOND);
        assert_eq!(cut_after(in_time(call).await), SECOND / 2);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn without_a_timeout_error_a_last_attempt_goes_out() {
    let server = FaultServer::start([Act::StallBody(503)]).await;
    let setup = Setup::new(fixed(2, Duration::ZERO).deadline(SECOND / 2));
    let mut call = Client::new(Stack::Tower, &setup).call(get(server.url("/")));
    drive(&mut call, || drains_until_the_deadline(&setup)).await;
    setup.clock.advance(SECOND);
    assert_eq!(in_time(call).await.unwrap().status.as_u16(), 200);
    assert_eq!((server.received().len(), setup.tokens()), (2, 19));
}

/// The attempt was given all of the time, and so is the reading of its body, since none has passed.
fn drains_until_the_deadline(setup: &Setup) -> bool {
    let all = setup
        .clock
        .begun()
        .into_iter()
        .filter(|begun| *begun == SECOND / 2);
    all.count() == 2
}
