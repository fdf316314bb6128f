//! Bodies of requests that are sent again, and of responses that are read before their caller reads them.

use crate::calls::{URL, retries};
use crate::server::{BodyEnd, Server, Step};
use http_retry_core::policy::{Classify, Verdict};
use http_retry_core::reading::{Rewrite, RewriteBody, Rewritten};
use http_retry_core::{Class, ErrorKind, Outcome, Reach};
use http_retry_rules::ReadBody;
use http_retry_ureq::{Retries, RetryPolicy, RetryReport, StopReason};
use std::io::{self, Read};
use std::time::Duration;
use ureq::http::{Request, StatusCode};
use ureq::{AsSendBody, Error, SendBody};

const LIMIT: usize = 1_000;

fn reader(bytes: Vec<u8>) -> SendBody<'static> {
    SendBody::from_owned_reader(io::Cursor::new(bytes))
}

fn long() -> Vec<u8> {
    (0..50_000_u32).map(|n| n.to_le_bytes()[0]).collect()
}

/// Sends a PUT, and returns the bodies that came and why it ended.
fn put(server: &Server, mut body: impl AsSendBody) -> (Vec<Vec<u8>>, StopReason) {
    let slot = RetryReport::slot();
    let agent = server.agent(retries().replay_limit(LIMIT));
    let request = agent.put(URL).extension(slot.clone());
    let _ = request.send(body.as_body());
    let received = server.received().into_iter().map(|one| {
        let is_cut = matches!(one.step, Step::ResetAtWrite | Step::ResetInBody);
        one.content_or_cut(is_cut)
    });
    let received = received.collect();
    (received, slot.take().unwrap().stop)
}

#[test]
fn a_reader_is_sent_again_from_its_start() {
    let server = Server::new([Step::status(503), Step::ResetAfterWrite]);
    let text = b"0123456789".repeat(100);
    let (bodies, stop) = put(&server, reader(text.clone()));
    assert_eq!((bodies, stop), (vec![text; 3], StopReason::Succeeded));
    let received = server.received();
    let framed = received.iter().map(|one| one.header("transfer-encoding"));
    assert!(framed.into_iter().all(|own| own == Some("chunked")));
}

#[test]
fn a_body_above_the_limit_is_sent_once_and_with_its_length() {
    for known in [true, false] {
        let server = Server::new([Step::status(503)]);
        let (bodies, stop) = if known {
            put(&server, long())
        } else {
            put(&server, reader(long()))
        };
        assert_eq!(
            (bodies, stop),
            (vec![long()], StopReason::BodyNotReplayable)
        );
        let received = server.received();
        let length = received[0].header("content-length");
        assert_eq!(length, known.then_some("50000"));
    }
}

#[test]
fn a_body_of_any_length_is_sent_again_if_nobody_has_read_it() {
    let server = Server::new([Step::Refused, Step::NoHost, Step::HandshakeReset]);
    let (bodies, stop) = put(&server, reader(long()));
    assert_eq!((bodies, stop), (vec![long()], StopReason::Succeeded));
}

#[test]
fn a_body_that_broke_off_early_goes_on_where_its_reader_is() {
    let server = Server::new([Step::ResetAtWrite, Step::ResetInBody]);
    let text = b"abc".repeat(300);
    let (bodies, stop) = put(&server, reader(text.clone()));
    assert_eq!(stop, StopReason::Succeeded);
    assert_eq!(bodies[2], text);
}

#[test]
fn an_empty_body_keeps_its_length_and_no_body_has_none() {
    let server = Server::new([Step::status(503)]);
    let (bodies, _) = put(&server, "");
    assert_eq!(bodies, [b"", b""]);
    let lengths = |server: &Server| {
        let received = server.received().into_iter();
        let lengths = received.map(|one| one.header("content-length").map(str::to_owned));
        lengths.collect::<Vec<_>>()
    };
    assert_eq!(
        lengths(&server),
        [Some("0".to_owned()), Some("0".to_owned())]
    );
    let server = Server::new([Step::status(503)]);
    server.agent(retries()).get(URL).call().unwrap();
    assert_eq!(lengths(&server), [None, None]);
    let server = Server::new([Step::status(503)]);
    let request = Request::put(URL).body(()).unwrap();
    server.agent(retries()).run(request).unwrap();
    assert_eq!(lengths(&server), [None, None]);
}

