//! Thousands of requests through networks that fail by a script: none that must be processed once is received twice,
//! every byte is right, and neither a token nor a second is lost.
//!
//! `HTTP_RETRY_SCHEDULES=100000 cargo test -p http-retry-ureq schedules -- --nocapture` plays as many,
//! and prints what came of them.

use crate::server::{BodyEnd, Received, Server, Step};
use crate::several::{By, Records};
use http_retry_core::policy::splitmix64;
use http_retry_core::report::{RetryEvent, RetryEventKind};
use http_retry_core::runtime::Runtime;
use http_retry_testing::ManualRuntime;
use http_retry_ureq::{Retries, RetryBudget, RetryPolicy, RetryReport, StopReason};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ureq::http::{Method, Request};
use ureq::{Agent, Error, SendBody};

const SCHEDULES: u64 = 5_000;
const SECOND: Duration = Duration::from_secs(1);
const LIMIT: usize = 3_000;

/// Random numbers from a seed (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let next = splitmix64(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        next % end
    }

    pub(crate) fn size(&mut self, end: u64) -> usize {
        usize::try_from(self.below(end)).unwrap()
    }
}

/// The way a body is given to ureq.
#[derive(Debug, Clone, Copy)]
enum Given {
    Nothing,
    Bytes,
    Reader,
    /// A reader that fails after so many bytes.
    Failing(usize, io::ErrorKind),
}

/// A request and what it meets, by its seed alone.
#[derive(Debug)]
struct Schedule {
    seed: u64,
    method: Method,
    keyed: bool,
    given: Given,
    body: Vec<u8>,
    script: Vec<Step>,
    keeps_alive: bool,
    status_as_error: bool,
    deadline: Option<Duration>,
    tokens: u32,
    /// The fate of the record of each success, which a middleware below sends.
    record: Option<(By, Vec<Step>)>,
}

/// Every kind of error that a source of bytes may have.
const KINDS: [io::ErrorKind; 10] = [
    io::ErrorKind::ConnectionRefused,
    io::ErrorKind::ConnectionReset,
    io::ErrorKind::HostUnreachable,
    io::ErrorKind::NotConnected,
    io::ErrorKind::BrokenPipe,
    io::ErrorKind::TimedOut,
    io::ErrorKind::UnexpectedEof,
    io::ErrorKind::InvalidData,
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::Other,
];

/// Reads so many bytes, and fails.
struct Failing(io::Take<io::Cursor<Vec<u8>>>, io::ErrorKind);

impl io::Read for Failing {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buf) {
            Ok(0) => Err(self.1.into()),
            read => read,
        }
    }
}

/// A step that takes no time, for a record, whose agent has no limit.
fn at_once(random: &mut Random) -> Step {
    match random.below(8) {
        0 => Step::NoHost,
        1 => Step::Refused,
        2 => Step::HandshakeReset,
        3 => Step::ResetAfterWrite,
        4 => Step::Closed,
        5 => Step::status(429),
        6 => Step::status([408, 425, 500, 503][random.size(4)]),
        _ => Step::status(200),
    }
}

pub(crate) fn step(random: &mut Random) -> Step {
    let after = Duration::from_millis(random.below(5_000));
    let short = Step::status(503).after(after);
    match random.below(21) {
        0 => Step::NoHost,
        1 => Step::NoResolver,
        2 | 3 => Step::Refused,
        4 => Step::HandshakeReset,
        5 => Step::HandshakeEof,
        6 => Step::ConnectHangs,
        7 => Step::ResetAtWrite,
        8 => Step::ResetInBody,
        9 => Step::ResetAfterWrite,
        10 => Step::Closed,
        11 => Step::HalfHead,
        12 => Step::Silence,
        13 => Step::Garbage,
        14 => Step::status(429)
            .header("retry-after", random.below(9))
            .after(after),
        15 => short.header("retry-after", random.below(9)),
        16 => Step::status([408, 425][random.size(2)]).after(after),
        17 => short.body(vec![b'x'; random.size(200_000)]),
        18 => short.ends([BodyEnd::Half, BodyEnd::Stalls][random.size(2)]),
        19 => Step::status([500, 502, 404, 400][random.size(4)]).after(after),
        _ => Step::status(303).header("location", "/elsewhere"),
    }
}

