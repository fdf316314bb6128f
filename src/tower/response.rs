//! How the layer returns the inner service's responses: with a body of its own, or with the type that they have.

use crate::client::{Answer, KeptResponse};
use crate::policy::RetryPolicy;
use crate::report::warn_of_setting;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

/// How the layer returns an inner service's responses: [`Wrapped`] or [`SameType`]. Nobody else implements it.
#[diagnostic::on_unimplemented(
    message = "`{R}` is not a response that the retry layer can read",
    note = "the inner service must answer `http::Response<B>` where `B: http_body::Body<Data = Bytes> + Send + Unpin`, or \
            `reqwest::Response` with the feature `reqwest`; `BodyExt::boxed_unsync` makes any body `Unpin`"
)]
pub trait Responses<R>: sealed::Sealed + Clone + Send + 'static {
    /// The response as the layer works with it.
    #[doc(hidden)]
    type Answer: Answer;

    #[doc(hidden)]
    type Future<F, E>: Future<Output = Result<Self::Answer, E>>
    where
        F: Future<Output = Result<R, E>>;

    #[doc(hidden)]
    fn answers<F, E>(future: F) -> Self::Future<F, E>
    where
        F: Future<Output = Result<R, E>>;

    /// A call begins, by this policy if the layer has but one.
    #[doc(hidden)]
    fn begins(&self, policy: Option<&RetryPolicy>) {
        let _ = policy;
    }
}

/// Responses have a [`RetryBody`](crate::RetryBody), which can give back what the layer has read: the third type parameter of
/// [`RetryLayer`](super::RetryLayer) and [`Retry`](super::Retry), and its default. Those of reqwest keep their type.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Wrapped;

/// Responses have the inner service's type; set by
/// [`RetryLayer::keep_response_type`](super::RetryLayer::keep_response_type), which says what the layer then cannot do.
#[derive(Debug, Clone, Default)]
pub struct SameType {
    /// The log has been told what the policy cannot do.
    warned: Arc<AtomicBool>,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Wrapped {}
    impl Sealed for super::SameType {}
}

#[diagnostic::do_not_recommend]
impl<R: Answer> Responses<R> for Wrapped {
    type Answer = R;
    type Future<F, E>
        = F
    where
        F: Future<Output = Result<R, E>>;

    #[inline]
    fn answers<F, E>(future: F) -> F
    where
        F: Future<Output = Result<R, E>>,
    {
        future
    }
}

#[diagnostic::do_not_recommend]
impl<B> Responses<http::Response<B>> for SameType
where
    KeptResponse<B>: Answer,
{
    type Answer = KeptResponse<B>;
    type Future<F, E>
        = Keeping<F>
    where
        F: Future<Output = Result<http::Response<B>, E>>;

    fn answers<F, E>(future: F) -> Keeping<F>
    where
        F: Future<Output = Result<http::Response<B>, E>>,
    {
        Keeping { future }
    }

    fn begins(&self, policy: Option<&RetryPolicy>) {
        if self.warned.load(Ordering::Relaxed) {
            return;
        }
        let Some(policy) = policy else { return };
        let lost = [
            (policy.may_respond(), "`respond` gives no response"),
            (policy.streams().is_some(), "streams are not held back"),
        ];
        for (_, what) in lost.into_iter().filter(|(asked, _)| *asked) {
            if !self.warned.swap(true, Ordering::Relaxed) {
                warn_of_setting("keep_response_type", what);
            }
        }
    }
}

/// Responses of reqwest keep their type anyway, and lose nothing.
#[cfg(feature = "reqwest")]
#[diagnostic::do_not_recommend]
impl Responses<::reqwest::Response> for SameType {
    type Answer = ::reqwest::Response;
    type Future<F, E>
        = F
    where
        F: Future<Output = Result<::reqwest::Response, E>>;

    fn answers<F, E>(future: F) -> F
    where
        F: Future<Output = Result<::reqwest::Response, E>>,
    {
        future
    }
}

pin_project! {
    /// The inner service's future, whose response keeps its type.
    pub struct Keeping<F> {
        #[pin]
        future: F,
    }
}

impl<F, B, E> Future for Keeping<F>
where
    F: Future<Output = Result<http::Response<B>, E>>,
{
    type Output = Result<KeptResponse<B>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = ready!(self.project().future.poll(cx));
        Poll::Ready(response.map(KeptResponse::new))
    }
}
