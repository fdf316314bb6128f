//! Any policy, any outcomes at any moments: a session keeps its limits, repeats itself, and a budget loses no token.
#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry::budget::PaidRetry;
use http_retry::policy::{Decimal, DelaySource, ErrorKind, Moment, RetrySession};
use http_retry::{
    Backoff, Class, Jitter, Methods, Outcome, Reach, RequestFacts, RetryBudget, RetryOverride,
    RetryPolicy, StopReason,
};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|input: Input| {
    let (Some(policy), Some(budget)) = (input.rules.policy(), input.purse.budget()) else {
        return;
    };
    let again = input.purse.budget().expect("it was one before");
    let first = Run::new(&input, &policy, budget).decisions();
    let second = Run::new(&input, &policy, again).decisions();
    assert_eq!(first, second, "the same calls give the same decisions");
});

#[derive(Debug, Arbitrary)]
struct Input {
    rules: Rules,
    purse: Purse,
    request: OneRequest,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
struct Rules {
    max_retries: u32,
    as_attempts: bool,
    backoff: Growth,
    factor: Number,
    first_step: u8,
    jitter: Spread,
    cap: u8,
    max_delay: Option<Option<Time>>,
    deadline: Option<Time>,
    attempt_timeout: Option<Time>,
    max_server_delay: Option<Time>,
    all_methods: bool,
    own_rule: bool,
}

#[derive(Debug, Arbitrary)]
enum Growth {
    None,
    Fixed(Time),
    Linear(Time),
    Exponential(Time),
    Schedule(Vec<Time>),
    Custom(Time),
}

#[derive(Debug, Arbitrary)]
enum Spread {
    None,
    Full,
    Equal,
    Between(Number, Number),
    Decorrelated,
}

/// A decimal that is often one.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Number {
    Whole(u16),
    Micros(u32),
    Float(f64),
}

/// A time that is often a short one.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Time {
    Milliseconds(u16),
    Any(Duration),
}

#[derive(Debug, Arbitrary)]
struct Purse {
    capacity: Number,
    initial: Option<Number>,
    growth: Option<Time>,
    per_second: Number,
    per_success: Number,
    retry_cost: Number,
    timeout_cost: Option<Number>,
}

#[derive(Debug, Arbitrary)]
struct OneRequest {
    idempotent: bool,
    replayable: bool,
    started: Time,
    own: Option<Own>,
}

#[derive(Debug, Arbitrary)]
struct Own {
    off: bool,
    max_retries: Option<u32>,
    idempotent: Option<bool>,
    deadline: Option<Time>,
}

#[derive(Debug, Arbitrary)]
struct Step {
    what: What,
    now: Time,
    wall: Time,
    random: u64,
    replayable: bool,
    deposits: u8,
    committed: bool,
}

#[derive(Debug, Arbitrary)]
enum What {
    Status(u16),
    Asking(u8, u64),
    Error(u8),
    Custom(bool, bool),
}

impl Number {
    fn decimal(self) -> Decimal {
        match self {
            Self::Whole(whole) => Decimal::from(u32::from(whole)),
            Self::Micros(micros) => Decimal::from(f64::from(micros) / 1e6),
            Self::Float(float) => Decimal::from(float),
        }
    }
}

impl Time {
    fn duration(self) -> Duration {
        match self {
            Self::Milliseconds(milliseconds) => Duration::from_millis(u64::from(milliseconds)),
            Self::Any(duration) => duration,
        }
    }
}

impl Growth {
    fn backoff(&self) -> Backoff {
        match self {
            Self::None => Backoff::none(),
            Self::Fixed(time) => Backoff::fixed(time.duration()),
            Self::Linear(time) => Backoff::linear(time.duration()),
            Self::Exponential(time) => Backoff::exponential(time.duration()),
            Self::Schedule(times) => {
                let times: Vec<_> = times.iter().map(|time| time.duration()).collect();
                Backoff::schedule(times)
            }
            Self::Custom(time) => {
                let step = time.duration();
                Backoff::custom(move |n| step.saturating_mul(n))
            }
        }
    }
}

impl Spread {
    fn jitter(&self) -> Jitter {
        match self {
            Self::None => Jitter::None,
            Self::Full => Jitter::Full,
            Self::Equal => Jitter::Equal,
            Self::Between(min, max) => Jitter::between(min.decimal(), max.decimal()),
            Self::Decorrelated => Jitter::Decorrelated,
        }
    }
}

