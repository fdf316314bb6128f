//! The loop in a box of its own, which may move between threads or need not.

use super::errors::Errors;
use super::transport::ServiceTransport;
use crate::client::first_attempt::StartedRequest;
use crate::client::{Answer, Resend};
use crate::policy::Verdict;
use crate::retry_loop::{Admission, Call};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tower_service::Service;

/// What the caller of a service gets.
pub(super) type Outcomes<S, Q, X> = Result<
    <<S as Service<Q>>::Response as Answer>::Kept,
    <X as Errors<<S as Service<Q>>::Error>>::Error,
>;

/// A first attempt that failed, and what was said of it.
pub(super) type Ended<S, Q> = (
    Result<<S as Service<Q>>::Response, <S as Service<Q>>::Error>,
    Option<Verdict>,
);

/// The loop in a box. Here its types are known, so that the compiler sees whether it may move between threads.
pub trait BoxLoop<S, Q, X>
where
    Q: Resend,
    S: Service<Q>,
    S::Response: Answer,
    X: Errors<S::Error>,
{
    type Loop: Future<Output = Outcomes<S, Q, X>> + Unpin;

    /// The loop, with the request still to be sent.
    fn every_attempt(rest: Rest<S, Q>, request: Q) -> Self::Loop;

    /// The loop after a first attempt that failed.
    fn later_attempts(rest: Rest<S, Q>, ended: Ended<S, Q>) -> Self::Loop;

    /// The loop after a first attempt whose time is up; nothing where it goes on.
    fn after_late_attempt(rest: &mut Option<Rest<S, Q>>) -> Option<Self::Loop>;
}

/// What the loop needs if the first attempt is not made in place, or fails.
pub struct Rest<S, Q: Resend> {
    pub(super) admission: Admission,
    pub(super) request: StartedRequest<Q>,
    pub(super) service: S,
}

/// Calls may move between threads, and so may all that they work with.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AnyThread;

/// Calls stay on the thread of their caller, and their futures need not be `Send`: the last type parameter of
/// [`RetryLayer`](super::RetryLayer) and [`Retry`](super::Retry), set by
/// [`RetryLayer::local`](super::RetryLayer::local).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OneThread;

impl<S, Q, X> BoxLoop<S, Q, X> for AnyThread
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    type Loop = Pin<Box<dyn Future<Output = Outcomes<S, Q, X>> + Send>>;

    #[cold]
    #[inline(never)]
    fn every_attempt(rest: Rest<S, Q>, request: Q) -> Self::Loop {
        Box::pin(every_attempt::<S, Q, X>(rest, request))
    }

    #[cold]
    #[inline(never)]
    fn later_attempts(rest: Rest<S, Q>, ended: Ended<S, Q>) -> Self::Loop {
        Box::pin(later_attempts::<S, Q, X>(rest, ended))
    }

    #[cold]
    #[inline(never)]
    fn after_late_attempt(rest: &mut Option<Rest<S, Q>>) -> Option<Self::Loop> {
        let attempts = after_late_attempt::<S, Q, X>(rest)?;
        Some(Box::pin(attempts))
    }
}

impl<S, Q, X> BoxLoop<S, Q, X> for OneThread
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Error: 'static,
    X: Errors<S::Error> + 'static,
    X::Error: 'static,
{
    type Loop = Pin<Box<dyn Future<Output = Outcomes<S, Q, X>>>>;

    #[cold]
    #[inline(never)]
    fn every_attempt(rest: Rest<S, Q>, request: Q) -> Self::Loop {
        Box::pin(every_attempt::<S, Q, X>(rest, request))
    }

    #[cold]
    #[inline(never)]
    fn later_attempts(rest: Rest<S, Q>, ended: Ended<S, Q>) -> Self::Loop {
        Box::pin(later_attempts::<S, Q, X>(rest, ended))
    }

    #[cold]
    #[inline(never)]
    fn after_late_attempt(rest: &mut Option<Rest<S, Q>>) -> Option<Self::Loop> {
        let attempts = after_late_attempt::<S, Q, X>(rest)?;
        Some(Box::pin(attempts))
    }
}

fn every_attempt<S, Q, X>(rest: Rest<S, Q>, request: Q) -> impl Future<Output = Outcomes<S, Q, X>>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone,
    S::Response: Answer + 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
{
    let engine = Arc::clone(&rest.admission.engine);
    let transport = ServiceTransport::<S, Q, X>::new(&engine, rest.service);
    rest.request.run(engine, transport, request)
}

fn later_attempts<S, Q, X>(
    rest: Rest<S, Q>,
    (result, said): Ended<S, Q>,
) -> impl Future<Output = Outcomes<S, Q, X>>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone,
    S::Response: Answer + 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
{
    let Rest {
        mut admission,
        mut request,
        service,
    } = rest;
    let engine = Arc::clone(&admission.engine);
    let admission = admission.held_by(Arc::clone(&engine));
    let transport = ServiceTransport::<S, Q, X>::after(&mut request, &engine, service);
    let result = result.map(Answer::keep).map_err(X::from_inner);
    request.go_on(engine, transport, admission, (result, said))
}

fn after_late_attempt<S, Q, X>(
    rest: &mut Option<Rest<S, Q>>,
) -> Option<impl Future<Output = Outcomes<S, Q, X>> + use<S, Q, X>>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone,
    S::Response: Answer + 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
{
    let Rest {
        admission, request, ..
    } = rest.as_mut()?;
    let engine = Arc::clone(&admission.engine);
    let admission = admission.held_by(Arc::clone(&engine));
    let cut = request.cut::<ServiceTransport<S, Q, X>>(Arc::clone(&engine), admission)?;
    let Rest {
        mut request,
        service,
        ..
    } = rest.take()?;
    let transport = ServiceTransport::after(&mut request, &engine, service);
    Some(Call::go_on_after_cut(transport, cut))
}
