//! No server gets more attempts, or more time, out of a call than its policy's explanation says.

use futures_util::FutureExt;
use futures_util::future::join_all;
use http::{Request, Response, StatusCode};
use http_retry::llm::LlmPreset;
use http_retry::rules::{Condition, Counter, Rule, Wait};
use http_retry::runtime::Runtime;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{
    Backoff, Jitter, RetryBudget, RetryPolicy, RetryPolicyBuilder, RetryReport, StopReason,
};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

/// What a server does about each attempt in turn, over and over.
type Server = Vec<Act>;

#[derive(Debug, Clone, Copy)]
enum Act {
    /// Answers with this status, and asks for a wait.
    Answer(u16, Option<Duration>),
    /// Never answers.
    Hang,
}

fn built(builder: RetryPolicyBuilder) -> RetryPolicy {
    builder.build().unwrap()
}

fn presets() -> Vec<RetryPolicy> {
    vec![
        RetryPolicy::user_facing(),
        RetryPolicy::background(),
        RetryPolicy::llm(),
        RetryPolicy::rate_limited(),
        RetryPolicy::never(),
    ]
}

fn adjusted() -> Vec<RetryPolicy> {
    let timed = |policy: RetryPolicy| policy.to_builder().attempt_timeout(SECOND * 10);
    let apart = RetryPolicy::builder()
        .max_retries(2)
        .backoff(Backoff::fixed(SECOND))
        .counter(Counter::Rule);
    let overloaded = Condition::status([503]).unwrap();
    let limited = Condition::status([429]).unwrap();
    let pending = Condition::status([202]).unwrap();
    vec![
        built(RetryPolicy::builder().max_attempts(2)),
        built(timed(RetryPolicy::llm()).max_retries(5)),
        built(
            timed(RetryPolicy::rate_limited())
                .max_attempts(3)
                .max_refused(20),
        ),
        built(timed(RetryPolicy::background()).deadline(SECOND * 60)),
        built(timed(RetryPolicy::user_facing()).max_gate_wait(SECOND * 30)),
        built(
            timed(RetryPolicy::background())
                .backoff(Backoff::exponential(SECOND).jitter(Jitter::Decorrelated))
                .rule(Rule::when(overloaded).retry(built(apart.clone())))
                .rule(Rule::when(limited).retry(built(apart.max_refused(4))))
                .rule(Rule::when(pending).wait(Wait::new().delay(SECOND).at_most(7))),
        ),
    ]
}

/// The worst servers for a policy that waits at most this long.
fn servers(longest: Duration) -> Vec<Server> {
    let waits = [0, 1, 2, 20, 60, 299, 300, 301, 900].map(Duration::from_secs);
    let waits = waits.into_iter().chain([longest]);
    let waits = waits.filter(|wait| *wait <= longest).map(Some);
    let mut all = vec![vec![Act::Hang]];
    for wait in waits.chain([None]) {
        for status in [429, 503] {
            all.push(vec![Act::Answer(status, wait)]);
        }
        let (limit, overload) = (Act::Answer(429, wait), Act::Answer(503, wait));
        all.push(vec![limit, overload]);
        all.push(vec![overload, limit, limit]);
        all.push(vec![Act::Answer(429, None), limit, Act::Answer(503, None)]);
        all.push(vec![limit, Act::Hang]);
        all.push(vec![Act::Answer(202, wait), overload, limit]);
    }
    all
}

struct Seen {
    sent: u64,
    took: Duration,
    stop: Option<StopReason>,
    /// Of the answer that the caller gets.
    status: Option<u16>,
}

