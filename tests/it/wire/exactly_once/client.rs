//! The client of a schedule.

use super::schedule::{Redirects, Schedule};
use crate::wire::connections::client::{Client, Settings, Speaks, Stack, without_waits};
use crate::wire::redirects::client::{State, plain};
use crate::wire::schedules::{STALLS, Steered};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use reqwest_middleware::ClientBuilder;
use tower::Layer;

pub(super) fn of(schedule: &Schedule, runtime: Steered) -> Client {
    let policy = policy(schedule.max_retries);
    match (schedule.stack, schedule.redirects) {
        (Stack::Reqwest, Redirects::Watched | Redirects::Unknown) => {
            following(schedule, policy, runtime)
        }
        _ => {
            let bare = schedule.stack.bare(Speaks::Http1);
            bare.with_retries(settings(schedule, runtime))
        }
    }
}

pub(super) fn settings(schedule: &Schedule, runtime: Steered) -> Settings<Steered> {
    Settings {
        policy: policy(schedule.max_retries),
        runtime,
        drain: (128 * 1024, STALLS),
    }
}

pub(super) fn policy(max_retries: u32) -> RetryPolicy {
    let builder = without_waits(max_retries).to_builder();
    builder.attempt_timeout(STALLS).build().unwrap()
}

/// A client that follows redirects, by either adapter.
fn following(schedule: &Schedule, policy: RetryPolicy, runtime: Steered) -> Client {
    let watched = schedule.redirects == Redirects::Watched;
    let plain = plain(if watched {
        State::Watched
    } else {
        State::Unknown
    });
    if schedule.by_layer {
        let retries = RetryLayer::new(policy)
            .budget(RetryBudget::unlimited())
            .drain_before_retry(128 * 1024, STALLS)
            .runtime(runtime);
        let retries = if watched {
            retries.redirects_watched()
        } else {
            retries
        };
        return Client::ReqwestLayer(retries.layer(plain));
    }
    let retries = RetryMiddleware::new(policy)
        .budget(RetryBudget::unlimited())
        .drain_before_retry(128 * 1024, STALLS)
        .runtime(runtime);
    let retries = if watched {
        retries.redirects_watched().plain_requests()
    } else {
        retries
    };
    Client::Reqwest(ClientBuilder::new(plain).with(retries).build())
}
