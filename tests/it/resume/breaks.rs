//! What follows from each break: who is asked for what, when, and who is told.

use super::script::{Ended, Piece, Scripted, Turn, budget, bytes, download, get, layer, policy};
use futures_util::FutureExt;
use http_body::Body;
use http_body_util::BodyExt;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::resume::{Resume, ResumeFailure};
use http_retry::testing::ManualRuntime;
use http_retry::{RetryBudget, StopReason};
use http_retry_core::settings::PolicyExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

async fn run(turns: impl IntoIterator<Item = Turn>) -> (Ended, Scripted) {
    let client = Scripted::new(turns);
    let layer = layer(policy()).runtime(ManualRuntime::new());
    let layer = layer.budget(RetryBudget::unlimited());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    (ended, client)
}

#[tokio::test]
async fn a_body_goes_on_where_it_broke() {
    let (ended, client) = run([
        Turn::file(5000)
            .sends(0..10)
            .sends(10..3000)
            .then(Piece::Reset),
        Turn::rest(1976, 5000).sends(1976..3500),
        Turn::rest(2476, 5000)
            .sends(2476..5000)
            .then(Piece::Trailers),
    ])
    .await;
    assert_eq!(
        (ended.read, ended.trailers),
        (bytes(0..5000).to_vec(), true)
    );
    assert!(ended.error.is_none());
    assert_eq!(client.ranges(), ["bytes=1976-4999", "bytes=2476-4999"]);
    let progress = ended.progress.unwrap();
    let counted = (
        progress.resumes(),
        progress.received(),
        progress.read_twice(),
    );
    assert_eq!(counted, (2, 5000, 2048));
    let coding = Some("identity".to_owned());
    assert_eq!(client.asked("accept-encoding"), vec![coding; 3]);
    let tag = Some("\"a\"".to_owned());
    assert_eq!(client.asked("if-range"), [None, tag.clone(), tag]);
}

#[tokio::test]
async fn a_range_of_the_callers_own_goes_on_within_it() {
    let first = Turn::of(206)
        .header("content-length", "3000")
        .header("content-range", "bytes 500-3499/9000")
        .header("etag", "\"a\"");
    let rest = Turn::of(206)
        .header("content-range", "bytes 1476-3499/9000")
        .header("etag", "\"a\"");
    let client = Scripted::new([first.sends(500..2500), rest.sends(1476..3500)]);
    let mut request = get();
    let own = "bytes=500-3499".parse().unwrap();
    request.headers_mut().insert("range", own);
    let layer = layer(policy()).runtime(ManualRuntime::new());
    let ended = download(layer.resume_downloads(), &client, request).await;
    assert_eq!(ended.read, bytes(500..3500));
    assert_eq!(client.ranges(), ["bytes=1476-3499"]);
}

#[tokio::test]
async fn the_whole_again_is_read_to_the_place_under_the_same_tag() {
    let again = Turn::file(5000).sends(0..4000).sends(4000..5000);
    let (ended, _) = run([Turn::file(5000).sends(0..3000), again]).await;
    assert_eq!(ended.read, bytes(0..5000));
    assert_eq!(ended.progress.unwrap().read_twice(), 3000);
}

#[tokio::test]
async fn a_range_ends_where_it_ends_in_the_whole_again_too() {
    for pieces in [vec![0..4000, 4000..5000], vec![0..300, 300..560, 560..5000]] {
        let first = Turn::of(206)
            .header("content-length", "100")
            .header("content-range", "bytes 500-599/5000")
            .header("etag", "\"a\"");
        let whole = pieces.iter().cloned().fold(Turn::file(5000), Turn::sends);
        let first = first.sends(500..550).then(Piece::Reset);
        let client = Scripted::new([first, whole.then(Piece::Stall)]);
        let mut request = get();
        let own = "bytes=500-599".parse().unwrap();
        request.headers_mut().insert("range", own);
        let layer = layer(policy()).runtime(ManualRuntime::new());
        let ended = download(layer.resume_downloads(), &client, request).await;
        assert_eq!(ended.interrupted(), None, "{pieces:?}");
        assert_eq!(ended.read, bytes(500..600), "{pieces:?}");
        assert_eq!(client.ranges(), ["bytes=500-599"]);
    }
}

#[tokio::test]
async fn nothing_is_asked_once_every_byte_is_there() {
    for last in [Piece::Reset, Piece::Stall, Piece::Trailers] {
        let turn = Turn::file(10).sends(0..10).then(last.clone());
        let (ended, client) = run([turn]).await;
        assert_eq!(ended.read, bytes(0..10), "{last:?}");
        assert!(ended.error.is_none(), "{last:?}");
        assert_eq!(client.ranges().len(), 0, "{last:?}");
    }
}

#[tokio::test]
async fn a_head_that_fails_is_retried_by_the_layer() {
    let (ended, client) = run([
        Turn::file(10).sends(0..5),
        Turn::of(503),
        Turn::rest(0, 10).sends(0..10),
    ])
    .await;
    assert_eq!(ended.read, bytes(0..10));
    assert_eq!(client.ranges(), ["bytes=0-9"; 2]);
    assert_eq!(ended.progress.unwrap().resumes(), 1);
}

