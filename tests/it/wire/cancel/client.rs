//! A call that is dropped while something of the caller's own keeps it: a connector, a service below, a stream.

use super::super::server::{Act, FaultServer};
use super::super::stacks::clients::{
    Client, SECOND, Setup, Stack, drive, drive_to, fixed, get, hyper,
};
use super::{ALL_TOKENS, DELAY, Scene, left, tasks, tasks_become, unavailable};
use crate::in_time::in_time;
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::future::pending;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

#[tokio::test]
async fn while_a_connector_never_finishes() {
    let connecting = Arc::new(());
    let held = Arc::downgrade(&connecting);
    let connector = tower::service_fn(move |_: Uri| {
        let connecting = Arc::clone(&connecting);
        Box::pin(async move {
            let never = pending::<io::Result<TokioIo<TcpStream>>>().await;
            drop(connecting);
            never
        })
    });
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
    let setup = Setup::new(fixed(2, DELAY));
    let service = setup.layer().layer(client);
    let connectors = || held.strong_count();

    let before = connectors();
    let request = get("http://host.invalid/".into()).map(Full::new);
    let mut call = Box::pin(service.clone().oneshot(request));
    drive(&mut call, || connectors() > before).await;
    drop(call);
    assert_eq!(connectors(), before, "the connection is still being made");
    tasks_become(0).await;
    assert_eq!((setup.tokens(), setup.clock.alive()), (ALL_TOKENS, 0));
}

#[tokio::test]
async fn while_the_service_below_is_not_ready_for_the_retry() {
    for deadline in [None, Some(SECOND * 60)] {
        let policy = fixed(2, DELAY).deadline(deadline);
        let setup = Setup::new(policy);
        let server = FaultServer::start([unavailable(), Act::StallHead]).await;
        let before = tasks();
        let limited = ConcurrencyLimitLayer::new(1).layer(hyper());
        let service = ServiceBuilder::new()
            .layer(setup.layer())
            .service(limited.clone());
        let request = || get(server.url("/")).map(Full::new);

        let mut call = Box::pin(service.oneshot(request()));
        let slept = || setup.clock.begun().contains(&DELAY);
        drive(&mut call, slept).await;
        let mut neighbour = Box::pin(limited.clone().oneshot(request()));
        drive_to(&mut neighbour, &server, 2).await;
        setup.clock.advance(DELAY);
        drive(&mut call, || {
            setup.clock.alive() == usize::from(deadline.is_some())
        })
        .await;
        assert_eq!(setup.tokens(), ALL_TOKENS - 1, "the retry is paid for");
        drop(call);

        assert_eq!((setup.tokens(), setup.clock.alive()), (ALL_TOKENS, 0));
        drop(neighbour);
        tasks_become(before).await;
        assert_eq!(server.received().len(), 2);
        assert_a_permit_is_free(limited).await;
    }
}

async fn assert_a_permit_is_free<S: Service<Request<Full<Bytes>>>>(mut limited: S) {
    assert!(in_time(limited.ready()).await.is_ok());
}

#[tokio::test]
async fn while_the_callers_own_stream_has_nothing_to_send() {
    let scene = Scene::new(Stack::Middleware, false, [Act::StallHead]).await;
    let Client::Middleware(client) = &scene.client else {
        return;
    };
    let stream = Arc::new(());
    let held = Arc::downgrade(&stream);
    let chunks = futures_util::stream::unfold(stream, |stream| async move {
        pending::<()>().await;
        Some((Ok::<_, io::Error>(Bytes::new()), stream))
    });
    let body = reqwest::Body::wrap_stream(chunks);
    let mut call = Box::pin(client.put(scene.server.url("/")).body(body).send());
    drive(&mut call, || scene.server.received().len() == 1).await;
    drop(call);
    scene.leaves(left(1, 0, ALL_TOKENS)).await;
    assert_eq!(held.strong_count(), 0, "the stream is still held");
}
