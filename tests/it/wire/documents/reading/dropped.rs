//! Calls that are dropped while an error body is read.

use super::super::super::connections::client::Speaks;
use super::super::super::connections::http2_server::{self, Http2Server};
use super::super::super::server::{Act, FaultServer};
use super::super::super::stacks::clients::drive;
use super::super::stacks::{Kit, STACKS, Stack, get};
use super::{READING, drive_to_the_rest, looking, still};
use crate::in_time::in_time;
use std::pin::pin;

/// The tokens that are left, told by another request.
async fn tokens(kit: &Kit, server: &FaultServer) -> u32 {
    let told = still(&kit.client(Stack::Boxed), get(&server.url("/"))).await;
    let left = told.report.unwrap().tokens_left.unwrap();
    (0..=10).find(|number| left == (*number).into()).unwrap()
}

#[tokio::test]
async fn a_call_that_is_dropped_while_it_reads_leaves_nothing_behind() {
    for stack in STACKS {
        let acts = [Act::status(503), Act::StallBody(503)];
        let server = FaultServer::start(acts).await;
        let kit = looking("retry");
        let client = kit.client(stack);
        {
            let mut call = pin!(client.send(get(&server.url("/"))));
            let reads = || kit.clock.limits().last() == Some(&READING) && kit.clock.alive() > 0;
            drive(&mut call, || server.received().len() == 2 && reads()).await;
        }
        assert_eq!(kit.clock.alive(), 0, "{stack:?}");
        in_time(server.until(|server| server.open() == 0)).await;
        assert_eq!(server.received().len(), 2, "{stack:?}");
        // The retry that was sent is paid for, and none that was not.
        assert_eq!(tokens(&kit, &server).await, 9, "{stack:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_before_its_retry_gets_the_token_back() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let kit = looking("retry");
        let client = kit.client(stack);
        {
            let mut call = pin!(client.send(get(&server.url("/"))));
            drive_to_the_rest(&mut call, &kit).await;
            kit.clock.advance(READING);
            drive(&mut call, || kit.clock.limits().len() == 2).await;
        }
        assert_eq!(kit.clock.alive(), 0, "{stack:?}");
        in_time(server.until(|server| server.open() == 0)).await;
        assert_eq!(server.received().len(), 1, "{stack:?}");
        assert_eq!(tokens(&kit, &server).await, 10, "{stack:?}");
    }
}

#[tokio::test]
async fn over_http2_a_dropped_call_resets_only_its_stream() {
    for stack in STACKS {
        let server = Http2Server::start([http2_server::Act::StallBody(503)]).await;
        let kit = looking("retry").speaking(Speaks::Http2);
        let client = kit.client(stack);
        {
            let mut call = pin!(client.send(get(&server.url("/"))));
            drive_to_the_rest(&mut call, &kit).await;
        }
        assert_eq!(kit.clock.alive(), 0, "{stack:?}");
        in_time(server.until(|server| server.received()[0].reset.is_some())).await;
        let told = still(&client, get(&server.url("/"))).await;
        assert_eq!((told.status(), server.connections()), (200, 1), "{stack:?}");
    }
}
