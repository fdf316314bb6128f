//! Inputs of every size, up to the limits of what an integer holds, sound and unsound.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_retry::policy::{Decimal, Moment};
use http_retry::{
    Backoff, Class, ErrorKind, Jitter, Methods, Outcome, Reach, RequestFacts, RetryOverride,
    RetryPolicy, RetryPolicyBuilder,
};
use proptest::collection::vec;
use proptest::num::f64::ANY as ANY_FLOAT;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::{Duration, SystemTime};

pub(super) fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..100, any::<u64>(), u64::MAX - 9..=u64::MAX]
}

pub(super) fn count() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..20, any::<u32>(), u32::MAX - 9..=u32::MAX]
}

pub(super) fn duration() -> BoxedStrategy<Duration> {
    prop_oneof![
        (0_u64..200_000).prop_map(Duration::from_millis),
        (0_u64..10_000_000_000).prop_map(Duration::from_nanos),
        (integer(), 0_u32..1_000_000_000).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        Just(Duration::ZERO),
        Just(Duration::MAX),
    ]
    .boxed()
}

/// Anything that a setter takes as a decimal, such as is none included.
pub(super) fn decimal() -> BoxedStrategy<Decimal> {
    prop_oneof![
        decimal_up_to(3),
        count().prop_map(Decimal::from),
        ANY_FLOAT.prop_map(Decimal::from),
    ]
    .boxed()
}

pub(super) fn decimal_up_to(most: u32) -> impl Strategy<Value = Decimal> {
    (0..=most * 1_000).prop_map(|thousandths| Decimal::from(f64::from(thousandths) / 1e3))
}

pub(super) fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        (decimal(), decimal()).prop_map(|(min, max)| Jitter::Between { min, max }),
    ]
}

pub(super) fn growth() -> BoxedStrategy<Backoff> {
    prop_oneof![
        Just(Backoff::none()),
        duration().prop_map(Backoff::fixed),
        duration().prop_map(Backoff::linear),
        duration().prop_map(Backoff::exponential),
        vec(duration(), 0..6).prop_map(Backoff::schedule),
        duration().prop_map(|each| Backoff::custom(move |n| each.saturating_mul(n / 2))),
    ]
    .boxed()
}

/// A backoff of any kind, its maximum delay left as it is.
pub(super) fn uncapped_backoff() -> BoxedStrategy<Backoff> {
    (growth(), decimal(), count(), jitter())
        .prop_map(|(backoff, factor, first_step, jitter)| {
            backoff.factor(factor).first_step(first_step).jitter(jitter)
        })
        .boxed()
}

pub(super) fn backoff() -> BoxedStrategy<Backoff> {
    let both = |backoff: Backoff| backoff;
    let caps: Vec<fn(Backoff) -> Backoff> =
        vec![both, Backoff::cap_before_jitter, Backoff::cap_after_jitter];
    let limit = option::of(option::of(duration()));
    (uncapped_backoff(), select(caps), limit)
        .prop_map(|(backoff, cap, limit)| match limit {
            Some(limit) => cap(backoff).max_delay(limit),
            None => cap(backoff),
        })
        .boxed()
}

/// A policy's settings, of which many cannot work.
pub(super) fn builder() -> BoxedStrategy<RetryPolicyBuilder> {
    let times = [(); 3].map(|()| option::of(duration()));
    let methods = select(vec![Methods::Idempotent, Methods::All]);
    (
        option::of(count()),
        option::weighted(0.2, count()),
        backoff(),
        times,
        methods,
    )
        .prop_map(
            |(retries, attempts, backoff, [deadline, timeout, asked], methods)| {
                let mut builder = RetryPolicy::builder().methods(methods);
                if let Some(retries) = retries {
                    builder = builder.max_retries(retries);
                }
                if let Some(attempts) = attempts {
                    builder = builder.max_attempts(attempts);
                }
                let builder = builder.backoff(backoff).deadline(deadline);
                builder.attempt_timeout(timeout).max_server_delay(asked)
            },
        )
        .boxed()
}

pub(super) fn moment() -> impl Strategy<Value = Moment> {
    (duration(), duration(), integer())
        .prop_map(|(now, wall, random)| Moment::new(now).with_wall(wall).with_random(random))
}

const NAMES: [&str; 18] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "ratelimit",
    "ratelimit-reset",
    "ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-remaining",
    "x-retry-in",
    "x-ratelimit-retry-after",
    "x-ratelimit-reset-ms",
    "ratelimit-resettime",
    "x-ratelimit-next",
    "date",
    "age",
    "idempotency-key",
    "x-should-retry",
];

