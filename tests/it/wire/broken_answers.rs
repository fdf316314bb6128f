//! Answers that break after their head, read within an operation: what a policy makes of the error.

use super::connections::client::Speaks;
use super::http2::server::{Breaks, Http2Server, Turn};
use super::server::{Act, Answer, FaultServer};
use super::stacks::clock::{let_all_run, let_pass};
use super::table::clients::{Kit, LIMIT, Limited, Log, hyper_client, policy, reqwest_client};
use super::table::orders::{Load, Order, Payload};
use super::tls::certificates::{Authority, serving, trusting, trusting_nobody};
use super::whole_responses::server::{FailingServer, Fault, How, Page};
use crate::in_time::in_time;
use bytes::Bytes;
use h2::Reason;
use http_body_util::BodyExt;
use http_retry::report::AttemptReport;
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::{Class, ErrorKind, Reach};
use reqwest::redirect::Policy;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tower::BoxError;

/// What is told of an attempt: its status or the kind of its error, its class and its reach.
type Told = (Option<u16>, Option<ErrorKind>, Class, Reach);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    Bytes,
    Json,
    /// As bytes, after `error_for_status`.
    IfFine,
}

/// What is told of the attempts of an operation.
async fn attempts<F, T>(idempotent: bool, operation: impl Fn() -> F + Send + Sync) -> Vec<Told>
where
    F: Future<Output = Result<T, BoxError>> + Send,
    T: Send,
{
    let log = Log::default();
    let runner = Runner::on(ManualRuntime::new(), policy()).one_request();
    let runner = runner.redirects_off();
    let runner = runner.observer(log.clone()).idempotent(idempotent);
    let run = runner.run_by_policy(|_| operation());
    let _result = in_time(run).await;
    log.attempts().iter().map(told).collect()
}

fn told(attempt: &AttemptReport) -> Told {
    let status = attempt.status.map(|status| status.as_u16());
    (status, attempt.error, attempt.class, attempt.reach)
}

async fn by_reqwest(client: &reqwest::Client, url: &str, read: Read) -> Result<(), BoxError> {
    let response = client.get(url).send().await?;
    match read {
        Read::Bytes => response.bytes().await.map(drop)?,
        Read::Json => response.json::<serde_json::Value>().await.map(drop)?,
        Read::IfFine => response.error_for_status()?.bytes().await.map(drop)?,
    }
    Ok(())
}

async fn by_hyper(kit: &Kit) -> Result<(), BoxError> {
    let request = Order::Get.request(&kit.url, Payload::of(Load::Usual, Order::Get));
    let response = hyper_client(kit).request(request).await?;
    response.into_body().collect().await?;
    Ok(())
}

/// Twice this where it is transient and the operation may be repeated, else once.
async fn check(what: &str, kit: &Kit, read: Read, wanted: Told) {
    let client = reqwest_client(kit, Policy::default());
    for idempotent in [true, false] {
        let run = attempts(idempotent, || by_reqwest(&client, &kit.url, read));
        check_attempts(&format!("{what}, reqwest"), &run.await, idempotent, wanted);
        if read == Read::Bytes && !what.contains("gzip") {
            let run = attempts(idempotent, || by_hyper(kit));
            check_attempts(&format!("{what}, hyper"), &run.await, idempotent, wanted);
        }
    }
}

fn check_attempts(what: &str, seen: &[Told], idempotent: bool, wanted: Told) {
    let (.., class, reach) = wanted;
    let repeated = class != Class::Permanent && (idempotent || reach.is_unprocessed());
    let wanted = vec![wanted; if repeated { 2 } else { 1 }];
    assert_eq!(seen, wanted, "{what}, idempotent: {idempotent}");
}

fn failed(kind: ErrorKind, class: Class) -> Told {
    (None, Some(kind), class, Reach::Answered)
}

#[tokio::test]
async fn a_broken_body_is_what_its_chain_says() {
    for (act, kind, class) in [
        (Act::CutBody(200), ErrorKind::Incomplete, Class::Transient),
        (Act::ResetInBody(200), ErrorKind::Reset, Class::Transient),
        (Act::BadGzip, ErrorKind::Decode, Class::Permanent),
    ] {
        let server = FaultServer::start(vec![act.clone(); 8]).await;
        let kit = Kit::new(server.url("/"));
        let what = format!("{act:?}").to_lowercase();
        check(&what, &kit, Read::Bytes, failed(kind, class)).await;
    }
}

