//! Answers that a test gives by hand, in time or late.

use super::super::stacks::clients::{Call, Client, STACKS, Setup, Stack, drive, fixed, get, post};
use super::{DEADLINE, TIMEOUT, reported, why};
use crate::in_time::in_time;
use crate::listening::listener;
use http_retry::StopReason;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server whose answers the test gives by hand.
struct Hand(TcpListener);

impl Hand {
    async fn new() -> Self {
        Self(listener().await)
    }

    fn url(&self) -> String {
        format!("http://{}/", self.0.local_addr().unwrap())
    }

    /// The next connection, once its request's head is there.
    async fn accept(&mut self, call: &mut Call) -> TcpStream {
        let head = async {
            let (mut stream, _) = self.0.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream
        };
        in_time(async {
            tokio::select! {
                biased;
                ended = call => panic!("the call ended: {ended:?}"),
                stream = head => stream,
            }
        })
        .await
    }
}

async fn answer(stream: &mut TcpStream) {
    let late = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate";
    stream.write_all(late).await.unwrap();
}

#[tokio::test]
async fn an_attempt_that_is_not_over_its_limit_is_not_cut() {
    for stack in STACKS {
        let mut hand = Hand::new().await;
        let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
        let mut call = Client::new(stack, &setup).call(get(hand.url()));
        let mut stream = hand.accept(&mut call).await;
        setup.clock.advance(TIMEOUT - Duration::from_nanos(1));
        answer(&mut stream).await;
        assert_eq!(in_time(call).await.unwrap().body, "late");
    }
}

#[tokio::test]
async fn without_a_timeout_error_the_last_attempt_runs_out() {
    let mut hand = Hand::new().await;
    let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
    let (request, slot) = reported(get(hand.url()));
    let mut call = Client::new(Stack::Tower, &setup).call(request);
    let _stalled = hand.accept(&mut call).await;
    setup.clock.advance(TIMEOUT);
    let mut second = hand.accept(&mut call).await;
    setup.clock.advance(TIMEOUT);
    drive(&mut call, || setup.clock.alive() == 0).await;
    answer(&mut second).await;
    let told = in_time(call).await.unwrap();
    assert_eq!((told.status.as_u16(), &told.body[..]), (200, &b"late"[..]));
    assert_eq!(why(&slot), StopReason::Succeeded);
}

#[tokio::test]
async fn such_a_request_is_waited_for_where_a_timeout_cannot_be_told() {
    let mut hand = Hand::new().await;
    let setup = Setup::new(fixed(3, Duration::ZERO).attempt_timeout(TIMEOUT));
    let mut call = Client::new(Stack::Tower, &setup).call(post(hand.url()));
    let mut stream = hand.accept(&mut call).await;
    setup.clock.advance(TIMEOUT);
    drive(&mut call, || setup.clock.alive() == 0).await;
    answer(&mut stream).await;
    assert_eq!(in_time(call).await.unwrap().body, "late");
    assert_eq!(setup.tokens(), 20);
}

#[tokio::test]
async fn a_limit_ends_with_the_head_so_that_a_long_body_is_not_cut() {
    for stack in STACKS {
        let mut hand = Hand::new().await;
        let setup = Setup::new(
            fixed(1, Duration::ZERO)
                .attempt_timeout(TIMEOUT)
                .deadline(DEADLINE),
        );
        let mut call = Client::new(stack, &setup).call(get(hand.url()));
        let mut stream = hand.accept(&mut call).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n";
        stream.write_all(head).await.unwrap();
        drive(&mut call, || setup.clock.alive() == 0).await;
        setup.clock.advance(DEADLINE * 2);
        drive(&mut call, || true).await;
        stream.write_all(b"late").await.unwrap();
        assert_eq!(in_time(call).await.unwrap().body, "late");
    }
}
