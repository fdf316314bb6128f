//! No delay of one's own accord is above its cap.

use super::inputs::{count, decimal_up_to, duration, growth, integer, uncapped_backoff};
use super::sound::capped_backoff;
use super::{a_thousand_cases, retry};
use http::{HeaderMap, Method, StatusCode};
use http_retry::policy::Moment;
use http_retry::{Backoff, Jitter, Outcome, RequestFacts, RetryPolicy};
use proptest::prelude::*;
use std::time::Duration;

proptest! {
    #![proptest_config(a_thousand_cases())]

    #[test]
    fn no_delay_is_above_a_cap_that_cuts_the_delay(
        backoff in uncapped_backoff(),
        most in duration(),
        after in any::<bool>(),
        previous in duration(),
        n in count(),
        random in integer(),
    ) {
        let backoff = backoff.max_delay(most);
        let backoff = if after { backoff.cap_after_jitter() } else { backoff };
        prop_assert!(backoff.delay(n, random) <= most);
        prop_assert!(backoff.delay(n, u64::MAX) <= most);
        prop_assert!(backoff.delay_after(previous, n, random) <= most);
        prop_assert!(after || backoff.ceiling(n) <= most);
    }

    #[test]
    fn a_cap_before_the_jitter_holds_for_a_jitter_of_at_most_one(
        backoff in growth(),
        factor in decimal_up_to(3),
        jitter in prop_oneof![
            Just(Jitter::None),
            Just(Jitter::Full),
            Just(Jitter::Equal),
            (decimal_up_to(1), decimal_up_to(1)).prop_map(|(min, max)| Jitter::Between { min, max }),
        ],
        most in duration(),
        n in count(),
        random in integer(),
    ) {
        let backoff = backoff.factor(factor).jitter(jitter).max_delay(most).cap_before_jitter();
        prop_assert!(backoff.ceiling(n) <= most);
        prop_assert!(backoff.delay(n, random) <= most);
    }

    #[test]
    fn a_schedule_that_grows_has_a_cap_of_its_own(
        base in duration(),
        factor in decimal_up_to(1_000),
        linear in any::<bool>(),
        n in count(),
        random in integer(),
    ) {
        let backoff = if linear { Backoff::linear(base) } else { Backoff::exponential(base) };
        let delay = backoff.factor(factor).delay(n, random);
        prop_assert!(delay <= base.max(Duration::from_secs(60)));
    }

    #[test]
    fn a_request_waits_beyond_its_cap_only_when_asked(
        (backoff, most) in capped_backoff(),
        randoms in prop::collection::vec(integer(), 1..30),
    ) {
        let builder = RetryPolicy::builder().max_retries(u32::MAX).backoff(backoff);
        let policy = builder.build().unwrap();
        let headers = HeaderMap::new();
        let facts = RequestFacts::of(&Method::GET, &headers);
        let unavailable = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
        let mut session = policy.session(facts, Duration::ZERO);
        for random in randoms {
            let moment = Moment::default().with_random(random);
            let paid = retry(&mut session, &unavailable, moment).unwrap();
            prop_assert!(paid.delay() <= most);
        }
    }
}
