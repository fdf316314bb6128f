//! One request and its hedges, as a future: it sends and waits as [`Race`] decides.

use crate::layer::HedgeLayer;
use crate::race::{Next, Race};
use crate::request::{CopyRequest, ResponseHead};
use crate::terms::Terms;
use http_retry_core::adapter::RequestSettings;
use http_retry_core::attempt::AttemptHandle;
use http_retry_core::hedging::{AskedAttempt, CopyEnd, CopyRefusal, PaidCopy, ask_attempt};
use http_retry_core::runtime::Sleep;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// The future of a request to a [`HedgeService`](crate::HedgeService).
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops all copies. The token of a hedge that was not sent goes back to the budget.
    pub struct HedgeFuture<S, Q>
    where
        S: Service<Q>,
        Q: CopyRequest,
    {
        // `None` once it has ended.
        #[pin]
        first: Option<S::Future>,
        // `None` for a request that is sent once.
        call: Option<Box<Call<S, Q>>>,
    }
}

type Output<S, Q> = Result<<S as Service<Q>>::Response, <S as Service<Q>>::Error>;

/// The parts of a request besides its first copy.
struct Call<S: Service<Q>, Q: CopyRequest> {
    layer: Arc<HedgeLayer>,
    /// The attempt under way, which replies once its first poll is over.
    asked: AskedAttempt,
    /// `true` once the task was woken to look for the reply.
    has_woken: bool,
    settings: RequestSettings,
    terms: Option<Arc<Terms>>,
    race: Race,
    timer: Option<Sleep>,
    service: S,
    saved: Q::Saved,
    is_first_running: bool,
    /// A hedge that is paid for, while the service readies itself.
    next: Option<PaidCopy>,
    copies: Vec<(PaidCopy, Pin<Box<S::Future>>)>,
    /// The hedges whose result is not the caller's.
    lost: Vec<PaidCopy>,
    /// The refusals that no layer above sees, for the gate.
    refusals: Vec<CopyRefusal>,
    kept: Option<(Output<S, Q>, Option<CopyRefusal>)>,
}

impl<S, Q> HedgeFuture<S, Q>
where
    Q: CopyRequest,
    S: Service<Q>,
{
    /// Sends a request through a service that is ready.
    pub(crate) fn new(layer: &Arc<HedgeLayer>, mut service: S, request: Q) -> Self {
        let extensions = request.extensions();
        let handle = || extensions?.get::<AttemptHandle>().cloned();
        let mut settings = RequestSettings::from_extensions(extensions);
        let saved = request.save();
        let alone = || {
            let (engine, head) = (layer.own.clone()?, Q::head(saved.as_ref()?)?);
            Some(AttemptHandle::alone(engine, &mut settings, &&*head))
        };
        let known = || handle().or_else(alone);
        let asked = ask_attempt().or_else(|| Some(Arc::new(OnceLock::from(known()?))));
        let first = Some(service.call(request));
        let call = saved.zip(asked).map(|(saved, asked)| Call {
            layer: Arc::clone(layer),
            asked,
            has_woken: false,
            settings,
            terms: None,
            race: Race::new(),
            timer: None,
            service,
            saved,
            is_first_running: true,
            next: None,
            copies: Vec::new(),
            lost: Vec::new(),
            refusals: Vec::new(),
            kept: None,
        });
        let call = call.map(Box::new);
        Self { first, call }
    }
}

impl<S, Q> Future for HedgeFuture<S, Q>
where
    Q: CopyRequest,
    S: Service<Q, Response: ResponseHead>,
{
    type Output = Output<S, Q>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(first) = this.first.as_mut().as_pin_mut() {
            if let Poll::Ready(output) = first.poll(cx) {
                this.first.set(None);
                let Some(call) = this.call else {
                    return Poll::Ready(output);
                };
                call.is_first_running = false;
                if let Some(output) = call.ended(output, None) {
                    return Poll::Ready(output);
                }
            }
        }
        let Some(call) = this.call else {
            return Poll::Pending;
        };
        let output = ready!(call.poll(cx));
        // It has lost, if it is still under way.
        this.first.set(None);
        Poll::Ready(output)
    }
}