#[tokio::test]
async fn without_a_proof_it_begins_anew_as_long_as_nothing_was_read() {
    let unproven = || Turn::of(200).header("content-length", "10");
    let (ended, client) = run([unproven().then(Piece::Reset), unproven().sends(0..10)]).await;
    assert_eq!(ended.read, bytes(0..10));
    assert_eq!(client.asked("range"), [None, None]);

    let (ended, _) = run([unproven().sends(0..5).then(Piece::Reset)]).await;
    assert_eq!((ended.read.len(), ended.interrupted()), (5, None));
    let error = ended.error.unwrap().downcast::<std::io::Error>().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn each_new_byte_begins_a_new_count() {
    let cuts = |breaks: usize| {
        let rest = move |at| Turn::rest(0, 100).sends(0..at).then(Piece::Reset);
        let first = Turn::file(100).sends(0..1).then(Piece::Reset);
        std::iter::once(first).chain((2..=breaks).map(rest))
    };
    let (ended, _) = run(cuts(50).chain([Turn::rest(0, 100).sends(0..100)])).await;
    assert_eq!(ended.read, bytes(0..100));
    assert_eq!(ended.progress.unwrap().resumes(), 50);

    let stuck = (0..9).map(|_| Turn::rest(0, 100).sends(0..1).then(Piece::Reset));
    let (ended, client) = run(cuts(1).chain(stuck)).await;
    let stopped = ResumeFailure::Stopped(StopReason::AttemptsExhausted);
    assert_eq!(ended.interrupted(), Some((1, 100, stopped)));
    let allowed = policy().build().unwrap().retry_limit();
    assert_eq!(client.ranges().len(), usize::try_from(allowed).unwrap());
}

#[tokio::test]
async fn the_deadline_is_for_heads_alone() {
    let runtime = ManualRuntime::new();
    let turns = (0..4).map(|_| Turn::rest(0, 10).sends(0..5).then(Piece::Reset));
    let turns = [Turn::file(10).sends(0..5)].into_iter().chain(turns);
    let client = Scripted::new(turns.take(4).chain([Turn::rest(0, 10).sends(0..10)]));
    let deadline = policy().deadline(SECOND * 2);
    let layer = layer(deadline).runtime(runtime.clone());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    assert_eq!(ended.read, bytes(0..10));
    assert!(runtime.sleeps().len() == 4, "{:?}", runtime.sleeps());
}

#[tokio::test]
async fn a_stall_is_a_break_and_a_reader_that_is_away_is_none() {
    let runtime = ManualRuntime::paused();
    let client = Scripted::new([
        Turn::file(10).sends(0..5).then(Piece::Stall),
        Turn::rest(0, 10).sends(0..10),
    ]);
    let resume = Resume::new().idle_timeout(SECOND * 10).unwrap();
    let budget = budget(5);
    let layer = layer(policy())
        .runtime(runtime.clone())
        .budget(budget.clone());
    let service = layer
        .resume(resume)
        .resume_downloads()
        .layer(client.clone());
    let mut body = service.oneshot(get()).await.unwrap().into_body();

    runtime.advance(SECOND * 100);
    let first = body.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), bytes(0..5));
    assert_eq!(body.size_hint().exact(), Some(5));
    let tokens = || budget.tokens_at(Duration::ZERO).unwrap().to_string();
    for (waited, left) in [(9, "5"), (1, "5")] {
        assert!(body.frame().now_or_never().is_none());
        runtime.advance(SECOND * waited);
        assert_eq!(tokens(), left);
    }
    // The body has a last word before it counts as stalled: 2 tokens, and a second to wait.
    assert!(body.frame().now_or_never().is_none());
    assert_eq!((tokens(), client.ranges().len()), ("5".into(), 0));
    runtime.advance(Duration::from_millis(1));
    assert!(body.frame().now_or_never().is_none());
    assert_eq!((tokens(), client.ranges().len()), ("3".into(), 0));
    runtime.advance(SECOND);
    let rest = body.frame().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(rest.into_data().unwrap(), bytes(5..10));
    assert_eq!(tokens(), "5");
    assert!(body.frame().now_or_never().unwrap().is_none() && body.is_end_stream());
}

#[tokio::test]
async fn each_step_is_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let observer = move |event: &RetryEvent<'_>| {
        let text = match event.kind {
            RetryEventKind::Resuming {
                at,
                length,
                kind,
                delay,
                ..
            } => format!("{at} of {length} {kind}, {delay:?}"),
            RetryEventKind::Resumed { at, kind, .. } => format!("resumed {at} {kind}"),
            RetryEventKind::Interrupted { at, kind, why, .. } => {
                format!("interrupted {at} {} {why}", kind.unwrap())
            }
            _ => return,
        };
        let text = format!("{} {}: {text}", event.service, event.at.as_secs());
        log.lock().unwrap().push(text);
    };
    let client = Scripted::new([
        Turn::file(100).sends(0..10).then(Piece::Reset),
        Turn::rest(0, 100).sends(0..20),
        Turn::rest(0, 100).header("etag", "\"b\""),
    ]);
    let layer = layer(policy()).runtime(ManualRuntime::new().with_random(u64::MAX));
    let layer = layer.observe(observer).budget(RetryBudget::unlimited());
    download(layer.resume_downloads(), &client, get()).await;
    let wanted = [
        "files.example 0: 10 of 100 reset, 1s",
        "files.example 1: resumed 10 reset",
        "files.example 1: 20 of 100 incomplete, 1s",
        "files.example 2: interrupted 20 incomplete changed",
    ];
    assert_eq!(*told.lock().unwrap(), wanted);
}