pub(super) fn http_date(seconds: u64) -> String {
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The value of a header, well formed, nearly so, or garbage.
fn value() -> BoxedStrategy<HeaderValue> {
    let text = prop_oneof![
        (0_u64..1_000).prop_map(|number| number.to_string()),
        integer().prop_map(|number| number.to_string()),
        "[0-9]{15,40}",
        "[ \t]?[-+]?[0-9]{1,3}[.e][0-9]{1,3} ?",
        (0_u64..4_000_000_000).prop_map(http_date),
        (0_u64..253_402_300_800).prop_map(http_date),
        (0_u64..4_000_000_000).prop_map(|seconds| http_date(seconds).to_lowercase()),
        "(Mon|Sun|Sunday), [0-9]{2}[ -](Feb|Nov|Xyz)[ -][0-9]{2,5} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        "(Sun|Mon) (Feb|Nov) [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}",
        "\"[a-z]{0,3}\";r=[0-9]{0,3};t=[0-9]{0,22}(, \"b\";r=0;t=[0-9]{1,3})?",
        "limit=[0-9]{1,3}, remaining=[01], reset=[0-9]{1,20}",
        "[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2}| UTC)?",
        "[0-9]{1,13}(, ?[0-9]{1,13}){1,3}",
        (0_u64..4_000_000_000).prop_map(|seconds| format!("{0}, {0}", http_date(seconds))),
        "[;,=rt0\" ]{0,12}",
    ];
    let bytes = vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => text.prop_map(String::into_bytes),
        1 => bytes,
    ]
    .prop_map(|mut bytes| {
        bytes.retain(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 127));
        HeaderValue::from_bytes(&bytes).unwrap()
    })
    .boxed()
}

pub(super) fn headers() -> BoxedStrategy<HeaderMap> {
    vec((select(&NAMES[..]), value()), 0..6)
        .prop_map(|lines| {
            let named = |(name, value)| (HeaderName::from_static(name), value);
            lines.into_iter().map(named).collect()
        })
        .boxed()
}

pub(super) fn status() -> BoxedStrategy<StatusCode> {
    prop_oneof![
        select(vec![
            200, 404, 408, 413, 425, 429, 500, 501, 502, 503, 504, 529
        ]),
        100_u16..=999,
    ]
    .prop_map(|status| StatusCode::from_u16(status).unwrap())
    .boxed()
}

/// What an attempt produced, before anybody has judged it.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    Done,
    Response(StatusCode, HeaderMap),
    Error(ErrorKind),
    Judged(StatusCode, HeaderMap, Class, Reach),
}

impl Seen {
    pub(super) fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Done => Outcome::success(),
            Self::Response(status, headers) => Outcome::response(*status, headers),
            Self::Error(kind) => Outcome::error(*kind),
            Self::Judged(status, headers, class, reach) => {
                Outcome::response(*status, headers).with(*class, *reach)
            }
        }
    }
}

const ERRORS: [ErrorKind; 16] = [
    ErrorKind::Dns,
    ErrorKind::Connect,
    ErrorKind::ConnectTimeout,
    ErrorKind::Tls,
    ErrorKind::Certificate,
    ErrorKind::NotProcessed,
    ErrorKind::Timeout,
    ErrorKind::Reset,
    ErrorKind::Incomplete,
    ErrorKind::Http2,
    ErrorKind::Request,
    ErrorKind::Redirect,
    ErrorKind::Body,
    ErrorKind::Protocol,
    ErrorKind::Decode,
    ErrorKind::Other,
];

pub(super) fn error() -> impl Strategy<Value = ErrorKind> {
    select(&ERRORS[..])
}

pub(super) fn judgement() -> impl Strategy<Value = (Class, Reach)> {
    let class = [
        Class::Success,
        Class::Transient,
        Class::Throttled,
        Class::Permanent,
    ];
    let reach = [
        Reach::Unsent,
        Reach::Refused,
        Reach::Ambiguous,
        Reach::Answered,
    ];
    (select(class.to_vec()), select(reach.to_vec()))
}

pub(super) fn seen() -> BoxedStrategy<Seen> {
    prop_oneof![
        1 => Just(Seen::Done),
        8 => (status(), headers()).prop_map(|(status, headers)| Seen::Response(status, headers)),
        4 => error().prop_map(Seen::Error),
        2 => (status(), headers(), judgement())
            .prop_map(|(status, headers, (class, reach))| Seen::Judged(status, headers, class, reach)),
    ]
    .boxed()
}

pub(super) fn facts() -> impl Strategy<Value = RequestFacts> {
    let methods = select(vec![Method::GET, Method::POST, Method::PUT, Method::PATCH]);
    (methods, headers(), any::<bool>()).prop_map(|(method, headers, replayable)| {
        let mut facts = RequestFacts::of(&method, &headers);
        facts.replayable = replayable;
        facts
    })
}

pub(super) fn own_settings() -> impl Strategy<Value = RetryOverride> {
    (
        option::of(count()),
        option::of(any::<bool>()),
        option::of(duration()),
        0_u8..8,
    )
        .prop_map(|(retries, idempotent, deadline, dice)| {
            let mut own = match dice {
                0 => RetryOverride::off(),
                1 => RetryOverride::new().retry_when_nested(),
                _ => RetryOverride::new(),
            };
            if let Some(retries) = retries {
                own = own.max_retries(retries);
            }
            if let Some(idempotent) = idempotent {
                own = own.idempotent(idempotent);
            }
            match deadline {
                Some(deadline) => own.deadline(deadline),
                None => own,
            }
        })
}
