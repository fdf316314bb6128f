//! How long a download may take: for a head, and as a whole.

use super::script::{Piece, Scripted, Turn, bytes, download, get, layer, policy};
use futures_util::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use http_retry::policy::Moment;
use http_retry::resume::{Interrupted, Resume, ResumeFailure};
use http_retry::runtime::{Runtime, Sleep};
use http_retry::testing::ManualRuntime;
use http_retry::{AttemptTimeout, RetryBudget, RetryOverride, StopReason};
use std::time::Duration;
use tower::{Layer, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

/// Five bytes of ten, and then these answers.
fn broken(then: impl IntoIterator<Item = Turn>) -> Scripted {
    let first = Turn::file(10).sends(0..5).then(Piece::Reset);
    Scripted::new([first].into_iter().chain(then))
}

#[tokio::test]
async fn a_head_that_does_not_come_is_a_failed_attempt() {
    let client = broken([Turn::no_head(), Turn::rest(0, 10).sends(0..10)]);
    let runtime = ManualRuntime::new();
    let layer = layer(policy().attempt_timeout(None)).runtime(runtime.clone());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    assert_eq!(ended.read, bytes(0..10));
    let idle = runtime.sleeps().into_iter().filter(|s| *s == SECOND * 30);
    assert_eq!(idle.count(), 1, "{:?}", runtime.sleeps());
}

#[tokio::test]
async fn a_rest_is_read_as_it_comes_whatever_is_read_whole() {
    let client = Scripted::new([
        Turn::file(5000).sends(0..4500).then(Piece::Reset),
        Turn::rest(3476, 5000).sends(3476..4700).then(Piece::Stall),
    ]);
    let runtime = ManualRuntime::paused();
    // The rest is short enough to be read whole, within the time that its head may take.
    let policy = policy().whole_responses(3000).attempt_timeout(None);
    let layer = layer(policy).runtime(runtime.clone());
    let service = layer.resume_downloads().layer(client);
    let mut body = service.oneshot(get()).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), bytes(0..4500));
    assert!(body.frame().now_or_never().is_none());
    runtime.advance(SECOND);
    let rest = body.frame().now_or_never().expect("a part of the rest");
    assert_eq!(
        rest.unwrap().unwrap().into_data().unwrap(),
        bytes(4500..4700)
    );
}

#[tokio::test]
async fn the_last_head_is_waited_for_no_longer_than_others() {
    for own in [None, Some(SECOND * 7)] {
        let limit = own.unwrap_or(SECOND * 10);
        let client = broken([Turn::no_head(), Turn::no_head(), Turn::no_head()]);
        let runtime = ManualRuntime::new();
        let policy = policy().deadline(None).max_retries(2).attempt_timeout(own);
        let layer = layer(policy).runtime(runtime.clone());
        let layer = layer.budget(RetryBudget::unlimited());
        let layer = layer.resume(Resume::new().idle_timeout(SECOND * 10).unwrap());
        let ended = download(layer.resume_downloads(), &client, get()).await;
        let failed = ResumeFailure::HeadFailed;
        assert_eq!(ended.interrupted(), Some((5, 10, failed)));
        assert!(AttemptTimeout::is(&*ended.error.unwrap()));
        let waited = runtime.sleeps().into_iter().filter(|s| *s == limit);
        assert_eq!(waited.count(), 3, "{:?}", runtime.sleeps());
    }
}

#[tokio::test]
async fn what_a_request_says_for_itself_counts_for_its_rest_too() {
    let client = broken([Turn::of(503), Turn::rest(0, 10).sends(0..10)]);
    let mut request: Request<String> = get();
    let own = RetryOverride::new().max_retries(1).deadline(SECOND * 60);
    request.extensions_mut().insert(own);
    let layer = layer(policy()).runtime(ManualRuntime::new());
    let ended = download(layer.resume_downloads(), &client, request).await;
    assert_eq!(ended.read, bytes(0..10));
}