impl Rules {
    fn policy(&self) -> Option<RetryPolicy> {
        let builder = RetryPolicy::builder()
            .backoff(self.backoff())
            .deadline(self.deadline.map(Time::duration))
            .attempt_timeout(self.attempt_timeout.map(Time::duration))
            .max_server_delay(self.max_server_delay.map(Time::duration));
        let builder = match self.as_attempts {
            true => builder.max_attempts(self.max_retries),
            false => builder.max_retries(self.max_retries),
        };
        let builder = match self.all_methods {
            true => builder.methods(Methods::All),
            false => builder,
        };
        let builder = match self.own_rule {
            true => builder.classify(|outcome| {
                let locked = outcome.status().is_some_and(|status| status == 409);
                locked.then_some((Class::Transient, Reach::Refused))
            }),
            false => builder,
        };
        // What cannot work is refused, with the field's name.
        let built = builder.build();
        built
            .map_err(|error| assert!(!error.field().is_empty()))
            .ok()
    }

    fn backoff(&self) -> Backoff {
        let backoff = self.backoff.backoff();
        let backoff = backoff
            .factor(self.factor.decimal())
            .first_step(u32::from(self.first_step))
            .jitter(self.jitter.jitter());
        let backoff = match self.cap % 3 {
            0 => backoff,
            1 => backoff.cap_before_jitter(),
            _ => backoff.cap_after_jitter(),
        };
        match self.max_delay {
            Some(most) => backoff.max_delay(most.map(Time::duration)),
            None => backoff,
        }
    }

    fn max_retries(&self) -> u32 {
        match self.as_attempts {
            true => self.max_retries.saturating_sub(1),
            false => self.max_retries,
        }
    }

    /// The longest delay of the policy's own, where there is a bound.
    fn longest(&self) -> Option<Duration> {
        let most = self.max_delay.flatten().map(Time::duration);
        most.filter(|_| self.cap % 3 != 1)
    }
}

impl Purse {
    fn budget(&self) -> Option<RetryBudget> {
        let mut builder = RetryBudget::builder()
            .capacity(self.capacity.decimal())
            .per_second(self.per_second.decimal())
            .per_success(self.per_success.decimal())
            .retry_cost(self.retry_cost.decimal());
        if let Some(initial) = self.initial {
            builder = builder.initial(initial.decimal());
        }
        if let Some(growth) = self.growth {
            builder = builder.growth(growth.duration());
        }
        if let Some(cost) = self.timeout_cost {
            builder = builder.timeout_cost(cost.decimal());
        }
        let built = builder.build();
        built
            .map_err(|error| assert!(!error.field().is_empty()))
            .ok()
    }
}

impl OneRequest {
    fn session(&self, policy: &RetryPolicy) -> RetrySession {
        let facts = RequestFacts::operation()
            .idempotent(self.idempotent)
            .replayable(self.replayable);
        let session = policy.session(facts, self.started.duration());
        match &self.own {
            Some(own) => session.with_override(&own.settings()),
            None => session,
        }
    }
}

impl Own {
    fn settings(&self) -> RetryOverride {
        let mut own = match self.off {
            true => RetryOverride::off(),
            false => RetryOverride::new(),
        };
        if let Some(most) = self.max_retries {
            own = own.max_retries(most);
        }
        if let Some(idempotent) = self.idempotent {
            own = own.idempotent(idempotent);
        }
        match self.deadline {
            Some(deadline) => own.deadline(deadline.duration()),
            None => own,
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

const ASKING: [&str; 4] = [
    "retry-after",
    "retry-after-ms",
    "x-amz-retry-after",
    "x-ratelimit-reset",
];

impl What {
    fn headers(&self) -> HeaderMap {
        match self {
            Self::Asking(name, number) => {
                let name = ASKING[usize::from(*name) % ASKING.len()];
                HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from(*number))])
            }
            _ => HeaderMap::new(),
        }
    }

    fn outcome<'a>(&self, headers: &'a HeaderMap) -> Outcome<'a> {
        match self {
            Self::Status(status) => {
                let status = StatusCode::from_u16(100 + status % 900).expect("100 to 999");
                Outcome::response(status, headers)
            }
            Self::Asking(name, _) => match name / 64 {
                0 => Outcome::response(StatusCode::TOO_MANY_REQUESTS, headers),
                1 => Outcome::response(StatusCode::PAYLOAD_TOO_LARGE, headers),
                _ => Outcome::response(StatusCode::SERVICE_UNAVAILABLE, headers),
            },
            Self::Error(kind) => Outcome::error(ERRORS[usize::from(*kind) % ERRORS.len()]),
            Self::Custom(transient, refused) => Outcome::success().with(
                if *transient {
                    Class::Transient
                } else {
                    Class::Throttled
                },
                if *refused {
                    Reach::Refused
                } else {
                    Reach::Ambiguous
                },
            ),
        }
    }
}

/// One request's way, with everything checked on it.
struct Run<'a> {
    input: &'a Input,
    policy: &'a RetryPolicy,
    budget: RetryBudget,
    session: RetrySession,
    /// The retries that count, and with those that were sent back to the gate.
    applied: u32,
    sent: u32,
}

/// What came of an outcome: a delay, or why there was none.
type Decided = Result<Duration, StopReason>;

