//! Chains as clients build them; the chains of real clients are tested on real sockets.

use super::*;
use crate::{Class, Reach};
use std::fmt;
use std::io;

#[derive(Debug)]
struct Wrapped(BoxError);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

fn outcome_of<V: 'static>(policy: &RetryPolicy, error: &V, head_alone: bool) -> Outcome<'static> {
    super::outcome_of(policy, known(policy, error), head_alone)
}

fn kind_of(error: impl Into<BoxError>) -> ErrorKind {
    let error: BoxError = Wrapped(error.into()).into();
    outcome_of(&RetryPolicy::background(), &error, false)
        .error_kind()
        .unwrap()
}

#[test]
fn io_errors_by_kind() {
    let kind = |io: io::ErrorKind| kind_of(io::Error::from(io));
    assert_eq!(kind(io::ErrorKind::ConnectionRefused), ErrorKind::Connect);
    assert_eq!(kind(io::ErrorKind::ConnectionReset), ErrorKind::Reset);
    assert_eq!(kind(io::ErrorKind::TimedOut), ErrorKind::Timeout);
    assert_eq!(kind(io::ErrorKind::PermissionDenied), ErrorKind::Other);
}

/// In the browser, reqwest passes on why `fetch` failed as text.
#[test]
fn a_failed_fetch_may_have_been_processed() {
    let outcome = |text: &'static str| {
        let error: BoxError = Wrapped(text.into()).into();
        let outcome = outcome_of(&RetryPolicy::background(), &error, false);
        (outcome.class(), outcome.reach())
    };
    let failed = "JsValue(TypeError: Failed to fetch\nTypeError: Failed to fetch)";
    assert_eq!(outcome(failed), (Class::Transient, Reach::Ambiguous));
    let aborted = "JsValue(AbortError: The user aborted a request.)";
    assert_eq!(outcome(aborted), (Class::Permanent, Reach::Ambiguous));
}

#[test]
fn the_payload_of_an_io_error_is_read() {
    let timeout = AttemptTimeout::in_wait(std::time::Duration::from_secs(1));
    assert_eq!(
        kind_of(io::Error::other(Wrapped(timeout.into()))),
        ErrorKind::Timeout
    );
    let error = io::Error::other(Wrapped(timeout.into()));
    assert!(AttemptTimeout::is(&error));
    assert!(!AttemptTimeout::is(&io::Error::other("no")));
}

#[test]
fn an_incomplete_body_is_answered_anywhere_in_a_chain() {
    let half = || IncompleteBody::new(12, Some(40));
    for error in [BoxError::from(half()), io::Error::other(half()).into()] {
        let error: BoxError = Wrapped(error).into();
        let outcome = outcome_of(&RetryPolicy::background(), &error, false);
        assert_eq!(outcome.error_kind(), Some(ErrorKind::Incomplete));
        let judged = (outcome.class(), outcome.reach());
        assert_eq!(judged, (Class::Transient, Reach::Answered));
        let found = IncompleteBody::of(&*error).unwrap();
        assert_eq!((found.received(), found.expected()), (12, Some(40)));
        assert_eq!(found.to_string(), "the answer ended after 12 of 40 bytes");
    }
}

#[test]
fn a_classified_type_counts_anywhere_in_a_chain() {
    let policy = RetryPolicy::builder()
        .classify_error(|error: &fmt::Error| {
            let _ = error;
            (Class::Transient, Reach::Refused)
        })
        .build()
        .unwrap();
    let read = |outcome: Outcome<'_>| (outcome.class(), outcome.reach());
    let taught = (Class::Transient, Reach::Refused);
    assert_eq!(read(outcome_of(&policy, &fmt::Error, false)), taught);
    let boxed = BoxError::from(Wrapped(fmt::Error.into()));
    assert_eq!(read(outcome_of(&policy, &boxed, false)), taught);
    let text = outcome_of(&policy, &"some text", false);
    assert_eq!(read(text), (Class::Permanent, Reach::Ambiguous));
}

#[test]
fn an_endless_chain_is_walked_up_to_a_bound() {
    #[derive(Debug)]
    struct Endless;
    impl fmt::Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("endless")
        }
    }
    impl Error for Endless {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&Self)
        }
    }
    assert_eq!(kind_of(Endless), ErrorKind::Other);
}