/// When a download that may take a minute ends that this client answers, and where.
async fn ends(client: Scripted, read_first: bool) -> (Duration, u64) {
    let runtime = ManualRuntime::paused();
    let resume = Resume::new().deadline(SECOND * 60).unwrap();
    let layer = layer(policy().attempt_timeout(None)).runtime(runtime.clone());
    let service = layer.resume(resume).resume_downloads().layer(client);
    let mut body = service.oneshot(get()).await.unwrap().into_body();
    if read_first {
        drop(body.frame().await.unwrap().unwrap());
    }
    for second in 0..100 {
        match body.frame().now_or_never() {
            None => runtime.advance(SECOND),
            Some(Some(Ok(_))) => {}
            Some(Some(Err(error))) => {
                let cut = Interrupted::of(&*error).unwrap();
                let late = ResumeFailure::Stopped(StopReason::DeadlineExceeded);
                assert_eq!(cut.reason(), late);
                assert!(body.frame().now_or_never().unwrap().is_none());
                return (SECOND * second, cut.at());
            }
            Some(None) => return (SECOND * second, 10),
        }
    }
    (Duration::MAX, 0)
}

#[tokio::test]
async fn a_download_may_take_so_long_as_a_whole() {
    let stalls = || Turn::file(10).sends(0..5).then(Piece::Stall);
    let later = || Turn::rest(0, 10).sends(0..7).then(Piece::Stall);
    let never = || broken([Turn::no_head(), Turn::no_head(), Turn::no_head()]);
    let minute = SECOND * 60..=SECOND * 62;
    for (client, at) in [
        (Scripted::new([stalls(), later(), later(), later()]), 7),
        (never(), 5),
    ] {
        let (ended, read) = ends(client, true).await;
        assert!(minute.contains(&ended), "{ended:?}");
        assert_eq!(read, at);
    }
    // A wait that would end too late is not begun.
    let busy = broken([Turn::of(503).header("retry-after", "600")]);
    let (ended, _) = ends(busy, true).await;
    assert!(ended <= SECOND * 61, "{ended:?}");
}

#[tokio::test]
async fn frames_without_a_byte_are_a_silence_too() {
    let empty = || Piece::Data(bytes(0..0));
    let mut stalls = Turn::file(10).sends(0..5);
    for _ in 0..60 {
        stalls = stalls.then(Piece::Later).then(empty());
    }
    let client = Scripted::new([stalls, Turn::rest(0, 10).sends(0..10)]);
    let runtime = ManualRuntime::paused();
    let resume = Resume::new().idle_timeout(SECOND * 10).unwrap();
    let layer = layer(policy()).runtime(runtime.clone()).resume(resume);
    let service = layer.resume_downloads().layer(client.clone());
    let mut body = service.oneshot(get()).await.unwrap().into_body();
    drop(body.frame().await.unwrap().unwrap());
    for _ in 0..20 {
        if let Some(frame) = body.frame().now_or_never() {
            let data = frame.unwrap().unwrap().into_data().unwrap();
            assert_eq!(data, bytes(5..10));
            return;
        }
        runtime.advance(SECOND);
    }
    panic!("still waits, after {:?}", client.asked("range"));
}

#[tokio::test]
async fn a_download_that_is_whole_is_never_late() {
    let whole = Turn::file(10).sends(0..10).then(Piece::Stall);
    let (ended, read) = ends(Scripted::new([whole]), true).await;
    assert!(ended <= SECOND * 2, "{ended:?}");
    assert_eq!(read, 10);
}

/// Time stands still, and every wait is over at once.
struct Frozen;

impl Runtime for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO)
    }

    fn sleep(&self, _: Duration) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_silence_ends_though_no_clock_goes_on() {
    for sent in [10, 5] {
        let stalls = Turn::file(10).sends(0..sent).then(Piece::Stall);
        let client = Scripted::new([stalls, Turn::rest(0, 10).sends(0..10)]);
        let layer = layer(policy()).runtime(Frozen);
        let ended = download(layer.resume_downloads(), &client, get()).await;
        assert_eq!(ended.read, bytes(0..10));
    }
}

#[tokio::test]
async fn what_comes_after_the_last_byte_is_waited_for() {
    let whole = Turn::file(10).sends(0..10);
    let client = Scripted::new([whole.then(Piece::Later).then(Piece::Trailers)]);
    let layer = layer(policy()).runtime(ManualRuntime::paused());
    let service = layer.resume_downloads().layer(client);
    let body = service.oneshot(get()).await.unwrap().into_body();
    let all = body.collect().await.unwrap();
    assert!(all.trailers().is_some());
    assert_eq!(all.to_bytes(), bytes(0..10));
}
