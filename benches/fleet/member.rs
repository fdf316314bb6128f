//! One member of a fleet, and what a server has been asked so far.

use crate::server::Server;
use http_retry::fleet::Fleet;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep, TokioRuntime};
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryBudgetBuilder, RetryPolicy};
use std::convert::Infallible;
use std::time::Duration;
use tower::{Layer, ServiceExt};

pub(crate) type Request = http::Request<String>;
pub(crate) type Response = http::Response<String>;

/// A fleet that waits long for its store, which has to share the machine with all of its members.
pub(crate) fn fleet(server: &Server) -> Fleet {
    let fleet = Fleet::builder().wait(Duration::from_secs(1));
    fleet.redis(&server.url()).unwrap()
}

/// Retries once and at once, and has no gate.
pub(crate) fn impatient() -> RetryPolicy {
    let policy = RetryPolicy::builder().max_retries(1).max_gate_wait(None);
    policy.backoff(Backoff::none()).build().unwrap()
}

/// The same on a budget of these numbers in the fleet.
pub(crate) fn layer(fleet: &Fleet, name: &str, numbers: RetryBudgetBuilder) -> RetryLayer {
    let budget = fleet.budget(name, numbers).unwrap();
    RetryLayer::new(impatient()).runtime(Eager).budget(budget)
}

/// tokio's runtime, but that a wait of nothing takes no time: its timer goes by milliseconds.
pub(crate) struct Eager;

impl Runtime for Eager {
    fn now(&self) -> Duration {
        TokioRuntime.now()
    }

    fn moment(&self) -> Moment {
        TokioRuntime.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        if duration.is_zero() {
            Box::pin(std::future::ready(()))
        } else {
            TokioRuntime.sleep(duration)
        }
    }
}

/// Waits until all that was made of a fleet is shared.
pub(crate) async fn joins(fleet: &Fleet) {
    while !fleet.status().joined {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// One call, whose attempts are answered by this status.
pub(crate) async fn call<A>(layer: &RetryLayer, uri: &str, answer: A)
where
    A: Fn() -> Response + Clone + Send + Sync + 'static,
{
    let service =
        tower::service_fn(move |_: Request| std::future::ready(Ok::<_, Infallible>(answer())));
    let request = http::Request::get(uri).body(String::new()).unwrap();
    let answered = layer.layer(service).oneshot(request).await;
    drop(answered.unwrap());
}

pub(crate) fn status(code: u16) -> Response {
    let response = http::Response::builder().status(code);
    response.body(String::new()).unwrap()
}

/// The seconds of a processor that the server has used.
pub(crate) fn processor(server: &Server) -> f64 {
    let used = server.ask(&["INFO", "cpu"]).unwrap();
    let used: String = redis::from_redis_value(used).unwrap();
    let parts = ["used_cpu_sys:", "used_cpu_user:"];
    let all = used.lines().filter_map(|line| {
        let seconds = parts.iter().find_map(|part| line.strip_prefix(part))?;
        seconds.trim().parse::<f64>().ok()
    });
    all.sum()
}

/// The value below which so many of a hundred lie.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent / 100).min(sorted.len() - 1);
    sorted[rank]
}
