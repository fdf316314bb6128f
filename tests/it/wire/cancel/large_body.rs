//! A call that is dropped while it sends a large body to a server that does not read.

use super::super::stacks::clients::{Call, Client, Setup, fixed};
use super::{ALL_TOKENS, stacks, tasks_become};
use crate::in_time::in_time;
use crate::listening::listener;
use bytes::Bytes;
use http::Request;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// More than any socket takes in while nobody reads.
const LARGE: usize = 64 * 1024 * 1024;

#[tokio::test]
async fn while_a_large_body_is_sent_to_a_server_that_does_not_read() {
    for (stack, observed) in stacks() {
        let mut setup = Setup::new(fixed(2, Duration::ZERO));
        setup.observed = observed;
        let client = Client::new(stack, &setup);
        let listener = listener().await;
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let body = Bytes::from(vec![0; LARGE]);

        let mut call = client.call(Request::put(url).body(body).unwrap());
        let mut first = in_time(accept_meanwhile(&mut call, &listener)).await;
        in_time(refuse_meanwhile(&mut call, &mut first)).await;
        drop(first);
        let second = in_time(accept_meanwhile(&mut call, &listener)).await;
        in_time(async {
            tokio::select! {
                biased;
                ended = &mut call => panic!("the call ended: {ended:?}"),
                readable = second.readable() => readable.unwrap(),
            }
        })
        .await;
        drop(call);

        tasks_become(0).await;
        let received = in_time(read_to_end(second)).await;
        assert!(received < LARGE, "{received} of {LARGE} bytes");
        let spent = ALL_TOKENS - setup.tokens();
        assert_eq!((spent, setup.clock.alive()), (1, 0), "the retry was sent");
        assert!(more_connections(&listener).await.is_none());
    }
}

async fn accept_meanwhile(call: &mut Call, listener: &TcpListener) -> TcpStream {
    tokio::select! {
        biased;
        ended = call => panic!("the call ended: {ended:?}"),
        accepted = listener.accept() => accepted.unwrap().0,
    }
}

/// Reads a request of `LARGE` bytes, and says that the server is not available.
async fn refuse_meanwhile(call: &mut Call, stream: &mut TcpStream) {
    let mut received = 0;
    let mut bytes = vec![0; 1024 * 1024];
    while received < LARGE {
        received += tokio::select! {
            biased;
            ended = &mut *call => panic!("the call ended: {ended:?}"),
            read = stream.read(&mut bytes) => read.unwrap(),
        };
    }
    let answer = b"HTTP/1.1 503 Said\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(answer).await.unwrap();
}

async fn read_to_end(mut stream: TcpStream) -> usize {
    let mut received = 0;
    let mut bytes = vec![0; 1024 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut bytes).await {
        received += read;
    }
    received
}

/// A connection that is there already, if there is one.
async fn more_connections(listener: &TcpListener) -> Option<TcpStream> {
    tokio::select! {
        biased;
        accepted = listener.accept() => accepted.ok().map(|(stream, _)| stream),
        () = tokio::task::yield_now() => None,
    }
}