#[test]
fn a_classifier_can_leave_the_verdict_to_the_chain() {
    let policy = RetryPolicy::builder()
        .classify_error(|_: &Wrapped| ())
        .build()
        .unwrap();
    let reset = Wrapped(io::Error::from(io::ErrorKind::ConnectionReset).into());
    let kind = |policy: &RetryPolicy| outcome_of(policy, &reset, false).error_kind();
    assert_eq!(kind(&policy), Some(ErrorKind::Reset));
    assert_eq!(kind(&RetryPolicy::background()), Some(ErrorKind::Other));
}

#[cfg(feature = "reqwest")]
#[test]
fn the_error_inside_a_middleware_error_is_read() {
    let timeout = || AttemptTimeout::in_wait(std::time::Duration::from_secs(1));
    let carried = || reqwest_middleware::Error::middleware(Wrapped(timeout().into()));
    assert_eq!(kind_of(carried()), ErrorKind::Timeout);
    assert!(AttemptTimeout::is(&carried()));
    assert!(AttemptTimeout::is(&Wrapped(carried().into())));
    let bare = outcome_of(
        &RetryPolicy::background(),
        &anyhow::Error::new(timeout()),
        false,
    );
    assert_eq!(bare.error_kind(), Some(ErrorKind::Timeout));
}

#[test]
fn a_call_that_its_gate_turned_away_was_not_sent() {
    let limited = || crate::RateLimited::new("orders".into(), std::time::Duration::from_secs(9));
    let policy = RetryPolicy::background();
    for outcome in [
        outcome_of(&policy, &limited(), false),
        outcome_of(&policy, &BoxError::from(Wrapped(limited().into())), false),
    ] {
        let read = (outcome.error_kind(), outcome.class(), outcome.reach());
        let wanted = (
            Some(ErrorKind::NotProcessed),
            Class::Throttled,
            Reach::Unsent,
        );
        assert_eq!(read, wanted);
    }
}

/// A link that is known by its text, with the link behind it.
#[derive(Debug)]
struct TextLink(&'static str, Option<BoxError>);

impl fmt::Display for TextLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for TextLink {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_ref().map(|next| &**next as _)
    }
}

fn judged(error: impl Into<BoxError>) -> (ErrorKind, Class, Reach) {
    let outcome = outcome_of(&RetryPolicy::background(), &error.into(), false);
    let kind = outcome.error_kind().unwrap();
    (kind, outcome.class(), outcome.reach())
}

const NOT_PROCESSED: (ErrorKind, Class, Reach) =
    (ErrorKind::NotProcessed, Class::Transient, Reach::Refused);

/// With the text of `tower::load_shed::error::Overloaded`.
#[test]
fn a_shed_request_was_not_processed() {
    assert_eq!(judged(TextLink("service overloaded", None)), NOT_PROCESSED);
}

/// A service that is never ready.
struct Unready;

impl tower::Service<()> for Unready {
    type Response = ();
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<()>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), io::Error>> {
        std::task::Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        std::future::ready(Ok(()))
    }
}

#[tokio::test]
async fn a_request_that_stayed_in_a_buffer_was_not_sent() {
    use tower::ServiceExt;

    let (buffer, worker) = tower::buffer::Buffer::pair(Unready, 1);
    drop(worker);
    assert_eq!(judged(buffer.oneshot(()).await.unwrap_err()), NOT_PROCESSED);

    let failed = tower::buffer::Buffer::new(Unready, 1).oneshot(()).await;
    let unsent = (ErrorKind::Reset, Class::Transient, Reach::Unsent);
    assert_eq!(judged(failed.unwrap_err()), unsent);
}

/// As `tonic::transport::Error` carries the errors of hyper-util's connector.
#[test]
fn a_failed_connect_of_a_grpc_channel_was_not_sent() {
    for (io, kind) in [
        (io::ErrorKind::ConnectionRefused, ErrorKind::Connect),
        (io::ErrorKind::TimedOut, ErrorKind::ConnectTimeout),
    ] {
        let connector = TextLink("tcp connect error", Some(io::Error::from(io).into()));
        let channel = TextLink("transport error", Some(connector.into()));
        assert_eq!(judged(channel), (kind, Class::Transient, Reach::Unsent));
    }
}

#[test]
fn a_connection_closed_within_a_frame_was_reset() {
    let reset = (ErrorKind::Reset, Class::Transient, Reach::Ambiguous);
    assert_eq!(judged(io::Error::other("bytes remaining on stream")), reset);
}
