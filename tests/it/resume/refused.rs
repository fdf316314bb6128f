//! Answers to the request for the rest that do not belong to the start: nothing of them is handed out.

use super::script::{Piece, Scripted, Turn, bytes, download, get, layer, policy};
use http_retry::resume::Interrupted;
use http_retry::resume::ResumeFailure::{self, *};
use http_retry::rules::{Condition, ErrorGroup, Rule};
use http_retry::testing::ManualRuntime;

#[tokio::test]
async fn what_does_not_belong_to_the_start_is_an_error() {
    let rest = || Turn::rest(0, 10);
    let other = || Piece::Data(bytes(1..11));
    let answers: [(&str, Turn, ResumeFailure); 8] = [
        (
            "another tag",
            Turn::of(206).header("etag", "\"b\""),
            Changed,
        ),
        ("412", Turn::of(412), Changed),
        ("another range", Turn::rest(1, 10).sends(1..10), WrongRange),
        (
            "a coding",
            rest().header("content-encoding", "gzip"),
            Encoded,
        ),
        ("other bytes", rest().then(other()), WrongOverlap),
        ("more bytes", rest().sends(0..5).sends(5..11), TooLong),
        ("404", Turn::of(404), HeadFailed),
        (
            "not the same file",
            Turn::of(200).header("etag", "\"a\""),
            RangeIgnored,
        ),
    ];
    for (what, answer, wanted) in answers {
        let client = Scripted::new([Turn::file(10).sends(0..5).then(Piece::Reset), answer]);
        let layer = layer(policy()).runtime(ManualRuntime::new());
        let ended = download(layer.resume_downloads(), &client, get()).await;
        assert_eq!(ended.interrupted(), Some((5, 10, wanted)), "{what}");
        assert_eq!(ended.read, bytes(0..5), "{what}");
    }
}

#[tokio::test]
async fn an_error_says_where_and_why_and_no_more() {
    let client = Scripted::new([Turn::file(10).sends(0..5), Turn::of(404)]);
    let layer = layer(policy()).runtime(ManualRuntime::new());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    let text = "the download broke at byte 5 of 10 and its rest was answered with 404: head_failed. \
                The request for the rest failed.";
    assert_eq!(ended.error.unwrap().to_string(), text);
    let client = Scripted::new([Turn::file(10).sends(0..11)]);
    let layer = super::script::layer(policy()).runtime(ManualRuntime::new());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    let text = "the download broke at byte 0 of 10 and is not resumed: too_long. \
                The server sent more bytes than it promised.";
    assert_eq!(ended.error.unwrap().to_string(), text);
}

#[tokio::test]
async fn an_error_says_what_allows_no_resume() {
    let broken = || Condition::error(ErrorGroup::Any);
    let ruled = Rule::when(broken()).named("enough").stop();
    for (policy, text) in [
        (
            policy().stop_on([broken()]),
            "not_retryable. stop_on allows no other attempt.",
        ),
        (
            policy().rule(ruled),
            "stopped. A rule ends the attempts here (do: stop). Decided by enough.",
        ),
    ] {
        let client = Scripted::new([Turn::file(10).sends(0..5).then(Piece::Reset)]);
        let layer = layer(policy).runtime(ManualRuntime::new());
        let ended = download(layer.resume_downloads(), &client, get()).await;
        let error = ended.error.unwrap().to_string();
        assert!(error.ends_with(text), "{error}");
    }
}

#[tokio::test]
async fn an_interruption_is_found_in_an_io_error() {
    let client = Scripted::new([Turn::file(10).sends(0..5), Turn::of(404)]);
    let layer = layer(policy()).runtime(ManualRuntime::new());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    // As `StreamReader` and `into_async_read` give it to who copies a body to a file.
    let error = std::io::Error::other(ended.error.unwrap());
    assert_eq!(Interrupted::of(&error).map(Interrupted::at), Some(5));
}
