//! The same with a second server, to which requests fail over, or are redirected at one time and not at another: what must
//! be processed once is processed by one of them, and once.

use super::super::connections::client::{Client, Speaks, Stack, bare_hyper};
use super::super::redirects::client::{State, plain};
use super::super::schedules::{
    InVain, STALLS, Steered, all_closed, in_time, play_all, unless_lost,
};
use super::super::server::{Act, FaultServer, Received};
use super::schedule::{Kind, Redirects, Schedule, refuses};
use super::{SCHEDULES, client};
use crate::random::Random;
use http_retry::reqwest::RetryMiddleware;
use http_retry::rules::{Condition, ErrorGroup, Failover, OnExhausted, Rule};
use http_retry::services::{Service, Services};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use reqwest_middleware::ClientBuilder;
use std::ops::AddAssign;
use tower::Layer;

/// What sends a request to the other server, beside redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fails {
    Nowhere,
    /// Over to the other server once its attempts are used up.
    OnceExhausted,
    /// Over to the other server at once, after these statuses or no response.
    ByRule(u16),
}

/// One request and what two servers do to it.
#[derive(Debug)]
struct Elsewhere {
    schedule: Schedule,
    fails: Fails,
    same_keys: bool,
    /// Which redirects of the first server lead to the other one.
    leaves: Vec<bool>,
    /// What the other server does.
    there: Vec<Act>,
}

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Requests that must be processed once and arrived at both servers.
    at_both: usize,
    /// Requests that must be processed once and arrived at the first server alone, though they could have gone on.
    left_alone: usize,
    /// Requests with a key that arrived at the other server, which does not know it.
    keyed: usize,
    /// Requests that both servers processed, without harm.
    by_both: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.at_both += other.at_both;
        self.left_alone += other.left_alone;
        self.keyed += other.keyed;
        self.by_both += other.by_both;
    }
}

impl Elsewhere {
    fn of(kind: Kind, seed: usize) -> Self {
        // The client of an even schedule may follow redirects.
        let own = match kind {
            Kind::Redirects => 2 * seed,
            Kind::Plain | Kind::Proxy => seed,
        };
        let other = usize::MAX - own;
        let mut schedule = Schedule::of(kind, own);
        let mut random = Random::of(own as u64 + (1 << 32));
        // What must be processed once goes elsewhere only after refusals.
        for act in &mut schedule.acts {
            if kind == Kind::Plain && random.one_in(2) {
                *act = Act::status(random.one_of(&[408, 425, 429]));
            }
        }
        let ways = [Fails::OnceExhausted, Fails::ByRule(429), Fails::ByRule(500)];
        let may_stay = kind == Kind::Redirects && random.one_in(2);
        Self {
            fails: if may_stay {
                Fails::Nowhere
            } else {
                random.one_of(&ways)
            },
            same_keys: random.one_in(3),
            leaves: schedule.acts.iter().map(|_| random.one_in(2)).collect(),
            there: Schedule::of(kind, other).acts,
            schedule,
        }
    }

    /// What the first server does.
    fn here(&self, there: &FaultServer) -> Vec<Act> {
        let acts = self.schedule.acts.iter().cloned().zip(&self.leaves);
        let moved = acts.map(|(mut act, leaves)| {
            let fields = match &mut act {
                Act::Answer(answer) if *leaves => &mut answer.headers[..],
                _ => &mut [],
            };
            for (_, value) in fields.iter_mut().filter(|(name, _)| *name == "location") {
                *value = there.url(value).into();
            }
            act
        });
        moved.collect()
    }

    /// The policy of the first server, and the service that is the other one.
    fn services(&self, there: &FaultServer) -> Services {
        let policy = client::policy(self.schedule.max_retries);
        let other = Service::new("there", policy.clone()).base_url(there.url(""));
        let to = if self.same_keys {
            Failover::to("there").same_keys()
        } else {
            Failover::to("there")
        };
        let failed = |from: u16| {
            let failed = Condition::status(from..=599).unwrap();
            Rule::when(failed.or(Condition::error(ErrorGroup::Any))).failover(to.clone())
        };
        let builder = policy.to_builder();
        let policy: RetryPolicy = match self.fails {
            Fails::Nowhere => policy,
            Fails::OnceExhausted => {
                let then = OnExhausted::failover(to.clone());
                builder.on_exhausted(then).build().unwrap()
            }
            Fails::ByRule(from) => builder.rule(failed(from)).build().unwrap(),
        };
        let unlimited = || RetryBudget::unlimited();
        let services = Services::builder(policy).service(other.budget(unlimited()));
        services.build().unwrap()
    }

