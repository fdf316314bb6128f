//! Attempts that are cut at the gate of one route.

use super::{Answer, Client, SECOND, STACKS, Server, patient};
use http::StatusCode;
use http_retry::policy::{Scope, Verdict};
use http_retry::{Backoff, Class, Jitter, Outcome, Reach, RetryOverride};
use tokio::time::Instant;

/// The limit affects the calls to the same path.
fn of_the_route(outcome: &Outcome<'_>) -> Option<Verdict> {
    let verdict = Verdict::new(Class::Throttled, Reach::Refused);
    let is_refused = outcome.status() == Some(StatusCode::TOO_MANY_REQUESTS);
    is_refused.then(|| verdict.scope(Scope::Route).asking_for(SECOND * 300))
}

/// A cut attempt is over: while its call waits for the next one, another goes in its place.
#[tokio::test(start_paused = true)]
async fn a_cut_attempt_frees_its_place_at_the_gate_of_its_route() {
    for stack in STACKS {
        let server = Server::new(|_, number| match number {
            1..=4 => Answer::status(429),
            // The first probe is never answered.
            5 => Answer {
                after: [SECOND * 9_999; 2],
                ..Answer::status(200)
            },
            _ => Answer::status(200),
        });
        let policy = patient()
            .classify(of_the_route)
            .attempt_timeout(SECOND)
            .max_retries(1)
            .backoff(Backoff::fixed(SECOND * 200).jitter(Jitter::None));
        let client = Client::new(stack, policy.build().unwrap(), &server);
        for _ in 0..4 {
            assert_eq!(client.once("/a").await, Some(429));
        }
        let begun = Instant::now();
        let cut = tokio::spawn(client.clone().get("/a", RetryOverride::new()));
        tokio::time::sleep(SECOND * 2).await;
        assert_eq!(server.received(), 5);
        assert_eq!(client.once("/a").await, Some(200));
        let waited = begun.elapsed();
        assert!(waited < SECOND * 10, "{stack:?}: {waited:?}");
        cut.abort();
    }
}
