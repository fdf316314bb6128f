//! How long it takes until all members of a fleet know of a gate that one of them closed.

use crate::member::{Request, fleet, joins, percentile, status};
use crate::server::Server;
use crate::steps::micros;
use crate::table::{self, Target};
use futures_util::FutureExt;
use http_retry::RetryPolicy;
use http_retry::fleet::Fleet;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tower::{Layer, ServiceExt};

const MEMBERS: usize = 200;
/// Each on a service that nobody was refused by before.
const ROUNDS: usize = 10;
const MOST: f64 = 10_000.0;
/// So many refusals in a row close a gate.
const VOTE: usize = 4;
/// And so many members may then send a probe, which opens it again.
const PROBES: usize = 2;
/// By then each has told of its first success. The members of a real fleet do not begin in the same moment.
const SETTLES: Duration = Duration::from_millis(500);
/// One in so many is looked at, so often.
const EACH: usize = 10;
const LOOKS: Duration = Duration::from_micros(500);

/// The members talk to the server on one thread, and are looked at on another.
pub(crate) fn measure(server: &Server) {
    let mut tokio = Builder::new_multi_thread();
    let tokio = tokio.worker_threads(1).enable_all().build().unwrap();
    let mut took = tokio.block_on(rounds(server));
    took.sort();
    for (percent, target) in [
        (50, Target::None),
        (99, Target::AtMost(MOST)),
        (100, Target::None),
    ] {
        let name = match percent {
            100 => "max".to_owned(),
            percent => format!("p{percent}"),
        };
        let what = format!("a closed gate told to 200 members, {name}, us");
        table::alone(&what, micros(percentile(&took, percent)), target);
    }
}

async fn rounds(server: &Server) -> Vec<Duration> {
    let members: Vec<_> = (0..MEMBERS).map(|_| Member::of(fleet(server))).collect();
    let mut took = Vec::new();
    for round in 0..ROUNDS {
        let uri = format!("http://told-{round}.example/");
        for member in &members {
            assert!(member.is_let_through(&uri, 200));
        }
        for member in &members {
            joins(&member.fleet).await;
        }
        tokio::time::sleep(SETTLES).await;
        took.extend(told(&members, &uri));
    }
    took
}

/// The first gets a few 429s; when others hold their calls back. Some are looked at, every half millisecond: all of them, or more
/// often, would take the processor from the members that are to hear of it.
fn told(members: &[Member], uri: &str) -> Vec<Duration> {
    let (first, others) = members.split_first().unwrap();
    let reported = Instant::now();
    // A vote. The calls go on to wait for their retries.
    for _ in 0..VOTE {
        assert!(!first.is_let_through(uri, 429));
    }
    let mut left: Vec<_> = others.iter().step_by(EACH).collect();
    let mut took = Vec::new();
    while left.len() > PROBES {
        left.retain(|member| {
            let goes_on = member.is_let_through(uri, 200);
            if !goes_on {
                took.push(reported.elapsed());
            }
            goes_on
        });
        assert!(
            reported.elapsed() < Duration::from_secs(5),
            "{}",
            left.len()
        );
        std::thread::sleep(LOOKS);
    }
    took
}

struct Member {
    fleet: Fleet,
    layer: RetryLayer,
}

impl Member {
    fn of(fleet: Fleet) -> Self {
        let layer = RetryLayer::new(RetryPolicy::rate_limited()).fleet(&fleet);
        Self { fleet, layer }
    }

    /// Whether a call that is answered so is over without any wait.
    fn is_let_through(&self, uri: &str, code: u16) -> bool {
        let service = tower::service_fn(move |_: Request| {
            let mut answer = status(code);
            if code == 429 {
                let pause = http::HeaderValue::from_static("30");
                answer.headers_mut().insert("retry-after", pause);
            }
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        let request = http::Request::get(uri).body(String::new()).unwrap();
        let call = self.layer.layer(service).oneshot(request);
        call.now_or_never().is_some()
    }
}