impl<'a> Run<'a> {
    fn new(input: &'a Input, policy: &'a RetryPolicy, budget: RetryBudget) -> Self {
        let session = input.request.session(policy);
        Self {
            input,
            policy,
            budget,
            session,
            applied: 0,
            sent: 0,
        }
    }

    fn decisions(mut self) -> Vec<Decided> {
        let steps = self.input.steps.iter();
        steps.map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> Decided {
        let headers = step.what.headers();
        let outcome = self.policy.classify(step.what.outcome(&headers));
        let moment = Moment::new(step.now.duration())
            .with_wall(step.wall.duration())
            .with_random(step.random);
        self.session.set_replayable(step.replayable);
        (0..step.deposits).for_each(|_| self.budget.deposit(moment.now));
        self.check_attempt_limit(moment.now);
        let may_retry = self.session.may_retry();
        let untouched = format!("{:?}", self.session);
        let plan = self.session.plan(&outcome, moment);
        assert_eq!(untouched, format!("{:?}", self.session), "a plan has left a trace");
        let plan = plan?;
        assert!(may_retry && step.replayable);
        assert_eq!(
            (plan.retry(), self.session.retries()),
            (self.sent + 1, self.applied)
        );
        let before = self.budget.tokens(moment.now);
        let paid = self.budget.withdraw(plan, moment.now);
        if let Ok(paid) = &paid {
            self.session.apply(paid);
            self.sent += 1;
            self.applied += u32::from(!is_gated(paid));
            self.check_outcome(&outcome);
        }
        assert_eq!(self.session.retries(), self.applied);
        self.pay(paid, step.committed, before, &outcome, moment)
    }

    fn max_retries(&self) -> u32 {
        let own = self.input.request.own.as_ref();
        let own = own.and_then(|own| own.max_retries);
        own.unwrap_or(self.input.rules.max_retries())
    }

    fn check_attempt_limit(&self, now: Duration) {
        let limit = self.session.attempt_limit(now);
        let timeout = self.input.rules.attempt_timeout.map(Time::duration);
        assert!(timeout.is_none() || limit <= timeout && limit.is_some());
        let left = self
            .session
            .deadline()
            .map(|deadline| deadline.saturating_sub(now));
        assert!(left.is_none() || limit <= left && limit.is_some());
    }

    /// Only what may be repeated is.
    fn check_outcome(&self, outcome: &Outcome<'_>) {
        assert!(
            self.applied <= self.max_retries(),
            "more retries than allowed"
        );
        assert!(matches!(
            outcome.class(),
            Class::Transient | Class::Throttled
        ));
        assert!(self.session.is_idempotent() || outcome.reach().is_unprocessed());
        let off = self.input.request.own.as_ref().is_some_and(|own| own.off);
        assert!(!off, "a retry of a request that wants none");
    }

    /// A granted retry costs something once it is sent, and nothing before; a refused one costs nothing.
    fn pay(
        &self,
        paid: Result<PaidRetry, StopReason>,
        committed: bool,
        before: Option<http_retry::policy::Decimal>,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Decided {
        let tokens = || self.budget.tokens(moment.now);
        let paid = match paid {
            Ok(paid) => paid,
            Err(why) => {
                assert_eq!((why, tokens()), (StopReason::BudgetExhausted, before));
                return Err(why);
            }
        };
        self.check_delay(&paid, outcome, moment);
        let (delay, is_free) = (paid.delay(), is_gated(&paid));
        assert_eq!(tokens() == before, is_free, "what it costs");
        match committed {
            true => {
                paid.commit();
                assert_eq!(tokens() == before, is_free, "what it costs in the end");
            }
            false => {
                drop(paid);
                assert_eq!(tokens(), before, "a token is lost");
            }
        }
        Ok(delay)
    }

    fn check_delay(&self, paid: &PaidRetry, outcome: &Outcome<'_>, moment: Moment) {
        let delay = paid.delay();
        let asked = outcome.server_delay(moment.wall).unwrap_or_default();
        assert!(delay >= asked, "{delay:?} is earlier than {asked:?}");
        let due = moment.now.saturating_add(delay);
        assert!(
            self.session
                .deadline()
                .is_none_or(|deadline| due < deadline)
        );
        if is_gated(paid) {
            return;
        }
        let most = self.input.rules.max_server_delay.map(Time::duration);
        assert!(most.is_none_or(|most| asked <= most));
        if let Some(own) = self.input.rules.longest() {
            let spread = (asked / 5).min(Duration::from_secs(10));
            assert!(delay <= own.max(asked).saturating_add(spread), "{delay:?}");
        }
    }
}

/// Whether a 429 sends the request back to the gate, which counts as no retry and costs nothing.
fn is_gated(paid: &PaidRetry) -> bool {
    paid.source() == DelaySource::Gate
}