    fn client(&self, services: &Services, runtime: &Steered) -> Client {
        let redirects = self.schedule.redirects;
        let state = match redirects {
            Redirects::Off => State::Off,
            Redirects::Watched => State::Watched,
            Redirects::Unknown => State::Unknown,
        };
        let layer = || {
            let retries = RetryLayer::for_services(services).runtime(runtime.clone());
            retries.drain_before_retry(128 * 1024, STALLS)
        };
        match (self.schedule.stack, redirects) {
            (Stack::Tower, _) => Client::Tower(layer().layer(bare_hyper(Speaks::Http1))),
            (Stack::Reqwest, Redirects::Watched) if self.schedule.by_layer => {
                Client::ReqwestLayer(layer().redirects_watched().layer(plain(state)))
            }
            (Stack::Reqwest, Redirects::Unknown) if self.schedule.by_layer => {
                Client::ReqwestLayer(layer().layer(plain(state)))
            }
            (Stack::Reqwest, _) => {
                let retries = RetryMiddleware::for_services(services)
                    .drain_before_retry(128 * 1024, STALLS)
                    .runtime(runtime.clone());
                let retries = match redirects {
                    Redirects::Off => retries.redirects_off(),
                    Redirects::Watched => retries.redirects_watched(),
                    Redirects::Unknown => retries,
                };
                Client::Reqwest(ClientBuilder::new(plain(state)).with(retries).build())
            }
        }
    }

    /// What the two servers have in the end.
    async fn received(&self) -> Result<[Vec<Received>; 2], InVain> {
        let there = FaultServer::start(self.there.clone()).await;
        let here = FaultServer::start(self.here(&there)).await;
        let runtime = Steered::default();
        let client = self.client(&self.services(&there), &runtime);
        let request = self.schedule.request(&here.url(&self.schedule.path));
        let call = async {
            tokio::select! {
                answer = client.send(request) => drop(answer),
                never = runtime.cut_off_stalls(&here) => match never {},
                never = runtime.cut_off_stalls(&there) => match never {},
            }
        };
        in_time(call, &[&here, &there]).await?;
        drop(client);
        all_closed(&[&here, &there]).await?;
        Ok([here.received(), there.received()])
    }

    fn processed(&self, received: &[Received]) -> usize {
        let whole = received.iter().filter(|request| request.whole);
        let own = whole.filter(|request| self.schedule.is_own(request));
        let refused = |request: &&Received| !request.act.as_ref().is_some_and(refuses);
        own.filter(refused).count()
    }

    fn seen(&self, seed: usize, [here, there]: &[Vec<Received>; 2]) -> Seen {
        let schedule = &self.schedule;
        let complain =
            |what: &str| panic!("HTTP_RETRY_SEED={seed}: {what}: {self:#?}, {here:#?}, {there:#?}");
        let all = || here.iter().chain(there);
        let sent = all().filter(|request| !schedule.follows(request)).count();
        // Retries count anew at the other server.
        let attempts = match self.fails {
            Fails::Nowhere => schedule.max_retries as usize + 1,
            Fails::OnceExhausted | Fails::ByRule(_) => 2 * (schedule.max_retries as usize + 1),
        };
        if sent > attempts {
            complain("sent too often");
        }
        let is_known = |r: &&Received| schedule.is_own(r) || schedule.is_of_a_redirect(r);
        if !all()
            .filter(|request| request.whole)
            .all(|request| is_known(&request))
        {
            complain("another request arrived");
        }
        let (by_first, by_other) = (self.processed(here), self.processed(there));
        if schedule.is_once_only() && by_first + by_other > 1 {
            complain("processed twice");
        }
        // A redirect takes the key along: the client sends what the first server tells it to.
        let fails_over = self.fails != Fails::Nowhere && schedule.redirects == Redirects::Off;
        let unknown = schedule.is_keyed() && !self.same_keys && fails_over;
        if unknown && by_first > 0 && by_other > 0 {
            complain("processed by two servers that do not share their keys");
        }
        let may_go_on = self.fails != Fails::Nowhere && by_first > 0;
        Seen {
            at_both: usize::from(schedule.is_once_only() && !here.is_empty() && !there.is_empty()),
            left_alone: usize::from(schedule.is_once_only() && may_go_on && there.is_empty()),
            keyed: usize::from(unknown && !there.is_empty()),
            by_both: usize::from(by_first > 0 && by_other > 0),
        }
    }
}

async fn play(kind: Kind, seed: usize) -> Seen {
    let elsewhere = Elsewhere::of(kind, seed);
    let received = unless_lost(|| elsewhere.received()).await;
    let received = received
        .unwrap_or_else(|in_vain| panic!("HTTP_RETRY_SEED={seed}: {in_vain:?}: {elsewhere:#?}"));
    elsewhere.seen(seed, &received)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_fails_over_is_processed_once() {
    let plays = play_all::<Seen, _>(SCHEDULES / 5, |seed| play(Kind::Plain, seed));
    if let Some(seen) = plays.await {
        let enough = seen.at_both > 100 && seen.left_alone > 100;
        assert!(enough && seen.keyed > 10 && seen.by_both > 50, "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_whose_redirects_move_is_processed_once() {
    let plays = play_all::<Seen, _>(SCHEDULES / 5, |seed| play(Kind::Redirects, seed));
    if let Some(seen) = plays.await {
        let enough = seen.at_both > 100 && seen.left_alone > 50 && seen.by_both > 20;
        assert!(enough, "{seen:?}");
    }
}