#[test]
fn a_body_of_a_get_is_sent_again_too() {
    let server = Server::new([Step::status(503)]);
    let request = Request::get(URL).body("query").unwrap();
    server.agent(retries()).run(request).unwrap();
    let bodies: Vec<_> = server.received().into_iter().map(|one| one.body).collect();
    assert_eq!(bodies, [b"query", b"query"]);
}

struct Fails(u8);

impl Read for Fails {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0 += 1;
        if self.0 > 1 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        buf[0] = b'x';
        Ok(1)
    }
}

#[test]
fn a_body_that_its_caller_cannot_read_is_not_sent_again() {
    let (server, slot) = (Server::new([]), RetryReport::slot());
    let request = server.agent(retries()).put(URL).extension(slot.clone());
    let error = request
        .send(SendBody::from_owned_reader(Fails(0)))
        .unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Body));
    assert_eq!(report.attempt_count, 1);
}

/// A file that gets another line whenever all of it was read.
struct Grows {
    line: u8,
    is_read: bool,
}

impl Read for Grows {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.is_read = !self.is_read;
        if !self.is_read {
            self.line += 1;
            return Ok(0);
        }
        buf[..2].copy_from_slice(&[self.line, b'\n']);
        Ok(2)
    }
}

#[test]
fn a_body_that_grows_is_sent_again_as_it_was() {
    let steps = [
        Step::status(503),
        Step::ResetAfterWrite,
        Step::status(503),
        Step::status(200),
    ];
    let server = Server::new(steps);
    let grows = Grows {
        line: b'1',
        is_read: false,
    };
    let (bodies, stop) = put(&server, SendBody::from_owned_reader(grows));
    assert_eq!(stop, StopReason::Succeeded);
    assert_eq!(bodies, [b"1\n"; 4]);
}

/// A pipe whose other end stays open: a read after its last byte would never return.
struct Blocks {
    left: &'static [u8],
    has_ended: bool,
}

impl Read for Blocks {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        assert!(!self.has_ended, "asked again after its end");
        let read = self.left.read(buf)?;
        self.has_ended = read == 0;
        Ok(read)
    }
}

#[test]
fn a_body_is_not_read_after_its_end() {
    let blocks = || {
        SendBody::from_owned_reader(Blocks {
            left: b"0123456789",
            has_ended: false,
        })
    };
    let server = Server::new([Step::status(503), Step::ResetAfterWrite]);
    let (bodies, stop) = put(&server, blocks());
    assert_eq!((bodies.len(), stop), (3, StopReason::Succeeded));
    // Nor does a function that rewrites it read on.
    let policy = RetryPolicy::background().to_builder().rewrite(Halve);
    let server = Server::new([Step::status(413)]);
    let agent = server.agent(Retries::new(policy.build().unwrap()));
    agent.put(URL).send(blocks()).unwrap();
    assert_eq!(server.received()[1].content(), b"01234");
}

#[test]
fn a_body_that_ends_before_its_length_is_sent_once() {
    let (server, slot) = (Server::new([]), RetryReport::slot());
    let request = server.agent(retries()).put(URL).extension(slot.clone());
    let request = request.header("content-length", "20");
    let error = request.send(reader(b"0123456789".to_vec())).unwrap_err();
    assert!(matches!(&error, Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof));
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Body));
    assert_eq!(report.attempt_count, 1);
}

/// A conflict that is busy is transient.
struct Busy;

impl Classify for Busy {
    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        outcome.status() == Some(StatusCode::CONFLICT)
    }

    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let code = outcome.body()?.json("/code").next()?;
        (code == "busy").then_some(Verdict::new(Class::Transient, Reach::Refused))
    }
}

