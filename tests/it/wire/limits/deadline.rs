//! A deadline that comes before the next attempt: in the delay, or while an error body is read.

use super::super::connections::client::{Bare, Settings, Speaks, bare_hyper, bare_reqwest};
use super::super::connections::http2_server::{Act as Http2Act, Http2Server};
use super::super::server::{Act, Answer, FaultServer};
use super::super::stacks::clients::{
    Client, SECOND, STACKS, Setup, drive, fixed, get, hyper, told,
};
use super::{reported, why};
use crate::in_time::in_time;
use futures_util::FutureExt;
use http_body_util::Full;
use http_retry::{AttemptTimeout, RetryOverride, StopReason};
use std::time::Duration;
use tower::{Layer, ServiceExt};

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
            assert_eq!(report.stop, StopReason::DeadlineExceeded);
            assert_eq!((report.waited, slot.take()), (Duration::ZERO, Some(report)));
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
        assert_eq!(told.report.unwrap().stop, StopReason::DeadlineExceeded);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn time_that_ran_out_in_an_error_body_leaves_it_to_the_caller() {
    for stack in STACKS {
        for status in [500, 503, 429, 408] {
            let sorry = Answer::new(status).body("sorry");
            let server = FaultServer::start([Act::Pause(sorry, 2)]).await;
            let setup = Setup::new(fixed(2, Duration::ZERO).deadline(SECOND / 2));
            let (request, slot) = reported(get(server.url("/")));
            let mut call = Client::new(stack, &setup).call(request);
            drive(&mut call, || drains_until_the_deadline(&setup)).await;
            setup.clock.advance(SECOND);
            // The rest of the body comes only when the call is over.
            drive(&mut call, || setup.clock.alive() == 0).await;
            server.go_on();
            let told = in_time(call).await.unwrap();
            assert_eq!(
                (told.status.as_u16(), &told.body[..]),
                (status, &b"sorry"[..])
            );
            assert_eq!(why(&slot), StopReason::DeadlineExceeded);
            assert_eq!((server.received().len(), setup.tokens()), (1, 20));
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_comes_back_at_the_deadline() {
    let long = vec![b'x'; 200_000];
    for stack in STACKS {
        let sorry = Answer::new(503).body(long.clone());
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
        assert_eq!((told.status.as_u16(), &told.body[..]), (503, &long[..]));
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn a_kept_type_comes_back_if_time_runs_out_in_the_wait() {
    let sorry = Answer::new(503).body("sorry");
    let server = FaultServer::start([Act::Answer(sorry)]).await;
    let setup = Setup::new(fixed(2, SECOND * 3).deadline(SECOND * 4));
    let service = setup.layer().keep_response_type().layer(hyper());
    let request = get(server.url("/")).map(Full::new);
    let mut call =
        Box::pin(async move { told(service.oneshot(request).await.unwrap()).await.unwrap() });
    drive(&mut call, || {
        setup.clock.begun().last() == Some(&(SECOND * 3))
    })
    .await;
    setup.clock.advance(SECOND * 4);
    let told = in_time(call).await;
    assert_eq!((told.status.as_u16(), &told.body[..]), (503, &b"sorry"[..]));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn over_http2_too_a_stalled_body_comes_back() {
    for stack in [
        Bare::Tower(bare_hyper(Speaks::Http2)),
        Bare::Reqwest(bare_reqwest(Speaks::Http2)),
    ] {
        let server = Http2Server::start([Http2Act::StallBody(503)]).await;
        let setup = Setup::new(fixed(2, SECOND * 3).deadline(SECOND * 4));
        let client = stack.with_retries(Settings {
            policy: setup.policy.clone(),
            ..Settings::without_waits(setup.clock.clone())
        });
        let url = server.url("/");
        let mut call = Box::pin(async move {
            let answer = client.get(&url).await.unwrap();
            (answer.status(), answer.body().now_or_never().is_none())
        });
        drive(&mut call, || {
            setup.clock.begun().last() == Some(&(SECOND * 3))
        })
        .await;
        setup.clock.advance(SECOND * 4);
        assert_eq!(
            in_time(call).await,
            (http::StatusCode::SERVICE_UNAVAILABLE, true)
        );
    }
}

#[tokio::test]
async fn a_stalled_body_costs_the_drain_limit_and_then_a_retry() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let setup = Setup::new(fixed(2, Duration::ZERO).deadline(SECOND * 9));
        let mut call = Client::new(stack, &setup).call(get(server.url("/")));
        drive(&mut call, || setup.clock.begun().last() == Some(&SECOND)).await;
        setup.clock.advance(SECOND);
        let told = in_time(call).await.unwrap();
        assert_eq!(told.status.as_u16(), 200);
        in_time(server.until(|server| server.open() == 1)).await;
    }
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
