//! An attempt that may take no longer than so long.

use super::paying::with_room;
use super::{Outcomes, Progress, Repeat, Saved, Step, Transport};
use crate::budget::PaidRetry;
use crate::error::AttemptTimeout;
use crate::nested::AttemptMark;
use crate::policy::{Attempt, ErrorBody, ErrorKind, Moment, Outcome, Redirected, Stop, StopReason};
use crate::runtime::within;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// How long an attempt may take, and when it must be over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) most: Duration,
    until: Duration,
}

impl Limit {
    /// That of an attempt, if it has one.
    pub(super) fn of(attempt: Attempt, started: Duration) -> Option<Self> {
        let most = attempt.limit()?;
        let until = started.saturating_add(most);
        Some(Self { most, until })
    }

    pub(super) fn left(self, now: Duration) -> Duration {
        self.until.saturating_sub(now)
    }
}

/// When and how an attempt ran out of time.
#[derive(Clone, Copy)]
pub(super) struct Late {
    error: AttemptTimeout,
    at: Moment,
    /// What was seen of redirects; nothing where an answer has come, which was not whole.
    redirected: Option<Redirected>,
}

impl Late {
    fn is_answered(&self) -> bool {
        self.redirected.is_none()
    }

    fn words(&self) -> ErrorBody {
        ErrorBody::of_words(&format!("timeout: {}", self.error))
    }

    /// What such an attempt means, with these words.
    fn outcome<'a>(&self, words: &'a ErrorBody) -> Outcome<'a> {
        let timeout = Outcome::error(ErrorKind::Timeout).with_body(words);
        match self.redirected {
            Some(redirected) => timeout.redirected(redirected),
            None => timeout.after_an_answer(),
        }
    }
}

/// The client's error type cannot say that an attempt was cut, and no retry follows: the end of the request, and what later
/// attempts would be made of.
type Unsaid<T> = (Stop, Option<Box<Saved<T>>>);

impl Progress {
    /// Waits for an attempt, but past its limit only where there is nothing else to do.
    ///
    /// # Errors
    ///
    /// What follows where the attempt is cut.
    pub(super) async fn limited<T: Transport>(
        &mut self,
        sent: impl Future<Output = Outcomes<T>>,
        mark: &AttemptMark,
        limit: Option<Duration>,
        saved: Option<Box<Saved<T>>>,
    ) -> Result<(Outcomes<T>, Option<Box<Saved<T>>>), Box<Step<T>>> {
        let mut sent = pin!(sent);
        let Some(limit) = limit else {
            return Ok((sent.await, saved));
        };
        let timer = self.engine.runtime.sleep(limit);
        if let Some(result) = within(timer, sent.as_mut()).await {
            return Ok((result, saved));
        }
        let late = self.late::<T>(limit, mark, saved.as_deref());
        match Box::pin(self.time_is_up::<T>(late, saved)).await {
            Ok(step) => Err(Box::new(step)),
            // What comes of the attempt is judged when it comes.
            Err((_, saved)) => Ok((sent.await, saved)),
        }
    }

    /// An attempt that is late now, and to which nothing was answered.
    fn late<T: Transport>(
        &self,
        limit: Duration,
        mark: &AttemptMark,
        saved: Option<&Saved<T>>,
    ) -> Late {
        let trail = T::trail(self.session.policy(), saved, None);
        Late {
            error: self.timeout(limit),
            at: self.engine.runtime.moment(),
            redirected: Some(self.redirected(mark, trail)),
        }
    }

    /// An attempt that is late now, and whose answer was not whole.
    pub(super) fn late_answer(&self, limit: Duration) -> Late {
        Late {
            error: self.timeout(limit).after_an_answer(),
            at: self.engine.runtime.moment(),
            redirected: None,
        }
    }

    /// The error of the attempt under way, which had this limit.
    fn timeout(&self, limit: Duration) -> AttemptTimeout {
        let timeout = AttemptTimeout::new(limit).on_attempt(self.recorder.number());
        if self.time_left() == Some(Duration::ZERO) {
            timeout.by_deadline()
        } else {
            timeout
        }
    }

