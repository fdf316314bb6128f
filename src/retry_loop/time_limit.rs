//! An attempt that may take no longer than so long.

use super::progress::{Planned, Progress};
use super::room::with_room;
use super::{Repeat, Saved, Transport};
use crate::error::AttemptTimeout;
use crate::nested::AttemptMark;
use crate::policy::{ErrorBody, ErrorKind, Outcome, Stop};
use crate::runtime::within;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// How an attempt that may have a time limit ended.
pub(super) enum Sent<T: Transport> {
    Done(Result<T::Response, T::Error>, Option<Box<Saved<T>>>),
    Cut(T::Error, Stop),
    CutForRetry(Planned, Option<T::Error>, Box<Saved<T>>),
}

impl Progress {
    /// Waits for an attempt, but past its limit only where there is nothing else to do.
    pub(super) async fn limited<T: Transport>(
        &mut self,
        sent: impl Future<Output = Result<T::Response, T::Error>> + Send,
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
        let whole = saved
            .as_ref()
            .is_some_and(|saved| T::Request::can_resend(saved, false));
        self.session.set_replayable(whole);
        self.admission = None;
        let error = AttemptTimeout::new(limit);
        let words = ErrorBody::of_words(&format!("timeout: {error}"));
        let timeout = Outcome::error(ErrorKind::Timeout).with_error_body(&words);
        let trail = T::trail(self.session.policy(), saved.as_deref(), None);
        let timeout = timeout.redirected(self.redirected(mark, trail));
        let request = self.session.request();
        let timeout = request
            .iter()
            .fold(timeout, |timeout, request| timeout.of_request(request));
        let timeout = self.session.policy().classify(timeout);
        let at = self.engine.runtime.moment();
        self.look_around();
        let decided = self.decide(&timeout, at);
        let decided = decided.and_then(|planned| with_room::<T>(planned, saved.as_deref()));
        let (decided, saved) = match (decided, saved) {
            (Ok(planned), Some(saved)) => {
                self.tell(&timeout, at, planned.by(), false);
                return Sent::CutForRetry(planned, T::cut(error), saved);
            }
            undecided => undecided,
        };
        match T::cut(error) {
            Some(error) => {
                let stop = decided.map_or_else(|stop| stop, |planned| planned.without_a_body());
                self.tell(&timeout, at, stop.by, false);
                Sent::Cut(error, stop)
            }
            // Nothing could report a timeout: what comes of the attempt is judged when it comes.
            None => Sent::Done(sent.await, saved),
        }
    }
}