#[tokio::test]
async fn a_body_that_breaks_on_http2_was_answered() {
    for (breaks, kind) in [
        (
            Breaks::Reset(Reason::REFUSED_STREAM),
            ErrorKind::NotProcessed,
        ),
        (Breaks::Reset(Reason::INTERNAL_ERROR), ErrorKind::Http2),
        (Breaks::Closed, ErrorKind::Reset),
        (Breaks::ClosedInFrame, ErrorKind::Reset),
    ] {
        let server = Http2Server::start([Turn::Body(breaks)]).await;
        let mut kit = Kit::new(server.url());
        kit.http2 = true;
        let wanted = failed(kind, Class::Transient);
        check(&format!("{breaks:?}"), &kit, Read::Bytes, wanted).await;
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_not_asked_for_again() {
    let server = FaultServer::start([]).await;
    let kit = Kit::new(server.url("/"));
    let wanted = failed(ErrorKind::Decode, Class::Permanent);
    check("no JSON", &kit, Read::Json, wanted).await;
}

#[tokio::test]
async fn an_error_made_of_a_status_is_judged_by_it() {
    for (status, class, reach) in [
        (503, Class::Transient, Reach::Answered),
        (404, Class::Permanent, Reach::Answered),
        (429, Class::Throttled, Reach::Refused),
    ] {
        let acts = vec![Act::Answer(Answer::new(status)); 8];
        let server = FaultServer::start(acts).await;
        let kit = Kit::new(server.url("/"));
        let wanted = (Some(status), None, class, reach);
        check(&status.to_string(), &kit, Read::IfFine, wanted).await;
    }
}

#[tokio::test]
async fn a_body_that_stalls_is_a_timeout() {
    let server = FaultServer::start(vec![Act::StallBody(200); 8]).await;
    let mut kit = Kit::new(server.url("/"));
    kit.limited = Limited::Answering;
    let (client, head) = (reqwest_client(&kit, Policy::default()), Notify::new());
    let stalled = || async {
        let response = client.get(&kit.url).send().await?;
        head.notify_one();
        response.bytes().await.map(drop)?;
        Ok::<_, BoxError>(())
    };
    for idempotent in [true, false] {
        let seen = tokio::select! {
            seen = attempts(idempotent, stalled) => seen,
            never = let_time_pass(&head) => match never {},
        };
        let wanted = failed(ErrorKind::Timeout, Class::Transient);
        check_attempts("stalled", &seen, idempotent, wanted);
    }
}

/// Whenever a head has come, its body's time is up.
async fn let_time_pass(head: &Notify) -> Infallible {
    loop {
        head.notified().await;
        let_all_run().await;
        let_pass(LIMIT + Duration::from_secs(1)).await;
    }
}

/// A server that fails one connection, and then no more, behind an operation that reads what it answers.
async fn after(fault: Fault, page: Page, tls: Option<&Authority>) -> (FailingServer, Kit) {
    let config = tls.map(|authority| serving(authority.sign_here(3000)));
    let unused = Arc::new(|| {});
    let server = FailingServer::with_tls(Speaks::Http1, page, unused, config).await;
    server.fail([fault]);
    let kit = Kit {
        tls: tls.map_or_else(trusting_nobody, trusting),
        ..Kit::new(server.url())
    };
    (server, kit)
}

fn page() -> Page {
    Page {
        body: Bytes::from("answer ".repeat(30_000)),
        chunked: true,
        gzip: false,
    }
}

#[tokio::test]
async fn a_cut_under_tls_or_gzip_is_no_complaint_of_a_decoder() {
    let ours = Authority::new("ours");
    for how in [How::Close, How::Reset] {
        for gzip in [false, true] {
            for tls in [None, Some(&ours)] {
                // Far behind the record of TLS that the head is in.
                let after_head = 100_000;
                let fault = Fault {
                    after: after_head,
                    how,
                };
                let page = Page { gzip, ..page() };
                let (_server, kit) = after(fault, page, tls).await;
                let client = reqwest_client(&kit, Policy::default());
                let seen = attempts(true, || by_reqwest(&client, &kit.url, Read::Bytes)).await;
                let what = format!("{how:?}, gzip: {gzip}, tls: {}", tls.is_some());
                let [
                    (None, Some(kind), class, reach),
                    (None, None, Class::Success, _),
                ] = seen[..]
                else {
                    panic!("{what}: {seen:?}");
                };
                assert!(
                    matches!(kind, ErrorKind::Incomplete | ErrorKind::Reset),
                    "{what}: {kind}"
                );
                assert_eq!(
                    (class, reach),
                    (Class::Transient, Reach::Answered),
                    "{what}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_operation_that_reads_its_answer_gets_it_whole() {
    let faults = [
        Fault {
            after: 500,
            how: How::Close,
        },
        Fault {
            after: 9_000,
            how: How::Reset,
        },
    ];
    let (server, kit) = after(faults[0], page(), None).await;
    server.fail(faults);
    let client = reqwest_client(&kit, Policy::default());
    let runner = Runner::on(ManualRuntime::new(), http_retry::RetryPolicy::background());
    let runner = runner.redirects_off().idempotent(true);
    let read = runner.run_by_policy(|_| async {
        let answer = client.get(&kit.url).send().await?.error_for_status()?;
        answer.bytes().await
    });
    let body = in_time(read).await.unwrap();
    assert_eq!(body, page().body);
    assert_eq!((server.requests().len(), server.connections()), (3, 3));
}