    /// What follows from an attempt whose time is up; it is told unless the attempt goes on.
    pub(super) async fn time_is_up<T: Transport>(
        &mut self,
        late: Late,
        saved: Option<Box<Saved<T>>>,
    ) -> Result<Step<T>, Unsaid<T>> {
        let (words, request) = (late.words(), self.session.request());
        let timeout = late.outcome(&words).about(request.as_deref());
        self.is_late::<T>(late, saved.as_deref());
        let timeout = self.session.policy().classify(timeout);
        let decided = self.decide(&timeout, late.at).await;
        let decided = decided.and_then(|paid| with_room::<T>(paid, saved.as_deref()));
        let (stop, saved) = match (decided, saved) {
            (Ok(paid), Some(saved)) => return Ok(self.cut(paid, &timeout, late, saved)),
            (Ok(paid), None) => (paid.plan().refused(StopReason::BodyNotReplayable), None),
            (Err(stop), saved) => (stop, saved),
        };
        let error = T::cut(late.error);
        if error.is_some() || late.is_answered() {
            self.tell(&timeout, None, late.at, stop.by, false);
        }
        match error {
            Some(error) => Ok(Step::Stop(Err(error), stop)),
            None => Err((stop, saved)),
        }
    }

    /// Nobody waits for the attempt any more but who lets it go on.
    fn is_late<T: Transport>(&mut self, late: Late, saved: Option<&Saved<T>>) {
        let whole = saved.is_some_and(|saved| T::Request::can_resend(saved, late.is_answered()));
        self.session.set_replayable(whole);
        self.admission = None;
        self.look_around();
    }

    /// The retry after an attempt that is cut for it.
    fn cut<T: Transport>(
        &mut self,
        paid: PaidRetry,
        timeout: &Outcome<'_>,
        late: Late,
        saved: Box<Saved<T>>,
    ) -> Step<T> {
        self.tell(timeout, None, late.at, paid.plan().by, false);
        self.retry(paid, late.at, T::cut(late.error).map(Err), saved)
    }

    /// Cuts a first attempt that somebody else has made, with this mark, and whose time is up.
    ///
    /// # Errors
    ///
    /// What later attempts are made of, where the attempt must go on: nothing could say that it was cut.
    pub(crate) fn cut_first<T: Transport>(
        mut self,
        (mark, started): (&AttemptMark, Duration),
        saved: Option<Box<Saved<T>>>,
    ) -> Result<Box<CutFirst<T>>, Option<Box<Saved<T>>>> {
        let (_, attempt) = self.attempt_starts(started);
        let limit = attempt.limit().unwrap_or_default();
        let late = self.late::<T>(limit, mark, saved.as_deref());
        let cut = match T::cut(late.error) {
            Some(error) => FirstCut::Ends(late, saved, error),
            None => FirstCut::Goes(self.cut_for_a_retry(late, saved)?),
        };
        let progress = self;
        Ok(Box::new(CutFirst { progress, cut }))
    }

    /// The retry that follows at once from an attempt whose time is up.
    ///
    /// # Errors
    ///
    /// What later attempts are made of, where there is none.
    fn cut_for_a_retry<T: Transport>(
        &mut self,
        late: Late,
        saved: Option<Box<Saved<T>>>,
    ) -> Result<Step<T>, Option<Box<Saved<T>>>> {
        let (words, request) = (late.words(), self.session.request());
        let timeout = late.outcome(&words).about(request.as_deref());
        self.is_late::<T>(late, saved.as_deref());
        let timeout = self.session.policy().classify(timeout);
        let paid = self.decide_at_once(&timeout, late.at);
        let paid = paid.and_then(|paid| with_room::<T>(paid, saved.as_deref()).ok());
        match (paid, saved) {
            (Some(paid), Some(saved)) => Ok(self.cut(paid, &timeout, late, saved)),
            (_, saved) => Err(saved),
        }
    }

    /// Goes on after a first attempt that was cut.
    pub(super) async fn after_first_cut<T: Transport>(&mut self, cut: FirstCut<T>) -> Step<T> {
        match cut {
            FirstCut::Goes(step) => step,
            FirstCut::Ends(late, saved, error) => {
                match Box::pin(self.time_is_up::<T>(late, saved)).await {
                    Ok(step) => step,
                    Err((stop, _)) => Step::Stop(Err(error), stop),
                }
            }
        }
    }
}

/// A first attempt that somebody else has made and is about to drop, and how the request goes on.
pub(crate) struct CutFirst<T: Transport> {
    pub(super) progress: Progress,
    pub(super) cut: FirstCut<T>,
}

/// How a request goes on after a first attempt that was cut.
pub(super) enum FirstCut<T: Transport> {
    /// By a retry, for which it was cut.
    Goes(Step<T>),
    /// By what follows from the attempt; if that is nothing that the client's error type can say, by this error.
    Ends(Late, Option<Box<Saved<T>>>, T::Error),
}
