//! A quota that many processes share.

use super::processes::{SEC, newcomers};
use super::world::{MILLI, World};
use super::*;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry_core::Outcome;
use http_retry_core::reading::OutcomeExt;
use http_retry_core::runtime::Runtime;
use http_retry_core::sharing::CallEnd;

const PROCESSES: usize = 10;

/// Returns the number of 200 calls that go before the reset, if each process has seen this remainder of the quota.
fn go_before_the_reset(remaining: u64) -> usize {
    let mut world = World::of(PROCESSES);
    // By then the processes know their number.
    world.pass(SEC);
    let headers = HeaderMap::from_iter(
        [
            ("x-ratelimit-limit", 100),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", 5),
        ]
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from(value))),
    );
    let quota = Outcome::response(StatusCode::OK, &headers).quota(Duration::ZERO);
    for process in 0..PROCESSES {
        let place = world.go(process);
        world.end_with_quota(process, &place, CallEnd::Succeeded, quota);
    }
    let whole = world.clock.now() + SEC * 5;
    let mut waits = Vec::new();
    for process in 0..PROCESSES {
        waits.extend(newcomers(&mut world, &[process; 20]));
    }
    // No response reports a smaller remainder, so each process sends its whole share.
    let mut gone = 0;
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for (_, wait) in &mut waits {
        let waiting = wait.as_mut().unwrap().as_mut();
        gone += usize::from(waiting.poll(&mut cx).is_ready());
    }
    world.pass(MILLI);
    assert!(world.clock.now() < whole);
    gone
}

#[test]
fn each_process_takes_its_share_of_what_remains() {
    assert_eq!(go_before_the_reset(100), 100);
    assert_eq!(go_before_the_reset(40), 40);
    assert_eq!(go_before_the_reset(0), 0);
}

#[test]
fn an_indivisible_remainder_goes_to_some_processes() {
    for remaining in [3, 5, 8] {
        let gone = go_before_the_reset(remaining);
        let most = usize::try_from(remaining).unwrap() + 4;
        assert!(gone <= most, "{gone} of {remaining}");
    }
}
