//! The decisions about the copies of one attempt: when the next one is sent, and which result goes to the caller. Time
//! is an argument.

use http_retry_core::hedging::CopyEnd;
use std::time::Duration;

/// The copies of one attempt, from the first request on.
#[derive(Debug)]
pub(crate) struct Race {
    /// The time between a copy and the next; `None` if it is not known.
    wait: Option<Duration>,
    /// The time at which the next copy is due; `None` if none follows.
    due: Option<Duration>,
    /// The most hedges, and those that were paid for.
    max: u32,
    begun: u32,
    /// The copies without a result, those included that are about to be sent.
    running: u32,
    /// The meaning of the result that is kept for the caller.
    kept: Option<CopyEnd>,
}

/// The consequence of the end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Its result goes to the caller.
    Return,
    /// The result that is kept goes to the caller.
    ReturnKept,
    /// Its result is kept, in the place of another one, while the other copies go on.
    Keep,
    /// Its result is dropped, while the other copies go on.
    Drop,
}

impl Race {
    /// Begins with the first request, after which no hedge follows yet.
    pub(crate) fn new() -> Self {
        Self {
            wait: None,
            due: None,
            max: 0,
            begun: 0,
            running: 1,
            kept: None,
        }
    }

    /// Allows this many hedges, each after this time without a response, if the first request was sent at `started`.
    pub(crate) fn allow(&mut self, hedges: u32, wait: Duration, started: Duration) {
        self.wait = Some(wait);
        self.max = hedges;
        self.due = (hedges > 0).then(|| started.saturating_add(wait));
    }

    /// Returns the time after which a copy counts as slow, if it is known.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Returns the time at which the next hedge is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns the number of the next hedge; the first request is copy 1.
    pub(crate) fn next_copy(&self) -> u32 {
        self.begun.saturating_add(2)
    }

    /// Counts a hedge that is paid for, and about to be sent.
    pub(crate) fn begin(&mut self) {
        self.due = None;
        self.begun = self.begun.saturating_add(1);
        self.running = self.running.saturating_add(1);
    }

    /// Records that the hedge was sent.
    pub(crate) fn sent(&mut self, now: Duration) {
        let wait = self.wait.filter(|_| self.begun < self.max);
        self.due = wait.map(|wait| now.saturating_add(wait));
    }

    /// Sends no more hedges.
    pub(crate) fn stop(&mut self) {
        self.due = None;
        self.max = 0;
    }

    /// Records that a hedge that was begun is not sent after all. No other follows.
    pub(crate) fn withdraw(&mut self) {
        self.stop();
        self.running = self.running.saturating_sub(1);
    }

    /// Records the end of a copy. A failure ends hedging: the retry layer knows more about when to try again.
    #[must_use]
    pub(crate) fn ended(&mut self, end: CopyEnd) -> Next {
        self.stop();
        self.running = self.running.saturating_sub(1);
        // A server that asks to hold back says more than another failure.
        let kept_says_more = self.kept == Some(CopyEnd::Refused) && end == CopyEnd::Failed;
        match (end, self.running) {
            (CopyEnd::Success | CopyEnd::Permanent, _) => Next::Return,
            (_, 0) if kept_says_more => Next::ReturnKept,
            (_, 0) => Next::Return,
            _ if kept_says_more => Next::Drop,
            _ => {
                self.kept = Some(end);
                Next::Keep
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CopyEnd::{Failed, Permanent, Refused, Success};
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A race in which this many hedges have been sent, and none follows.
    fn with_hedges(hedges: u32) -> Race {
        let mut race = Race::new();
        race.allow(hedges, ms(10), ms(0));
        for _ in 0..hedges {
            race.begin();
            race.sent(ms(10));
        }
        race
    }

    #[test]
    fn each_hedge_is_due_after_the_copy_before_it() {
        let mut race = Race::new();
        assert_eq!(race.due(), None);
        race.allow(2, ms(10), ms(100));
        assert_eq!(race.due(), Some(ms(110)));
        race.begin();
        assert_eq!(race.due(), None, "while it is about to be sent");
        race.sent(ms(115));
        assert_eq!(race.due(), Some(ms(125)));
        race.begin();
        race.sent(ms(126));
        assert_eq!(race.due(), None);
    }

    #[test]
    fn the_first_response_is_returned_whatever_came_before() {
        for before in [&[][..], &[Failed], &[Refused], &[Failed, Refused]] {
            for end in [Success, Permanent] {
                let mut race = with_hedges(2);
                let kept = before.iter().map(|end| race.ended(*end));
                assert!(kept.eq(before.iter().map(|_| Next::Keep)));
                assert_eq!(race.ended(end), Next::Return, "{before:?}");
            }
        }
    }

    #[test]
    fn the_last_failure_or_one_that_asks_to_hold_back_is_returned() {
        for (ends, wanted) in [
            (
                [Failed, Failed, Failed],
                [Next::Keep, Next::Keep, Next::Return],
            ),
            (
                [Failed, Failed, Refused],
                [Next::Keep, Next::Keep, Next::Return],
            ),
            (
                [Failed, Refused, Failed],
                [Next::Keep, Next::Keep, Next::ReturnKept],
            ),
            (
                [Refused, Failed, Failed],
                [Next::Keep, Next::Drop, Next::ReturnKept],
            ),
            (
                [Refused, Failed, Refused],
                [Next::Keep, Next::Drop, Next::Return],
            ),
        ] {
            let mut race = with_hedges(2);
            assert_eq!(ends.map(|end| race.ended(end)), wanted, "{ends:?}");
        }
    }

    #[test]
    fn a_failure_ends_hedging() {
        let mut race = Race::new();
        race.allow(3, ms(10), ms(0));
        race.begin();
        race.sent(ms(10));
        assert_eq!((race.ended(Failed), race.due()), (Next::Keep, None));
        race.sent(ms(20));
        assert_eq!(race.due(), None);
    }

    #[test]
    fn a_hedge_that_is_not_sent_leaves_the_result_to_the_others() {
        let mut race = with_hedges(1);
        race.withdraw();
        assert_eq!(race.ended(Failed), Next::Return);
    }
}
