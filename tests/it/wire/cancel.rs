//! A call that is dropped leaves nothing behind, wherever it was.

mod client;
mod large_body;

use super::server::{Act, Answer, FaultServer};
use super::stacks::clients::{
    Call, Client, SECOND, STACKS, Setup, Stack, drive, drive_to, fixed, get,
};
use crate::in_time::IN_VAIN;
use std::time::Duration;
use tokio::runtime::Handle;

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
        drive(call, || scene.setup.clock.begun().contains(&DELAY)).await;
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
        drive(call, || scene.setup.clock.begun().contains(&DELAY)).await;
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
