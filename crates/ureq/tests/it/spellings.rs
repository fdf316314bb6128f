//! A service that must not be repeated, at a URL that is written in another way each time: it is sent once, by
//! thousands of scripts.
//!
//! `HTTP_RETRY_SCHEDULES=100000 cargo test -p http-retry-ureq spellings` plays as many.

use crate::schedules::{Random, step};
use crate::server::Server;
use http_retry_core::Methods;
use http_retry_services::{Service, ServiceRoute, Services};
use http_retry_testing::ManualRuntime;
use http_retry_ureq::{Retries, RetryPolicy};
use std::time::Duration;
use ureq::http::{Method, Request};

const SCHEDULES: u64 = 10_000;
const PATH: &str = "/v1/pay-it.now_~";
const HOSTS: [&str; 6] = [
    "a.example",
    "A.Example.",
    "a.example.:80",
    "a.example:",
    "user@a.example:0080",
    "a.example..",
];
const SLASHES: [&str; 6] = ["/", "//", "/./", "/x/../", "/%2e/", "/x/y/%2E./../"];

/// The policy with a limit, so that a server that hangs is left.
fn limited(policy: &RetryPolicy) -> RetryPolicy {
    let policy = policy.to_builder().attempt_timeout(Duration::from_secs(4));
    policy.methods(Methods::All).build().unwrap()
}

/// Services that forbid the repetition of a POST to [`PATH`].
fn services(random: &mut Random) -> Services {
    let path = [PATH, "/v1/*", "//v1/./%70ay-it.now_~", "*now_~"][random.size(4)];
    let host = ["a.example", "A.example.", "*.Example"][random.size(3)];
    let never = limited(&RetryPolicy::never());
    let repeated = limited(&RetryPolicy::background());
    let service = if random.below(2) == 0 {
        Service::new("pay", never).host(host).path(path)
    } else {
        let route = ServiceRoute::new("now", never);
        let route = route.path(path).method(Method::POST);
        Service::new("pay", repeated.clone())
            .host(host)
            .route(route)
    };
    Services::builder(repeated)
        .service(service)
        .build()
        .unwrap()
}

/// A URL of the service in another spelling.
fn spelled(random: &mut Random) -> String {
    let mut url = format!("http://{}", HOSTS[random.size(HOSTS.len() as u64)]);
    url += ["", "/..", "/.%2E/.."][random.size(3)];
    for letter in PATH.bytes() {
        match letter {
            b'/' => url += SLASHES[random.size(SLASHES.len() as u64)],
            _ if random.below(4) == 0 => url += &format!("%{letter:02x}"),
            _ if random.below(4) == 0 => url += &format!("%{letter:02X}"),
            _ => url.push(char::from(letter)),
        }
    }
    url + ["", "/", "//", "/."][random.size(4)]
}

/// Sends a POST to this URL through a network that fails by this seed, and returns how many requests were received.
fn sent(url: &str, services: Services, random: &mut Random, seed: u64) -> usize {
    let script: Vec<_> = (0..1 + random.below(6)).map(|_| step(random)).collect();
    let server = Server::new(script).with_clock(ManualRuntime::new().seeded(seed));
    let agent = server.agent(Retries::routed(services));
    let request = Request::post(url).body("order").unwrap();
    // Whatever comes of it.
    let _ = agent.run(request);
    let received = server.received().into_iter();
    received.filter(|one| one.head.starts_with("POST")).count()
}

#[test]
fn a_request_is_sent_once_however_its_url_is_spelled() {
    let count = std::env::var("HTTP_RETRY_SCHEDULES").ok();
    let count = count.map_or(SCHEDULES, |count| count.parse().unwrap());
    let (mut failed, mut again) = (0_u64, 0_u64);
    for seed in 0..count {
        let mut random = Random(seed);
        let (services, url) = (services(&mut random), spelled(&mut random));
        let sent_here = sent(&url, services.clone(), &mut random, seed);
        assert!(sent_here <= 1, "seed {seed}: sent {sent_here} times: {url}");
        failed += u64::from(sent_here == 1);
        if seed % 4 == 0 {
            // The same network, and a URL that only looks like it.
            let other = "http://a.example/v1%2Fpay-it.now_~";
            let sent_there = sent(other, services, &mut Random(seed), seed);
            again += u64::from(sent_there > 1);
        }
    }
    let enough = failed * 10 > count && again * 40 > count;
    assert!(enough, "{failed} and {again} of {count}");
}