#[test]
fn a_classifier_reads_a_body_and_the_caller_gets_all_of_it() {
    let policy = RetryPolicy::background().to_builder().classifier(Busy);
    let policy = policy.build().unwrap();
    let text = format!(r#"{{"code": "gone", "text": "{}"}}"#, "x".repeat(100_000));
    let server = Server::new([
        Step::status(409).body(r#"{"code": "busy"}"#),
        Step::status(409)
            .body(&*text)
            .header("content-type", "application/json"),
    ]);
    let agent = server.agent_with(Retries::new(policy), |config| {
        config.http_status_as_error(false)
    });
    let mut response = agent.post(URL).send("an order").unwrap();
    assert_eq!(response.status(), 409);
    assert_eq!(response.body().mime_type(), Some("application/json"));
    assert_eq!(response.body_mut().read_to_string().unwrap(), text);
    assert_eq!(server.received().len(), 2);
}

#[test]
fn a_response_that_is_read_whole_and_breaks_is_a_failed_attempt() {
    let policy = RetryPolicy::background()
        .to_builder()
        .whole_responses(100_000);
    let policy = policy
        .attempt_timeout(Duration::from_secs(9))
        .build()
        .unwrap();
    let server = Server::new([
        Step::status(200).ends(BodyEnd::Half),
        Step::status(200).ends(BodyEnd::Stalls),
        Step::status(200).body(long()),
    ]);
    let slot = RetryReport::slot();
    let request = server
        .agent(Retries::new(policy))
        .get(URL)
        .extension(slot.clone());
    let mut response = request.call().unwrap();
    assert_eq!(response.body_mut().read_to_vec().unwrap(), long());
    let report = slot.take().unwrap();
    let ends: Vec<_> = report
        .attempts
        .iter()
        .map(|one| (one.error, one.reach))
        .collect();
    let answered = |kind| (Some(kind), Reach::Answered);
    assert_eq!(ends[0], answered(ErrorKind::Incomplete));
    assert_eq!(ends[1], answered(ErrorKind::Timeout));
    assert_eq!(report.attempts[1].took, Duration::from_secs(9));
}

#[test]
fn a_post_whose_response_breaks_is_not_repeated() {
    let policy = RetryPolicy::background()
        .to_builder()
        .whole_responses(100_000);
    let server = Server::new([Step::status(200).body("0123456789").ends(BodyEnd::Half)]);
    let agent = server.agent(Retries::new(policy.build().unwrap()));
    let mut response = agent.post(URL).send("an order").unwrap();
    let mut text = String::new();
    let broken = response.body_mut().as_reader().read_to_string(&mut text);
    assert!(broken.is_err());
    assert_eq!((&*text, server.received().len()), ("01234", 1));
}

#[test]
fn a_short_failed_response_leaves_its_connection_for_the_retry() {
    let server = Server::new([Step::status(503), Step::status(503)]).keeping_alive();
    server.agent(retries()).get(URL).call().unwrap();
    let received = server.received();
    assert!(received.iter().all(|one| one.connection == 1));
    let server = Server::new([Step::status(503).body(vec![0; 200_000])]).keeping_alive();
    server.agent(retries()).get(URL).call().unwrap();
    let received = server.received();
    assert_eq!((received[0].connection, received[1].connection), (1, 2));
}

/// Sends half after a 413.
struct Halve;

impl Rewrite for Halve {
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
        if outcome.status() != Some(StatusCode::PAYLOAD_TOO_LARGE) {
            return None;
        }
        Some(Box::new(|_, body| {
            let half = body.get(..body.len() / 2)?;
            Some(Rewritten {
                body: half.to_vec(),
                before: body.len(),
                after: half.len(),
            })
        }))
    }
}

#[test]
fn a_rewritten_body_goes_out_with_its_own_length() {
    let policy = RetryPolicy::background().to_builder().rewrite(Halve);
    let server = Server::new([Step::status(413)]);
    let agent = server.agent(Retries::new(policy.build().unwrap()));
    agent.put(URL).send("0123456789").unwrap();
    let received = server.received();
    assert_eq!(
        (&*received[1].body, received[1].header("content-length")),
        (&b"01234"[..], Some("5"))
    );
}
