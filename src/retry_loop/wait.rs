//! The wait before a retry: lets go of the last attempt, sleeps, and makes sure that the client can take another request.

use super::failover::Place;
use super::{Call, Outcomes, Repeat, Saved, Transport};
use crate::budget::PaidRetry;
use crate::engine::Engine;
use crate::error::AttemptTimeout;
use crate::gate::Kind;
use crate::policy::{RetryPlan, StopReason};
use crate::runtime::within;
use std::sync::Arc;
use std::time::Duration;

impl<T: Transport> Call<T> {
    /// Lets go of the last attempt, waits, and makes sure that the client can take another request: the one that is sent
    /// now, and what later attempts are made of.
    ///
    /// # Errors
    ///
    /// The end of the request where it was, without the retry.
    pub(super) async fn wait(
        &mut self,
        paid: PaidRetry,
        due: Duration,
        last: Option<Outcomes<T>>,
        mut saved: Box<Saved<T>>,
    ) -> Result<(T::Request, Option<Box<Saved<T>>>), (Outcomes<T>, StopReason)> {
        let runtime = Arc::clone(&self.progress.engine.runtime);
        let kept = Box::pin(self.drain_response(last)).await;
        runtime.sleep(due.saturating_sub(runtime.now())).await;
        let before = self.change(paid.plan(), &mut saved);
        let kept = match self.turn(kept).await {
            Ok(kept) => kept,
            Err(end) => {
                self.progress.stays_at(before);
                return Err(end);
            }
        };
        // What shares its body with earlier attempts may have lost it to them by now.
        if let Some(last) = kept.filter(|_| !T::Request::can_resend(&saved, false)) {
            self.progress.stays_at(before);
            return Err((last, StopReason::BodyNotReplayable));
        }
        paid.commit();
        self.progress.recorder.retry_sent();
        let is_last = !self.progress.session.may_retry();
        Ok(T::Request::again(saved, is_last))
    }

    /// Waits for the retry's turn at the gate, and for the client; gives the last outcome back as far as it was kept.
    async fn turn(
        &mut self,
        kept: Option<Outcomes<T>>,
    ) -> Result<Option<Outcomes<T>>, (Outcomes<T>, StopReason)> {
        let ready = match self.progress.pass_the_gate(Kind::Retry, || ()).await {
            true => self.ready_in_time().await,
            false => None,
        };
        let (ready, kept) = match ready {
            Some(ready) => (ready, kept),
            None => match self.out_of_time(kept) {
                Some(result) => return Err((result, StopReason::DeadlineExceeded)),
                None => (self.transport.ready().await, None),
            },
        };
        match ready {
            Ok(()) => Ok(kept),
            Err(error) => Err((kept.unwrap_or(Err(error)), StopReason::NotReady)),
        }
    }

    /// Makes the request what the plan wants it to be. Gives the place that it comes from, if it goes on at another
    /// service, which has a gate of its own: it has moved when that has let it through.
    fn change(&mut self, plan: &RetryPlan, saved: &mut Saved<T>) -> Option<Place> {
        let moved = self.progress.moves_to(plan);
        let way = moved.as_ref().map(|(way, _)| way);
        T::Request::amend(saved, plan.set().map(Arc::as_ref), way);
        let (_, before) = moved?;
        if let Some((headers, extensions)) = T::Request::head(saved) {
            self.progress.comes_to_the_gate(&headers, extensions);
        }
        Some(before)
    }

    /// Waits for the client until the deadline; nothing if that passes first.
    pub(super) async fn ready_in_time(&mut self) -> Option<Result<(), T::Error>> {
        match self.progress.time_left() {
            None => Some(self.transport.ready().await),
            Some(Duration::ZERO) => None,
            Some(left) => {
                let timer = self.progress.engine.runtime.sleep(left);
                within(timer, self.transport.ready()).await
            }
        }
    }

    /// The last real outcome as far as it was kept, else a timeout where the client's error type can say that; else
    /// nothing, and the last attempt goes out all the same, since some answer must come of it.
    pub(super) fn out_of_time(&self, kept: Option<Outcomes<T>>) -> Option<Outcomes<T>> {
        let allowed = self.progress.session.allowed().unwrap_or_default();
        kept.or_else(|| T::cut(AttemptTimeout::in_wait(allowed)).map(Err))
    }

    /// Reads the rest of a failed response, so that its connection can serve again, and keeps what was read.
    async fn drain_response(&mut self, last: Option<Outcomes<T>>) -> Option<Outcomes<T>> {
        match last? {
            Err(error) => Some(Err(error)),
            Ok(response) => {
                let Engine { drain, runtime, .. } = &*self.progress.engine;
                let left = self.progress.time_left().unwrap_or(Duration::MAX);
                let timer = runtime.sleep(drain.time.min(left));
                let drained = within(timer, T::drain(response, drain.bytes)).await;
                drained.flatten().map(Ok)
            }
        }
    }
}
