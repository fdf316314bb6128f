//! The same with attempts that are several requests, the request itself and a record of it: what may have been
//! processed is not sent again because the record was refused.

use super::super::connections::client::{Settings, Speaks, bare_hyper, bare_reqwest};
use super::super::schedules::{InVain, play_all, unless_lost};
use super::super::server::{Act, FaultServer, Received};
use super::schedule::{Kind, Schedule, refuses};
use super::{FEW, Steered, sent};
use crate::listening::nobody;
use http_body_util::Full;
use http_retry::reqwest::RetryMiddleware;
use http_retry::run::Runner;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, attempt};
use hyper_util::client::legacy;
use reqwest_middleware::ClientBuilder;
use std::ops::AddAssign;
use tower::{Layer, ServiceExt, service_fn};

/// Who sends the record beside the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// A service below the layer, which reports it.
    Service,
    /// A middleware below, which reports it.
    Middleware,
    /// An operation of two steps.
    Operation,
    /// An operation that sends the request alone, and says so.
    OneRequest,
}

const BY: [By; 4] = [By::Service, By::Middleware, By::Operation, By::OneRequest];

#[derive(Debug)]
struct Several {
    schedule: Schedule,
    by: By,
    /// What the server of the records does; none where nobody listens.
    records: Option<Vec<Act>>,
}

/// What was seen in many schedules, so that none of the rules was kept for want of a case.
#[derive(Debug, Default)]
struct Seen {
    /// Requests that must be processed once and were, after which the record failed although attempts were left.
    left_alone: usize,
    /// Requests that must be processed once, sent again because the server refused them.
    sent_again: usize,
    /// Requests that were processed more than once, without harm.
    repeated: usize,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.left_alone += other.left_alone;
        self.sent_again += other.sent_again;
        self.repeated += other.repeated;
    }
}

/// Without a stall, which only the limit of an attempt ends: the last attempt of an operation has none.
fn acts(seed: usize) -> Vec<Act> {
    let acts = Schedule::of(Kind::Plain, seed).acts.into_iter();
    let ends = |act| match act {
        Act::StallHead | Act::StallBody(_) => Act::CloseAfterRequest,
        act => act,
    };
    acts.map(ends).collect()
}

impl Several {
    fn of(seed: usize) -> Self {
        let mut schedule = Schedule::of(Kind::Plain, seed);
        schedule.acts = acts(seed);
        Self {
            by: BY[seed / 2 % BY.len()],
            records: (seed % 3 > 0).then(|| acts(usize::MAX - seed)),
            schedule,
        }
    }

    async fn play(&self) -> Result<(Option<u16>, Vec<Received>), InVain> {
        let (_nobody, refusing) = nobody();
        let records = match &self.records {
            Some(acts) => Some(FaultServer::start(acts.clone()).await),
            None => None,
        };
        let record = match &records {
            Some(records) => records.url("/record"),
            None => format!("http://{refusing}/record"),
        };
        sent(&self.schedule, |settings, url| async move {
            match self.by {
                By::Service => self.by_service(settings, url, record).await,
                By::Middleware => self.by_middleware(settings, url, record).await,
                By::Operation | By::OneRequest => self.by_operation(settings, url, record).await,
            }
        })
        .await
    }

    async fn by_service(
        &self,
        settings: Settings<Steered>,
        url: String,
        record: String,
    ) -> Option<u16> {
        let client = bare_hyper(Speaks::Http1);
        let service = service_fn(move |request: http::Request<Full<bytes::Bytes>>| {
            let (client, record) = (client.clone(), record.clone());
            async move {
                let response = client.request(request).await?;
                if !response.status().is_success() {
                    return Ok(response);
                }
                attempt::sent();
                let record = http::Request::post(record).body(Full::default()).unwrap();
                let recorded = client.request(record).await?;
                Ok::<_, legacy::Error>(if recorded.status().is_success() {
                    response
                } else {
                    recorded
                })
            }
        });
        let layer = RetryLayer::new(settings.policy)
            .budget(RetryBudget::unlimited())
            .drain_before_retry(settings.drain.0, settings.drain.1)
            .runtime(settings.runtime);
        let request = self
            .schedule
            .request_of(&url, Full::new(self.schedule.body()));
        let response = layer.layer(service).oneshot(request).await.ok()?;
        Some(response.status().as_u16())
    }

    async fn by_middleware(
        &self,
        settings: Settings<Steered>,
        url: String,
        record: String,
    ) -> Option<u16> {
        let retries = RetryMiddleware::new(settings.policy)
            .budget(RetryBudget::unlimited())
            .drain_before_retry(settings.drain.0, settings.drain.1)
            .redirects_off()
            .runtime(settings.runtime);
        let client = ClientBuilder::new(bare_reqwest(Speaks::Http1));
        let client = client.with(retries).with(Records(record)).build();
        let request = self.schedule.request(&url).map(reqwest::Body::from);
        let response = client.execute(request.try_into().ok()?).await.ok()?;
        Some(response.status().as_u16())
    }

    async fn by_operation(
        &self,
        settings: Settings<Steered>,
        url: String,
        record: String,
    ) -> Option<u16> {
        let client = bare_reqwest(Speaks::Http1);
        let runner = Runner::on(settings.runtime, settings.policy).redirects_off();
        let runner = runner
            .budget(RetryBudget::unlimited())
            .idempotent(!self.schedule.is_once_only());
        let alone = self.by == By::OneRequest;
        let runner = if alone { runner.one_request() } else { runner };
        let ran = runner.run_by_policy(|_| {
            let request = self.schedule.request(&url).map(reqwest::Body::from);
            let sent = client.execute(request.try_into().unwrap());
            let recorded = client.post(&record);
            async move {
                let response = sent.await?.error_for_status()?;
                if !alone {
                    recorded.send().await?.error_for_status()?;
                }
                Ok::<_, reqwest::Error>(response.status().as_u16())
            }
        });
        ran.await.ok()
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
        let whole = received.iter().filter(|request| request.whole);
        let processed = whole.filter(|request| !request.act.as_ref().is_some_and(refuses));
        let processed = processed.count();
        let once = self.schedule.is_once_only();
        if once && processed > 1 {
            complain("processed twice");
        }
        let failed = status.is_none_or(|status| status >= 400);
        Seen {
            left_alone: usize::from(once && processed == 1 && failed && received.len() < attempts),
            sent_again: usize::from(once && received.len() > 1),
            repeated: usize::from(processed > 1),
        }
    }
}

/// Sends a record of every success.
struct Records(String);

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Records {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let response = next.clone().run(request, extensions).await?;
        if !response.status().is_success() {
            return Ok(response);
        }
        attempt::sent();
        let url = self.0.parse().unwrap();
        let record = reqwest::Request::new(http::Method::POST, url);
        let recorded = next.run(record, extensions).await?;
        Ok(if recorded.status().is_success() {
            response
        } else {
            recorded
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_processed_once_whatever_becomes_of_its_record() {
    let play = |seed| async move {
        let several = Several::of(seed);
        let outcome = unless_lost(|| several.play()).await;
        several.seen(seed, outcome)
    };
    let Some(seen) = play_all::<Seen, _>(FEW, play).await else {
        return;
    };
    let enough = seen.left_alone > 40 && seen.sent_again > 6 && seen.repeated > 40;
    assert!(enough, "{seen:?}");
}
