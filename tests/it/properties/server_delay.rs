//! No retry is sent earlier than the server asked, nor much later.

use super::inputs::{headers, http_date, integer, moment, seen};
use super::sound::{backoff, policy};
use super::{a_thousand_cases, retry};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_retry::policy::{DelaySource, Moment, ServerHints};
use http_retry::{Backoff, Outcome, RequestFacts, RetryPolicy};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;

/// Long enough for any wait that is added on top of what was asked.
fn longest_spread(asked: Duration) -> Duration {
    (asked / 5).min(Duration::from_secs(10))
}

/// A way for a server to say that it wants to be left alone for so long.
#[derive(Debug, Clone, Copy)]
enum Form {
    Seconds,
    Blanks,
    Folded,
    FoldedDates,
    Milliseconds(&'static str),
    Named(&'static str, u64),
    Unix,
    Date,
    DateByItsOwnClock,
    DateOfACachedResponse,
    Quota(&'static str, &'static str),
    QuotaAtATime,
    QuotaAtATimeByItsOwnClock,
    StructuredQuota,
}

fn form() -> impl Strategy<Value = Form> {
    select(vec![
        Form::Seconds,
        Form::Blanks,
        Form::Folded,
        Form::FoldedDates,
        Form::Named("x-retry-after", 1),
        Form::Named("x-retry-in", 1),
        Form::Named("x-retry-after-milliseconds", 1_000),
        Form::Unix,
        Form::DateOfACachedResponse,
        Form::Milliseconds("retry-after-ms"),
        Form::Milliseconds("x-ms-retry-after-ms"),
        Form::Milliseconds("x-amz-retry-after"),
        Form::Date,
        Form::DateByItsOwnClock,
        Form::Quota("ratelimit-reset", "ratelimit-remaining"),
        Form::Quota("x-ratelimit-reset", "x-ratelimit-remaining"),
        Form::QuotaAtATime,
        Form::QuotaAtATimeByItsOwnClock,
        Form::StructuredQuota,
    ])
}

/// The headers of a response that asks for `seconds` when the wall clock stands at `wall`.
fn asking(form: Form, seconds: u64, wall: u64) -> HeaderMap {
    let own_clock = 1_111_111_111;
    let lines = match form {
        Form::Seconds => vec![("retry-after", seconds.to_string())],
        Form::Blanks => vec![("retry-after", format!(" \t{seconds} "))],
        Form::Folded => vec![("retry-after", format!("0, soon,{seconds},, 0"))],
        Form::FoldedDates => {
            let (past, then) = (http_date(wall), http_date(wall + seconds));
            vec![("retry-after", format!("{then}, {past}"))]
        }
        Form::Milliseconds(name) => vec![(name, (seconds * 1_000).to_string())],
        Form::Named(name, of_second) => vec![(name, (seconds * of_second).to_string())],
        Form::Unix => vec![("retry-after", (wall + seconds).to_string())],
        Form::DateOfACachedResponse => vec![
            ("date", http_date(own_clock)),
            ("age", "100".to_owned()),
            ("retry-after", http_date(own_clock + 100 + seconds)),
        ],
        Form::Date => vec![("retry-after", http_date(wall + seconds))],
        Form::DateByItsOwnClock => vec![
            ("date", http_date(own_clock)),
            ("retry-after", http_date(own_clock + seconds)),
        ],
        Form::Quota(reset, remaining) => {
            vec![(reset, seconds.to_string()), (remaining, "0".to_owned())]
        }
        Form::QuotaAtATime => vec![
            ("x-ratelimit-reset", (wall + seconds).to_string()),
            ("x-ratelimit-remaining", "0".to_owned()),
        ],
        Form::QuotaAtATimeByItsOwnClock => vec![
            ("date", http_date(own_clock)),
            ("x-ratelimit-reset", (own_clock + seconds).to_string()),
            ("x-ratelimit-remaining", "0".to_owned()),
        ],
        Form::StructuredQuota => vec![("ratelimit", format!("\"burst\";r=0;t={seconds}"))],
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name, HeaderValue::try_from(value).unwrap());
    }
    headers
}

fn without_limits(backoff: &Backoff) -> RetryPolicy {
    let builder = RetryPolicy::builder().max_retries(u32::MAX);
    let builder = builder.max_gate_wait(None).max_server_delay(None);
    let builder = builder.backoff(backoff.clone());
    builder.build().unwrap()
}

proptest! {
    #![proptest_config(a_thousand_cases())]

    #[test]
    fn what_a_server_asks_for_in_any_form_is_waited_for(
        form in form(),
        seconds in 0_u64..1_000_000,
        wall in 1_000_000_000_u64..3_000_000_000,
        status in select(vec![408_u16, 425, 429, 500, 502, 503, 504, 529]),
        millis in 0_u64..100_000,
        random in integer(),
        now in 0_u64..1_000_000,
    ) {
        let headers = asking(form, seconds, wall);
        let policy = without_limits(&Backoff::fixed(Duration::from_millis(millis)));
        let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
        let outcome = Outcome::response(StatusCode::from_u16(status).unwrap(), &headers);
        let moment = Moment::new(Duration::from_secs(now))
            .with_wall(Duration::from_secs(wall))
            .with_random(random);
        let paid = retry(&mut policy.session(facts, Duration::ZERO), &outcome, moment).unwrap();
        let (asked, own) = (Duration::from_secs(seconds), Duration::from_millis(millis));
        let delay = paid.delay();
        prop_assert!(delay >= asked, "{delay:?} for {asked:?}");
        prop_assert!(delay <= asked.max(own) + longest_spread(asked), "{delay:?} for {asked:?}");
    }

    #[test]
    fn every_retry_is_sent_at_the_time_its_response_names(
        backoff in backoff(),
        attempts in vec((seen(), moment()), 1..10),
    ) {
        let policy = without_limits(&backoff);
        let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
        let mut session = policy.session(facts, Duration::ZERO);
        let (mut previous, mut n, mut at_once) = (Duration::ZERO, 0, false);
        for (seen, moment) in &attempts {
            let outcome = seen.outcome();
            let Some(paid) = retry(&mut session, &outcome, *moment) else { continue };
            n += 1;
            // The first 408 within a second of the start is not waited for.
            let timeout = outcome.status() == Some(StatusCode::REQUEST_TIMEOUT);
            let timeout = timeout && outcome.reach().is_unprocessed();
            let is_idle_close = timeout && moment.now < Duration::from_secs(1) && !at_once;
            at_once |= is_idle_close;
            let drawn = backoff.delay_after(previous, n, moment.random);
            let own = if is_idle_close { Duration::ZERO } else { drawn };
            let asked = outcome.server_delay(moment.wall).unwrap_or_default();
            let by_server = paid.source() == DelaySource::Server;
            let delay = paid.delay();
            prop_assert!(delay >= asked.max(own));
            prop_assert!(delay <= asked.max(own).saturating_add(longest_spread(asked)));
            prop_assert_eq!(by_server, asked > own);
            previous = if is_idle_close { previous } else { drawn };
        }
    }

    #[test]
    fn a_request_stops_rather_than_wait_too_long(
        headers in headers(),
        most in (0_u64..100_000).prop_map(Duration::from_millis),
        moment in moment(),
    ) {
        let policy = RetryPolicy::builder().max_server_delay(most).build().unwrap();
        let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
        let status = StatusCode::TOO_MANY_REQUESTS;
        let asked = ServerHints::read(status, &headers, moment.wall).delay();
        let session = policy.session(facts, moment.now);
        let planned = session.plan(&Outcome::response(status, &headers), moment);
        prop_assert_eq!(planned.is_ok(), asked.unwrap_or_default() <= most);
    }

    #[test]
    fn a_deadline_is_never_waited_past(
        policy in policy(),
        deadline in (1_u64..1_000_000).prop_map(Duration::from_millis),
        attempts in vec((seen(), moment()), 1..10),
    ) {
        let own = http_retry::RetryOverride::new().deadline(deadline);
        let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
        let mut session = policy.session(facts, Duration::ZERO).with_override(&own);
        for (seen, moment) in &attempts {
            if let Some(paid) = retry(&mut session, &seen.outcome(), *moment) {
                prop_assert!(moment.now.saturating_add(paid.delay()) < deadline);
            }
        }
    }
}
