//! Any policy, any outcomes at any moments: a session keeps its limits, repeats itself, and a budget loses no token.
#![no_main]

#[path = "session/rules.rs"]
mod rules;
#[path = "session/steps.rs"]
mod steps;

use http_retry::budget::PaidRetry;
use http_retry::policy::{DelaySource, Moment, RetrySession};
use http_retry::{Class, ErrorKind, Outcome, RetryBudget, RetryPolicy, StopReason};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use rules::{Purse, Rules, Time};
use std::time::Duration;
use steps::{OneRequest, Step};

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

/// The retries of a call for which its budget may ask nothing.
const SPARED_RETRIES: u32 = 2;

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
        assert_eq!(
            untouched,
            format!("{:?}", self.session),
            "a plan has left a trace"
        );
        let plan = plan?;
        assert!(may_retry && step.replayable);
        assert_eq!(self.session.retries(), self.applied);
        let before = self.budget.tokens_at(moment.now);
        let paid = self.budget.withdraw(plan, moment.now);
        if let Ok(paid) = &paid {
            self.session.apply(paid);
            self.sent += 1;
            assert_eq!(paid.retry(), self.sent);
            self.applied += 1;
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
        let is_harmless = self.input.request.is_harmless_twice(&self.input.rules);
        assert!(is_harmless || outcome.reach().is_unprocessed());
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
        let tokens = || self.budget.tokens_at(moment.now);
        let paid = match paid {
            Ok(paid) => paid,
            Err(why) => {
                assert_eq!((why, tokens()), (StopReason::BudgetExhausted, before));
                return Err(why);
            }
        };
        self.check_delay(&paid, outcome, moment);
        let (delay, is_free) = (paid.delay(), tokens() == before);
        // The budget spares a call that was under way when trouble began.
        let may_be_spared = paid.retry() <= SPARED_RETRIES
            && self.input.purse.earns()
            && outcome.error_kind() != Some(ErrorKind::Timeout);
        assert!(is_free || !is_gated(&paid), "the gate has its price");
        assert!(!is_free || is_gated(&paid) || may_be_spared, "it is free");
        if committed {
            paid.commit();
            assert_eq!(tokens() == before, is_free, "what it costs in the end");
        } else {
            drop(paid);
            assert_eq!(tokens(), before, "a token is lost");
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

/// Whether a 429 sends the request back to the gate, which costs nothing.
fn is_gated(paid: &PaidRetry) -> bool {
    paid.source() == DelaySource::Gate
}
