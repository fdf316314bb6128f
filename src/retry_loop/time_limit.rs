//! An attempt that may take no longer than so long.

use super::late::{Cut, Late, Sent, TimeIsUp, Until};
use super::planned::{Planned, Step};
use super::room::with_room;
use super::unpaid::UnpaidLate;
use super::{Progress, Repeat, Saved, Transport};
use crate::error::AttemptTimeout;
use crate::nested::AttemptMark;
use crate::policy::{ErrorBody, ErrorKind, Outcome, Stop};
use crate::runtime::within;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

impl Progress {
    /// Waits for an attempt, but past its limit only where there is nothing else to do.
    pub(super) async fn limited<T: Transport>(
        &mut self,
        sent: impl Future<Output = Result<T::Response, T::Error>>,
        mark: &AttemptMark,
        limit: Option<Duration>,
        saved: Option<Box<Saved<T>>>,
    ) -> Sent<T> {
        let mut sent = pin!(sent);
        let Some(limit) = limit else {
            return Sent::Done(sent.await, saved);
        };
        let timer = self.engine.runtime.sleep(limit);
        if let Some(result) = within(timer, sent.as_mut()).await {
            return Sent::Done(result, saved);
        }
        let time_is_up = match self.time_is_up::<T>(limit, Until::NoAnswer(mark), saved) {
            Ok(time_is_up) => time_is_up,
            Err(unpaid) => Box::pin(self.ask_for_late(unpaid)).await,
        };
        match time_is_up {
            TimeIsUp::Cut(cut) => Sent::Cut(cut),
            // What comes of the attempt is judged when it comes.
            TimeIsUp::Unsaid(_, saved) => Sent::Done(sent.await, saved),
        }
    }

    /// What follows from an attempt whose time is up, unless a fleet must be asked first; it is told unless the attempt goes
    /// on.
    ///
    /// # Errors
    ///
    /// What to ask the fleet for.
    pub(super) fn time_is_up<T: Transport>(
        &mut self,
        limit: Duration,
        until: Until<'_>,
        saved: Option<Box<Saved<T>>>,
    ) -> Result<TimeIsUp<T>, Box<UnpaidLate<T>>> {
        let answered = matches!(until, Until::AnAnswer);
        let whole = saved
            .as_ref()
            .is_some_and(|saved| T::Request::can_resend(saved, answered));
        self.session.set_replayable(whole);
        self.admission = None;
        let error = match answered {
            true => AttemptTimeout::new(limit).after_an_answer(),
            false => AttemptTimeout::new(limit),
        };
        let words = ErrorBody::of_words(&format!("timeout: {error}"));
        let timeout = self.timeout::<T>(until, &words, saved.as_deref());
        let request = self.session.request();
        let timeout = timeout.about(request.as_deref());
        let timeout = self.session.policy().classify(timeout);
        let at = self.engine.runtime.moment();
        self.look_around();
        let late = Late {
            error,
            answered,
            at,
        };
        match self.decide(&timeout, at) {
            Ok(decided) => Ok(self.after_its_time(decided, &timeout, late, saved)),
            Err(question) => Err(Box::new(UnpaidLate {
                question,
                words,
                late,
                saved,
            })),
        }
    }

    /// The outcome of an attempt whose time is up, which these words tell.
    fn timeout<'a, T: Transport>(
        &self,
        until: Until<'_>,
        words: &'a ErrorBody,
        saved: Option<&Saved<T>>,
    ) -> Outcome<'a> {
        let timeout = Outcome::error(ErrorKind::Timeout).with_error_body(words);
        match until {
            Until::AnAnswer => timeout.after_an_answer(),
            Until::NoAnswer(mark) => {
                let trail = T::trail(self.session.policy(), saved, None);
                timeout.redirected(self.redirected(mark, trail))
            }
        }
    }

    /// What follows once it is decided.
    pub(super) fn after_its_time<T: Transport>(
        &mut self,
        decided: Result<Planned, Stop>,
        timeout: &Outcome<'_>,
        late: Late,
        saved: Option<Box<Saved<T>>>,
    ) -> TimeIsUp<T> {
        let Late {
            error,
            answered,
            at,
        } = late;
        let decided = decided.and_then(|planned| with_room::<T>(planned, saved.as_deref()));
        let (stop, saved) = match (decided, saved) {
            (Ok(planned), Some(saved)) => {
                self.tell(timeout, at, planned.by(), false);
                return TimeIsUp::Cut(Cut::Retry(planned, T::cut(error), saved));
            }
            (Ok(planned), None) => (planned.without_a_body(), None),
            (Err(stop), saved) => (stop, saved),
        };
        let error = T::cut(error);
        if error.is_some() || answered {
            self.tell(timeout, at, stop.by, false);
        }
        match error {
            Some(error) => TimeIsUp::Cut(Cut::Stop(error, stop)),
            None => TimeIsUp::Unsaid(stop, saved),
        }
    }

    /// Goes on after an attempt that was cut.
    pub(super) fn after_cut<T: Transport>(&mut self, cut: Cut<T>) -> Step<T> {
        match cut {
            Cut::Retry(planned, error, saved) => self.retry(planned, error.map(Err), saved),
            Cut::Stop(error, stop) => Step::Stop(Err(error), stop),
        }
    }

    /// Cuts a first attempt that somebody else has made, with this mark, and whose time is up.
    ///
    /// # Errors
    ///
    /// What later attempts are made of, where the attempt must go on: nothing could say that it was cut.
    #[cfg(any(feature = "tower", feature = "reqwest"))]
    pub(crate) fn cut_first<T: Transport>(
        mut self,
        (mark, started): (&AttemptMark, Duration),
        saved: Option<Box<Saved<T>>>,
    ) -> Result<Box<CutFirst<T>>, Option<Box<Saved<T>>>> {
        let (_, attempt) = self.attempt_starts(started);
        let limit = attempt.limit().unwrap_or_default();
        let then = match self.time_is_up::<T>(limit, Until::NoAnswer(mark), saved) {
            Ok(TimeIsUp::Cut(cut)) => Then::Cut(cut),
            Ok(TimeIsUp::Unsaid(_, saved)) => return Err(saved),
            Err(unpaid) => match T::cut(unpaid.late.error) {
                Some(error) => Then::Asks(unpaid, error),
                None => return Err(unpaid.saved),
            },
        };
        let progress = self;
        Ok(Box::new(CutFirst { progress, then }))
    }

    /// Goes on after a first attempt that was cut, once the fleet has said what it is asked.
    #[cfg(any(feature = "tower", feature = "reqwest"))]
    pub(super) async fn after_first_cut<T: Transport>(&mut self, then: Then<T>) -> Step<T> {
        let cut = match then {
            Then::Cut(cut) => cut,
            Then::Asks(unpaid, error) => match Box::pin(self.ask_for_late(unpaid)).await {
                TimeIsUp::Cut(cut) => cut,
                TimeIsUp::Unsaid(stop, _) => Cut::Stop(error, stop),
            },
        };
        self.after_cut(cut)
    }
}

/// A first attempt that somebody else has made and is about to drop, and how the request goes on.
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) struct CutFirst<T: Transport> {
    pub(super) progress: Progress,
    pub(super) then: Then<T>,
}

/// How a request goes on after a first attempt that was cut.
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(super) enum Then<T: Transport> {
    Cut(Cut<T>),
    /// A fleet must be asked first. If no retry follows, this is what the caller gets.
    Asks(Box<UnpaidLate<T>>, T::Error),
}