impl<S, Q> Call<S, Q>
where
    Q: CopyRequest,
    S: Service<Q, Response: ResponseHead>,
{
    /// Returns the terms, unless the attempt has not replied yet.
    fn terms(&mut self) -> Option<Arc<Terms>> {
        if self.terms.is_none() {
            let (head, attempt) = (Q::head(&self.saved)?, self.asked.get()?);
            let request = (&self.settings, &*head);
            let terms = Terms::new(attempt, request, &self.layer, Q::MAY_FOLLOW);
            if let Some((hedges, wait)) = terms.hedges() {
                self.race.allow(hedges, wait, terms.judge.started);
            }
            self.terms = Some(Arc::new(terms));
        }
        self.terms.clone()
    }

    /// Polls the hedges, and sends the next one when it is due.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Output<S, Q>> {
        loop {
            if let Some(output) = self.poll_copies(cx) {
                return Poll::Ready(output);
            }
            if self.next.is_none() {
                ready!(self.poll_due(cx));
            }
            // A new copy is polled, so that it makes progress.
            ready!(self.poll_send(cx));
        }
    }

    fn poll_copies(&mut self, cx: &mut Context<'_>) -> Option<Output<S, Q>> {
        let mut at = 0;
        while let Some((_, copy)) = self.copies.get_mut(at) {
            match copy.as_mut().poll(cx) {
                Poll::Pending => at = at.saturating_add(1),
                Poll::Ready(output) => {
                    let (ticket, _) = self.copies.swap_remove(at);
                    if let Some(output) = self.ended(output, Some(ticket)) {
                        return Some(output);
                    }
                }
            }
        }
        None
    }

    /// Completes when a hedge is due and paid for.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(terms) = self.terms() else {
            // The attempt replies once this poll is over.
            if !std::mem::replace(&mut self.has_woken, true) {
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        };
        let Some(due) = self.race.due() else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| terms.sleep_until(due));
        ready!(timer.as_mut().poll(cx));
        self.timer = None;
        self.next = terms.pay(self.race.next_copy());
        if self.next.is_none() {
            // No hedge, and no wait for one.
            self.race.stop();
            return Poll::Pending;
        }
        self.race.begin();
        Poll::Ready(())
    }

    /// Completes when the hedge that is paid for was sent, once the service is ready. If it cannot be sent, the result is
    /// left to the other copies.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_ready = ready!(self.service.poll_ready(cx)).is_ok();
        let request = is_ready.then(|| Q::copy(&self.saved)).flatten();
        if let (Some(request), Some(mut ticket)) = (request, self.next.take()) {
            self.race.sent(ticket.send());
            let copy = self.service.call(request);
            self.copies.push((ticket, Box::pin(copy)));
            return Poll::Ready(());
        }
        // Its token goes back.
        self.next = None;
        self.race.withdraw();
        Poll::Pending
    }

    /// Takes the result of a copy. Returns what goes to the caller, if anything does yet.
    fn ended(&mut self, output: Output<S, Q>, ticket: Option<PaidCopy>) -> Option<Output<S, Q>> {
        let Some(terms) = self.terms() else {
            // It is the first copy, since the attempt has not replied yet.
            return Some(output);
        };
        // A hedge that has waited for the service until now would be a retry without a wait, or come too late.
        if self.next.take().is_some() {
            self.race.withdraw();
        }
        let head = output.as_ref().ok().map(ResponseHead::head);
        let (end, refusal) = terms.judge.judge(head);
        if matches!(end, CopyEnd::Success | CopyEnd::Permanent) {
            let sent = ticket.as_ref().and_then(PaidCopy::sent);
            terms.record(Some(terms.since(sent.unwrap_or(terms.judge.started))));
        }
        let next = self.race.ended(end);
        if next == Next::Return {
            if end == CopyEnd::Success {
                terms.judge.deposit();
            }
            self.settle(ticket);
            return Some(output);
        }
        self.lost.extend(ticket);
        if next == Next::Keep {
            let before = self.kept.replace((output, refusal));
            self.refusals
                .extend(before.and_then(|(_, refusal)| refusal));
            return None;
        }
        self.refusals.extend(refusal);
        (next == Next::ReturnKept)
            .then(|| self.take_kept())
            .flatten()
    }

    fn take_kept(&mut self) -> Option<Output<S, Q>> {
        let (output, _) = self.kept.take()?;
        self.settle(None);
        Some(output)
    }

    /// Ends the race: tells the gate and the observers of the copies whose result is not the caller's. That of the
    /// caller's is left to the retry layer.
    fn settle(&mut self, winner: Option<PaidCopy>) {
        self.record_slow();
        self.is_first_running = false;
        self.next = None;
        let copies = std::mem::take(&mut self.copies);
        self.lost
            .extend(copies.into_iter().map(|(ticket, _)| ticket));
        self.lost.iter().for_each(|ticket| ticket.tell(false));
        winner.iter().for_each(|ticket| ticket.tell(true));
        self.lost.extend(winner);
        self.report_refusals();
    }
}

impl<S: Service<Q>, Q: CopyRequest> Call<S, Q> {
    /// Tells the gate of each refusal that no layer above sees, in the place of a hedge's end.
    fn report_refusals(&mut self) {
        let kept = self.kept.take().and_then(|(_, refusal)| refusal);
        for refusal in self.refusals.drain(..).chain(kept) {
            if let Some(ticket) = self.lost.pop() {
                ticket.refused(refusal);
            }
        }
        self.lost.clear();
    }

    /// Counts the copies without a response, if they are slow.
    fn record_slow(&self) {
        let (Some(terms), Some(wait)) = (&self.terms, self.race.wait()) else {
            return;
        };
        let first = self.is_first_running.then_some(terms.judge.started);
        let hedges = self.copies.iter().filter_map(|(ticket, _)| ticket.sent());
        let slow = first
            .into_iter()
            .chain(hedges)
            .filter(|sent| terms.since(*sent) >= wait);
        slow.for_each(|_| terms.record(None));
    }
}

impl<S: Service<Q>, Q: CopyRequest> Drop for Call<S, Q> {
    fn drop(&mut self) {
        self.record_slow();
        let copies = std::mem::take(&mut self.copies);
        self.lost
            .extend(copies.into_iter().map(|(ticket, _)| ticket));
        self.report_refusals();
    }
}
