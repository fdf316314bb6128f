//! The same with bodies whose clones share what they hold: what arrives whole is what was meant.

use super::super::connections::client::{Settings, Speaks, bare_reqwest};
use super::super::schedules::{InVain, play_all, unless_lost};
use super::super::server::Received;
use super::super::shared_body::{Hint, Shared};
use super::schedule::{Kind, Schedule, refuses};
use super::{SCHEDULES, Steered, sent};
use http_retry::RetryBudget;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::net::TcpStream;
use tower::{Layer, ServiceExt, service_fn};

const HINTS: [Hint; 4] = [
    Hint::Right,
    Hint::NoLength,
    Hint::NeverAtItsEnd,
    Hint::FirstForEver,
];

/// One request with a shared body.
#[derive(Debug)]
struct Shares {
    schedule: Schedule,
    hint: Hint,
    /// So many attempts cannot connect.
    refused: usize,
}

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Bodies that were not read by an attempt that could not connect, and arrived.
    unread: usize,
    /// Requests that reached the server more than once.
    sent_again: usize,
    /// Requests that did not, although that would do no harm and attempts were left.
    left_alone: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.unread += other.unread;
        self.sent_again += other.sent_again;
        self.left_alone += other.left_alone;
    }
}

impl Shares {
    fn of(seed: usize) -> Self {
        Self {
            schedule: Schedule::of(Kind::Plain, seed),
            hint: HINTS[seed / 2 % HINTS.len()],
            refused: usize::from(seed % 3 == 0),
        }
    }

    fn body(&self) -> Shared {
        Shared::new(&self.schedule.body(), self.hint)
    }

    async fn by_hyper(&self) -> Result<(Option<u16>, Vec<Received>), InVain> {
        sent(&self.schedule, |settings, url| async move {
            let refused = Arc::new(AtomicUsize::new(self.refused));
            let connect = service_fn(move |to: http::Uri| {
                let refused = Arc::clone(&refused);
                Box::pin(async move {
                    if refused.load(Relaxed) > 0 {
                        refused.fetch_sub(1, Relaxed);
                        return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                    }
                    let address = to.authority().map(ToString::to_string);
                    let stream = TcpStream::connect(address.unwrap_or_default()).await;
                    stream.map(TokioIo::new)
                })
            });
            let client = legacy::Client::builder(TokioExecutor::new()).build(connect);
            let Settings {
                policy,
                runtime,
                drain,
            } = settings;
            let retries = RetryLayer::new(policy)
                .budget(RetryBudget::unlimited())
                .drain_before_retry(drain.0, drain.1)
                .runtime(runtime);
            let request = self.schedule.request_of(&url, self.body());
            let answer = retries.layer(client).oneshot(request).await.ok()?;
            Some(answer.status().as_u16())
        })
        .await
    }

    /// On reqwest a body that is no text and no bytes is a stream, and is recorded.
    async fn by_reqwest(&self) -> Result<(Option<u16>, Vec<Received>), InVain> {
        sent(
            &self.schedule,
            |settings: Settings<Steered>, url| async move {
                let retries = RetryMiddleware::new(settings.policy)
                    .budget(RetryBudget::unlimited())
                    .drain_before_retry(settings.drain.0, settings.drain.1)
                    .redirects_off()
                    .runtime(settings.runtime);
                let client = bare_reqwest(Speaks::Http1);
                let client = reqwest_middleware::ClientBuilder::new(client);
                let client = client.with(retries).build();
                let body = reqwest::Body::wrap(self.body());
                let request = self.schedule.request_of(&url, body);
                let answer = client.execute(request.try_into().ok()?).await.ok()?;
                Some(answer.status().as_u16())
            },
        )
        .await
    }

    fn seen(
        &self,
        seed: usize,
        outcome: Result<(Option<u16>, Vec<Received>), InVain>,
        refused: usize,
    ) -> Seen {
        let (status, received) = outcome
            .unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}: {self:#?}"));
        let complain = |what: &str| {
            panic!("HTTP_RETRY_SEED={seed}: {what}: {status:?}, {self:#?}, {received:#?}")
        };
        let Schedule { max_retries, .. } = self.schedule;
        let attempts = max_retries as usize + 1;
        let whole = || received.iter().filter(|request| request.whole);
        let processed = whole().filter(|request| !request.act.as_ref().is_some_and(refuses));
        if received.len() > attempts {
            complain("sent too often");
        }
        if whole().any(|request| request.body != self.schedule.body()) {
            complain("another body arrived");
        }
        if self.schedule.is_once_only() && processed.count() > 1 {
            complain("processed twice");
        }
        let again = received.len() > 1;
        let may_again = !self.schedule.is_once_only() && received.len() < attempts;
        let arrived = whole().next().is_some() && !self.schedule.body().is_empty();
        Seen {
            unread: usize::from(refused > 0 && arrived),
            sent_again: usize::from(again),
            left_alone: usize::from(!again && may_again && self.schedule.acts.len() > 1),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_hyper_no_body_arrives_that_its_first_attempt_has_lost() {
    let play = |seed| async move {
        let shares = Shares::of(seed);
        let outcome = unless_lost(|| shares.by_hyper()).await;
        shares.seen(seed, outcome, shares.refused)
    };
    let Some(seen) = play_all::<Seen, _>(SCHEDULES, play).await else {
        return;
    };
    let enough = seen.unread > 300 && seen.sent_again > 1_000 && seen.left_alone > 1_000;
    assert!(enough, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_reqwest_a_shared_body_is_recorded_and_arrives_whole() {
    let play = |seed| async move {
        let shares = Shares::of(seed);
        let outcome = unless_lost(|| shares.by_reqwest()).await;
        shares.seen(seed, outcome, 0)
    };
    let Some(seen) = play_all::<Seen, _>(SCHEDULES / 5, play).await else {
        return;
    };
    assert!(seen.sent_again > 500, "{seen:?}");
}
