//! The same with bodies that fail on the way, by any error that a source of bytes may have: what may have been
//! processed is not sent again, whatever the error says of its source.

use super::super::connections::client::{Settings, Speaks, bare_reqwest};
use super::super::own_bodies::failing::{FAILURES, Failing, Failure, Sources};
use super::super::schedules::{InVain, play_all, unless_lost};
use super::super::server::{Act, Received};
use super::schedule::{Kind, Schedule, refuses};
use super::{FEW, Steered, sent};
use crate::random::Random;
use http_retry::RetryBudget;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use std::ops::AddAssign;
use tokio::sync::OnceCell;
use tower::{Layer, ServiceExt, service_fn};

/// One request, and the attempts whose body fails.
#[derive(Debug)]
struct Fails {
    schedule: Schedule,
    /// How many of its bytes an attempt sends, and how its body fails after them; the last entry repeats.
    bodies: Vec<(usize, Option<Failure>)>,
}

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Requests that must be processed once, sent in part and not again although attempts were left.
    left_alone: usize,
    /// Requests that must be processed once, sent again after a refusal.
    sent_again: usize,
    /// Requests whose body failed, and which arrived whole in the end.
    arrived: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.left_alone += other.left_alone;
        self.sent_again += other.sent_again;
        self.arrived += other.arrived;
    }
}

impl Fails {
    fn of(seed: usize) -> Self {
        let schedule = Schedule::of(Kind::Plain, seed);
        let mut random = Random::of(seed as u64 + (1 << 33));
        let length = schedule.body().len();
        let bodies = 0..1 + random.below(4);
        let body = |random: &mut Random| {
            if random.one_in(2) {
                return (length, None);
            }
            let sent = random.below(length as u64 + 1);
            let failure = random.one_of(&FAILURES);
            (usize::try_from(sent).unwrap(), Some(failure))
        };
        Self {
            bodies: bodies.map(|_| body(&mut random)).collect(),
            schedule,
        }
    }

    fn body(&self, sources: &Sources) -> Failing {
        Failing::planned(self.schedule.body(), self.bodies.clone(), sources)
    }

    async fn play(
        &self,
        sources: &Sources,
        by_reqwest: bool,
    ) -> Result<(Option<u16>, Vec<Received>), InVain> {
        sent(
            &self.schedule,
            |settings: Settings<Steered>, url| async move {
                let retries = RetryLayer::new(settings.policy)
                    .budget(RetryBudget::unlimited())
                    .drain_before_retry(settings.drain.0, settings.drain.1)
                    .runtime(settings.runtime);
                let request = self.schedule.request_of(&url, self.body(sources));
                if !by_reqwest {
                    let client = legacy::Client::builder(TokioExecutor::new()).build_http();
                    let answer = retries.layer(client).oneshot(request).await.ok()?;
                    return Some(answer.status().as_u16());
                }
                let client = bare_reqwest(Speaks::Http1);
                // A request of reqwest is made of each attempt, with a body of its own.
                let service = service_fn(move |request: http::Request<Failing>| {
                    let request = request.map(reqwest::Body::wrap).try_into();
                    let sent = client.execute(request.unwrap());
                    async move { sent.await.map(http::Response::<reqwest::Body>::from) }
                });
                let retries = retries.redirects_off();
                let answer = retries.layer(service).oneshot(request).await.ok()?;
                Some(answer.status().as_u16())
            },
        )
        .await
    }

    fn seen(&self, seed: usize, outcome: Result<(Option<u16>, Vec<Received>), InVain>) -> Seen {
        let (status, received) = outcome
            .unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}: {self:#?}"));
        let complain = |what: &str| {
            panic!("HTTP_RETRY_SEED={seed}: {what}: {status:?}, {self:#?}, {received:#?}")
        };
        let attempts = self.schedule.max_retries as usize + 1;
        if received.len() > attempts {
            complain("sent too often");
        }
        let whole = || received.iter().filter(|request| request.whole);
        if whole().any(|request| request.body != self.schedule.body()) {
            complain("another body arrived");
        }
        let once = self.schedule.is_once_only();
        let doubtful = received.iter().filter(|request| !was_refused(request));
        if once && doubtful.count() > 1 {
            complain("sent twice");
        }
        let again = received.len() > 1;
        let has_failed = received.iter().any(|request| !request.whole);
        Seen {
            left_alone: usize::from(once && has_failed && !again && attempts > 1),
            sent_again: usize::from(once && again),
            arrived: usize::from(has_failed && whole().next().is_some()),
        }
    }
}

/// Whether the server has told the client that it did not process this request.
fn was_refused(request: &Received) -> bool {
    let act = request.act.as_ref();
    let is_early = matches!(act, Some(Act::AnswerEarly(_)));
    act.is_some_and(refuses) && (request.whole || is_early)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_whose_own_body_fails_is_sent_once() {
    static SOURCES: OnceCell<Sources> = OnceCell::const_new();
    let play = |seed| async move {
        let sources = SOURCES.get_or_init(Sources::start).await;
        let fails = Fails::of(seed);
        let outcome = unless_lost(|| fails.play(sources, seed % 2 == 0)).await;
        fails.seen(seed, outcome)
    };
    let Some(seen) = play_all::<Seen, _>(FEW, play).await else {
        return;
    };
    let enough = seen.left_alone > 8 && seen.sent_again > 4 && seen.arrived > 6;
    assert!(enough, "{seen:?}");
}