/// One call to a server; nothing if it never ends.
fn call(policy: &RetryPolicy, server: &Server, random: u64) -> Option<Seen> {
    let sent = Arc::new(AtomicU64::new(0));
    let client = {
        let (sent, server) = (Arc::clone(&sent), server.clone());
        service_fn(move |_: Request<String>| {
            let number = usize::try_from(sent.fetch_add(1, Ordering::Relaxed)).unwrap();
            answer(server[number % server.len()])
        })
    };
    let runtime = ManualRuntime::new().with_random(random);
    let layer = RetryLayer::new(policy.clone())
        .runtime(runtime.clone())
        .budget(RetryBudget::unlimited());
    let slot = RetryReport::slot();
    let mut request = Request::get("http://api.example/")
        .body(String::new())
        .unwrap();
    request.extensions_mut().insert(slot.clone());
    let ended = layer.layer(client).oneshot(request).now_or_never();
    ended.map(|ended| Seen {
        sent: sent.load(Ordering::Relaxed),
        took: runtime.now(),
        stop: slot.take().map(|report| report.stop),
        status: ended.ok().map(|answer| answer.status().as_u16()),
    })
}

async fn answer(act: Act) -> Result<Response<String>, Infallible> {
    let (status, wait) = match act {
        Act::Answer(status, wait) => (status, wait),
        Act::Hang => std::future::pending().await,
    };
    let mut response = Response::new(String::new());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if let Some(wait) = wait {
        response
            .headers_mut()
            .insert("retry-after", wait.as_secs().into());
    }
    Ok(response)
}

/// All attempts that the first line of an explanation allows.
fn headline(policy: &RetryPolicy) -> u64 {
    let text = policy.explain();
    let line = text.lines().next().unwrap();
    let numbers = line.split(' ').filter_map(|word| word.parse::<u64>().ok());
    numbers.sum()
}

#[test]
fn no_server_beats_the_first_line_of_an_explanation() {
    for policy in presets().into_iter().chain(adjusted()) {
        let worst = policy.worst_case();
        let most = headline(&policy);
        let sending = worst.sending.unwrap_or_default() + worst.gated_sending.unwrap_or_default();
        let time = worst
            .time()
            .unwrap_or(worst.waits.unwrap() + worst.gated_waits + sending);
        for server in servers(Duration::from_secs(900)) {
            for random in [0, u64::MAX / 2, u64::MAX] {
                let Some(seen) = call(&policy, &server, random) else {
                    continue;
                };
                let said = format!(
                    "{server:?}: {} in {:?}, {:?}\n{}",
                    seen.sent,
                    seen.took,
                    seen.stop,
                    policy.explain()
                );
                assert!(seen.sent <= most, "{said}");
                assert!(seen.took <= time, "{said}");
            }
        }
    }
}

#[test]
fn a_server_that_always_refuses_gets_all_attempts_and_no_more() {
    let [two, _, apart, ..] = <[RetryPolicy; 6]>::try_from(adjusted()).unwrap();
    let llm = built(RetryPolicy::llm().to_builder().max_attempts(2));
    for (policy, sent) in [
        (RetryPolicy::user_facing(), 2),
        (RetryPolicy::background(), 5),
        (two, 2),
        (llm, 2),
        (apart, 3 + 20),
    ] {
        assert_eq!(headline(&policy), sent);
        let refusing = vec![Act::Answer(429, Some(SECOND))];
        let seen = call(&policy, &refusing, 0).unwrap();
        assert_eq!((seen.sent, seen.status), (sent, Some(429)));
        assert_eq!(seen.stop, Some(StopReason::AttemptsExhausted));
    }
}

/// Each of several calls that wait at one gate.
#[test]
fn no_call_of_many_beats_the_first_line_either() {
    for policy in presets().into_iter().chain(adjusted()) {
        let most = headline(&policy);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let layer = RetryLayer::new(policy).budget(RetryBudget::unlimited());
        let service = layer.layer(service_fn(|_: Request<String>| {
            answer(Act::Answer(429, Some(SECOND)))
        }));
        let calls = (0..20).map(|_| {
            let slot = RetryReport::slot();
            let mut request = Request::get("http://api.example/")
                .body(String::new())
                .unwrap();
            request.extensions_mut().insert(slot.clone());
            let call = service.clone().oneshot(request);
            async move {
                call.await.unwrap();
                slot.take().unwrap().attempt_count
            }
        });
        let sent = runtime.block_on(join_all(calls));
        assert!(
            sent.iter().all(|sent| u64::from(*sent) <= most),
            "{sent:?} of {most}"
        );
    }
}