impl Schedule {
    fn of(seed: u64) -> Self {
        let mut random = Random(seed);
        let method = [
            Method::GET,
            Method::PUT,
            Method::POST,
            Method::POST,
            Method::PATCH,
        ][random.size(5)]
        .clone();
        let given = match method {
            Method::GET => Given::Nothing,
            _ => match random.below(5) {
                0 => Given::Failing(random.size(40_000), KINDS[random.size(KINDS.len() as u64)]),
                1 | 2 => Given::Bytes,
                _ => Given::Reader,
            },
        };
        let length = match (&given, random.below(4)) {
            (Given::Nothing, _) | (_, 0) => 0,
            (_, 1) => random.size(20),
            (_, 2) => random.size(3_000),
            _ => random.size(60_000),
        };
        let body = (0..length)
            .map(|_| random.below(256).to_le_bytes()[0])
            .collect();
        let script = (0..random.below(7)).map(|_| step(&mut random)).collect();
        Self {
            seed,
            method,
            keyed: random.below(3) == 0,
            given,
            body,
            script,
            keeps_alive: random.below(2) == 0,
            status_as_error: random.below(2) == 0,
            deadline: (random.below(3) == 0)
                .then(|| Duration::from_millis(4_000 + random.below(40_000))),
            tokens: u32::try_from(random.below(8)).unwrap(),
            record: (random.below(3) == 0).then(|| {
                let by = [By::Plain, By::Reported, By::Retrying][random.size(3)];
                (by, (0..9).map(|_| at_once(&mut random)).collect())
            }),
        }
    }

    fn server(&self) -> Server {
        let server = Server::new(self.script.clone());
        let server = server.with_clock(ManualRuntime::new().seeded(self.seed));
        if self.keeps_alive {
            server.keeping_alive()
        } else {
            server
        }
    }

    fn policy(&self) -> RetryPolicy {
        let policy = RetryPolicy::background()
            .to_builder()
            .attempt_timeout(SECOND * 4);
        let policy = match self.deadline {
            Some(deadline) => policy.deadline(deadline),
            None => policy,
        };
        policy.build().unwrap()
    }

    /// Processing it twice does harm.
    fn is_once(&self) -> bool {
        !self.keyed && matches!(self.method, Method::POST | Method::PATCH)
    }

    fn send(&self, agent: &Agent, slot: &http_retry_core::ReportSlot) -> Result<u16, Error> {
        let request = Request::builder()
            .method(self.method.clone())
            .uri("http://a.example/orders")
            .extension(slot.clone());
        let request = if self.keyed {
            request.header("idempotency-key", "k")
        } else {
            request
        };
        let response = match self.given {
            Given::Nothing => agent.run(request.body(())?)?,
            Given::Bytes => agent.run(request.body(&self.body[..])?)?,
            Given::Reader => {
                let reader = io::Cursor::new(self.body.clone());
                agent.run(request.body(SendBody::from_owned_reader(reader))?)?
            }
            Given::Failing(after, kind) => {
                let after = u64::try_from(after).unwrap();
                let reader = io::Read::take(io::Cursor::new(self.body.clone()), after);
                let reader = Failing(reader, kind);
                agent.run(request.body(SendBody::from_owned_reader(reader))?)?
            }
        };
        Ok(response.status().as_u16())
    }
}

/// Played on the server, the call's own request may be repeated after this end.
fn is_unprocessed(step: &Step) -> bool {
    match step {
        Step::NoHost
        | Step::NoResolver
        | Step::Refused
        | Step::HandshakeReset
        | Step::HandshakeEof
        | Step::ConnectHangs => true,
        Step::Response { status, .. } => matches!(status, 408 | 425 | 429),
        _ => false,
    }
}

/// The requests for the schedule's own URL, without those that redirects led to.
fn own(received: Vec<Received>) -> Vec<Received> {
    let own = received.into_iter();
    own.filter(|one| one.head.contains(" /orders HTTP/1.1"))
        .collect()
}

/// Plays a schedule, and returns why it ended.
fn play(schedule: &Schedule) -> StopReason {
    let server = schedule.server();
    let tokens = schedule.tokens;
    let budget = RetryBudget::builder()
        .capacity(20)
        .initial(tokens)
        .per_success(0);
    let budget = budget.build().unwrap();
    let spent = Arc::new(AtomicU64::new(0));
    let own_spent = Arc::clone(&spent);
    let retries = Retries::new(schedule.policy())
        .budget(budget.clone())
        .replay_limit(LIMIT)
        .observe(move |event: &RetryEvent<'_>| {
            if let RetryEventKind::AttemptStarted { number, .. } = event.kind {
                own_spent.store(number.into(), Ordering::Relaxed);
            }
        });
    let as_error = schedule.status_as_error;
    let records = schedule.record.as_ref().map(|(by, script)| {
        let records = Server::new(script.clone()).with_clock(server.clock.clone());
        Records(*by, by.agent(&records))
    });
    let agent = server.agent_with(retries, |config| {
        let config = config.http_status_as_error(as_error);
        match &records {
            Some(records) => config.middleware(records.clone()),
            None => config,
        }
    });
    let slot = RetryReport::slot();
    let result = schedule.send(&agent, &slot);
    let report = slot.take().unwrap();
    check_received(schedule, &server);
    check_result(schedule, &result, &report);
    check_time(&server, &report);
    check_tokens(schedule, &budget, &report);
    let counted = u64::from(report.attempt_count);
    assert_eq!(spent.load(Ordering::Relaxed), counted);
    drop(result);
    drop(agent);
    let (opened, closed) = server.connections();
    assert_eq!(opened, closed, "a connection is left");
    report.stop
}

