//! A call that is dropped leaves nothing behind, wherever it was.

use super::server::{Act, Answer, FaultServer, IN_VAIN};
use super::stacks::clients::{
    Call, Client, SECOND, STACKS, Setup, Stack, drive, drive_to, fixed, get, hyper, in_time,
};
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

/// A server, a client on a clock that stands still, and how many tasks there were before the first call.
struct Scene {
    server: FaultServer,
    setup: Setup,
    client: Client,
    tasks: usize,
}

/// What a dropped call may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    requests: usize,
    /// Connections that wait in the client's pool.
    idle: usize,
    tokens: u64,
}

const ALL_TOKENS: u64 = 20;
const DRAIN: Duration = SECOND;
const DELAY: Duration = Duration::from_secs(5);

impl Scene {
    async fn new(stack: Stack, observed: bool, acts: impl IntoIterator<Item = Act>) -> Self {
        let mut setup = Setup::new(fixed(2, DELAY));
        setup.observed = observed;
        Self {
            server: FaultServer::start(acts).await,
            client: Client::new(stack, &setup),
            setup,
            tasks: tasks(),
        }
    }

    fn call(&self) -> Call {
        self.client.call(get(self.server.url("/")))
    }

    fn has_paid(&self) {
        let tokens = self.setup.tokens();
        assert_eq!(tokens, ALL_TOKENS - 1, "the retry is paid for");
    }

    /// The client keeps its idle connections and nothing else, and time changes nothing any more; without the client and
    /// the server there is nothing at all.
    async fn leaves(self, left: Left) {
        tasks_become(self.tasks + 2 * left.idle).await;
        self.setup.clock.advance(SECOND * 3_600);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let found = Left {
            requests: self.server.received().len(),
            idle: self.server.open(),
            tokens: self.setup.tokens(),
        };
        assert_eq!(found, left);
        assert_eq!(self.setup.clock.alive(), 0, "a timer is left");
        assert_eq!(tasks(), self.tasks + 2 * left.idle);
        drop(self);
        tasks_become(0).await;
    }
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

async fn tasks_become(wanted: usize) {
    let become_so = async {
        while tasks() != wanted {
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::time::timeout(IN_VAIN, become_so).await;
    assert!(done.is_ok(), "{} tasks instead of {wanted}", tasks());
}

fn stacks() -> impl Iterator<Item = (Stack, bool)> {
    STACKS
        .into_iter()
        .flat_map(|stack| [(stack, false), (stack, true)])
}

const fn left(requests: usize, idle: usize, tokens: u64) -> Left {
    Left {
        requests,
        idle,
        tokens,
    }
}

/// On each stack a call is dropped where `until` brings it.
async fn dropped(acts: fn() -> Vec<Act>, left: Left, until: impl AsyncFn(&Scene, &mut Call)) {
    for (stack, observed) in stacks() {
        let scene = Scene::new(stack, observed, acts()).await;
        let mut call = scene.call();
        until(&scene, &mut call).await;
        drop(call);
        scene.leaves(left).await;
    }
}

fn unavailable() -> Act {
    Act::status(503)
}

#[tokio::test]
async fn before_it_was_polled_nothing_was_sent() {
    dropped(Vec::new, left(0, 0, ALL_TOKENS), async |_, _| {}).await;
}

#[tokio::test]
async fn while_a_tls_handshake_is_not_answered() {
    dropped(Vec::new, left(0, 0, ALL_TOKENS), async |scene, call| {
        let url = format!("https://{}/", scene.server.address());
        *call = scene.client.call(get(url));
        drive(call, || scene.server.open() == 1).await;
    })
    .await;
}

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

/// More than any socket takes in while nobody reads.
const LARGE: usize = 64 * 1024 * 1024;

#[tokio::test]
async fn while_a_large_body_is_sent_to_a_server_that_does_not_read() {
    for (stack, observed) in stacks() {
        let mut setup = Setup::new(fixed(2, Duration::ZERO));
        setup.observed = observed;
        let client = Client::new(stack, &setup);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
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

#[tokio::test]
async fn while_the_head_is_awaited() {
    let acts = || vec![Act::StallHead];
    dropped(acts, left(1, 0, ALL_TOKENS), async |scene, call| {
        drive_to(call, &scene.server, 1).await;
    })
    .await;
}

#[tokio::test]
async fn while_the_head_of_a_retry_is_awaited_whose_token_is_spent() {
    let acts = || vec![unavailable(), Act::StallHead];
    dropped(acts, left(2, 0, ALL_TOKENS - 1), async |scene, call| {
        drive(call, || scene.setup.clock.begun().len() == 2).await;
        scene.setup.clock.advance(DELAY);
        drive_to(call, &scene.server, 2).await;
    })
    .await;
}

#[tokio::test]
async fn while_a_stalled_error_body_is_read() {
    let acts = || vec![Act::StallBody(503)];
    dropped(acts, left(1, 0, ALL_TOKENS), async |scene, call| {
        drive(call, || scene.setup.clock.begun() == [DRAIN]).await;
        scene.has_paid();
    })
    .await;
}

#[tokio::test]
async fn while_it_waits_for_its_time() {
    let acts = || vec![unavailable()];
    dropped(acts, left(1, 1, ALL_TOKENS), async |scene, call| {
        drive(call, || scene.setup.clock.begun() == [DRAIN, DELAY]).await;
        scene.has_paid();
        assert_eq!(scene.setup.clock.alive(), 1);
    })
    .await;
}

#[tokio::test]
async fn while_it_waits_for_the_time_that_the_server_asked_for() {
    let acts = || vec![Act::Answer(Answer::new(429).header("retry-after", "30"))];
    dropped(acts, left(1, 1, ALL_TOKENS), async |scene, call| {
        let latest = || scene.setup.clock.begun().last().copied();
        drive(call, || latest() >= Some(SECOND * 30)).await;
    })
    .await;
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