fn check_received(schedule: &Schedule, server: &Server) {
    let received = own(server.received());
    for one in &received {
        let is_cut = matches!(one.step, Step::ResetAtWrite | Step::ResetInBody)
            || matches!(schedule.given, Given::Failing(..));
        let body = one.content_or_cut(is_cut);
        assert!(schedule.body.starts_with(&body), "other bytes");
        assert!(
            is_cut || body.len() == schedule.body.len(),
            "{} bytes",
            body.len()
        );
        if !schedule.body.is_empty() && matches!(schedule.given, Given::Bytes) {
            let length = one.header("content-length").unwrap();
            assert_eq!(length, schedule.body.len().to_string());
        }
    }
    if schedule.is_once() {
        let before_last = received.len().saturating_sub(1);
        for one in &received[..before_last] {
            assert!(
                is_unprocessed(&one.step),
                "it was sent again after {:?}",
                one.step
            );
        }
    }
}

fn check_result(schedule: &Schedule, result: &Result<u16, Error>, report: &RetryReport) {
    let last = report.attempts.last().unwrap();
    match (result, last.status.map(|status| status.as_u16())) {
        (Ok(status), Some(own)) => {
            assert_eq!(*status, own);
            assert!(!schedule.status_as_error || *status < 400);
        }
        (Err(Error::StatusCode(status)), Some(own)) => {
            assert_eq!(*status, own);
            let by_record = matches!(schedule.record, Some((By::Plain, _)));
            assert!((schedule.status_as_error || by_record) && own >= 400);
        }
        (Err(_), None) => {}
        // A response that was let go before a wait, after which no time was left.
        (Err(Error::Timeout(_)), Some(_)) => {
            assert_eq!(report.stop, StopReason::DeadlineExceeded);
        }
        other => panic!("{other:?}: {report:?}"),
    }
}

fn check_time(server: &Server, report: &RetryReport) {
    let spent: Duration = report.attempts.iter().map(|one| one.took + one.delay).sum();
    // A failed response that stalls is read for a second before the wait, and takes it from the wait.
    let now = server.clock.now();
    assert!(
        spent <= now + Duration::from_millis(1),
        "{spent:?} of {now:?}"
    );
    assert!(now <= spent + SECOND * 5, "{spent:?} of {now:?}");
    let has_stalled = server.met().iter().any(|step| {
        matches!(
            step,
            Step::Response {
                end: BodyEnd::Stalls,
                ..
            }
        )
    });
    if !has_stalled && report.stop != StopReason::DeadlineExceeded {
        assert!(
            now <= spent + Duration::from_millis(1),
            "{spent:?} of {now:?}"
        );
    }
    for one in &report.attempts {
        assert!(one.took <= SECOND * 4 + Duration::from_millis(1), "{one:?}");
    }
}

/// Each retry that was sent has cost what its policy says, and none that was not.
fn check_tokens(schedule: &Schedule, budget: &RetryBudget, report: &RetryReport) {
    let attempts = &report.attempts;
    let retried = attempts.iter().zip(attempts.iter().skip(1));
    let costs = retried.map(|(before, after)| {
        let is_timeout = before.error.is_some_and(|kind| {
            use http_retry_core::ErrorKind as Kind;
            matches!(kind, Kind::Timeout | Kind::ConnectTimeout)
        });
        let is_gated = after.delay_source == Some(http_retry_core::policy::DelaySource::Gate);
        match (is_gated, is_timeout) {
            (true, _) => 0,
            (false, true) => 2,
            (false, false) => 1,
        }
    });
    let spent: u64 = costs.sum();
    let left = budget.available(Duration::ZERO);
    assert_eq!(left + spent, u64::from(schedule.tokens), "{report:?}");
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts are asked for")]
fn what_must_be_processed_once_is_never_received_twice() {
    let count = std::env::var("HTTP_RETRY_SCHEDULES").ok();
    let count = count.map_or(SCHEDULES, |count| count.parse().unwrap());
    let mut ends = BTreeMap::<&str, u64>::new();
    for seed in 0..count {
        let schedule = Schedule::of(seed);
        let played = std::panic::catch_unwind(|| play(&schedule));
        let stop = played.unwrap_or_else(|_| panic!("seed {seed}: {:?}", schedule.script));
        *ends.entry(stop.as_str()).or_default() += 1;
    }
    println!("{count} schedules: {ends:?}");
    // Every reason that these policies have must come up, or the schedules test less than they say.
    for stop in [
        "succeeded",
        "not_idempotent",
        "body_not_replayable",
        "budget_exhausted",
        "deadline_exceeded",
        "attempts_exhausted",
    ] {
        assert!(ends.contains_key(stop), "{stop}: {ends:?}");
    }
}
