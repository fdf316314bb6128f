//! The default connector and the system's clock, against a server on the loopback.

use http_retry_core::gate::Gate;
use http_retry_core::policy::{Classify, Scope, Verdict};
use http_retry_core::runtime::Runtime;
use http_retry_core::sharing::{CallEnd, CallKind, GateExt, GateRequest};
use http_retry_core::{Backoff, Class, ErrorKind, Outcome, Reach};
use http_retry_testing::ManualRuntime;
use http_retry_ureq::{Retries, RetryPolicy, RetryReport};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

fn retries() -> Retries {
    let policy = RetryPolicy::background().to_builder();
    let policy = policy.backoff(Backoff::fixed(Duration::from_millis(1)));
    Retries::new(policy.build().unwrap())
}

/// Reads a request with a `content-length`, and returns its body.
fn receive(stream: &mut BufReader<TcpStream>) -> String {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if let Some((_, value)) = line.to_lowercase().split_once("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// Answers each connection with one of these; an empty one closes it.
fn serve(answers: Vec<&'static str>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/orders", listener.local_addr().unwrap());
    let served = thread::spawn(move || {
        let each = answers.into_iter().map(|answer| {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let body = receive(&mut stream);
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            body
        });
        each.collect()
    });
    (url, served)
}

const CLOSE: &str = "connection: close\r\ncontent-length: 2\r\n\r\nok";

#[test]
fn a_put_on_the_loopback_is_repeated_with_its_body() {
    let unavailable = format!("HTTP/1.1 503 Busy\r\n{CLOSE}").leak();
    let (url, served) = serve(vec![
        unavailable,
        "",
        format!("HTTP/1.1 200 OK\r\n{CLOSE}").leak(),
    ]);
    let agent = retries().build(|config| config.proxy(None));
    let mut response = agent.put(&url).send("an order").unwrap();
    assert_eq!(response.body_mut().read_to_string().unwrap(), "ok");
    assert_eq!(served.join().unwrap(), ["an order"; 3]);
    let report = response.extensions().get::<RetryReport>().unwrap();
    assert_eq!(report.attempts[1].error, Some(ErrorKind::Incomplete));
}

#[test]
fn a_refused_post_is_repeated() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let slot = RetryReport::slot();
    let agent = retries().build(|config| config.proxy(None));
    let error = agent
        .post(&url)
        .extension(slot.clone())
        .send("x")
        .unwrap_err();
    assert!(matches!(error, ureq::Error::Io(_)), "{error}");
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Connect));
    assert_eq!(report.attempt_count, 5);
}

#[test]
fn a_silent_server_is_left_at_the_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let policy = RetryPolicy::background().to_builder().max_retries(0);
    let policy = policy
        .attempt_timeout(Duration::from_millis(20))
        .build()
        .unwrap();
    let agent = Retries::new(policy).build(|config| config.proxy(None));
    let error = agent.get(&url).call().unwrap_err();
    assert!(matches!(error, ureq::Error::Timeout(_)), "{error}");
}

#[test]
fn a_failed_response_that_stalls_comes_back_unread() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (go_on, goes_on) = mpsc::channel();
    let served = thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        receive(&mut stream);
        let head = "HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 10\r\n\r\nfirst";
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        goes_on.recv().unwrap();
        stream.get_mut().write_all(b" last").unwrap();
    });
    let policy = RetryPolicy::background().to_builder();
    let policy = policy.deadline(Duration::from_millis(100)).build().unwrap();
    let agent = Retries::new(policy).build(|config| config.proxy(None).http_status_as_error(false));
    let mut response = agent.get(&url).call().unwrap();
    assert_eq!(response.status(), 503);
    go_on.send(()).unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    assert_eq!(text, "first last");
    served.join().unwrap();
}

#[test]
fn a_body_that_is_cut_is_never_whole() {
    let head = |framing: &str| format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
    let chunked = head("transfer-encoding: chunked");
    let cut = [
        head("content-length: 10") + "01234",
        chunked.clone() + "5\r\n01234\r\n",
        chunked.clone() + "5\r\n012",
        chunked + "5\r\n01234\r\na",
    ];
    for whole in [0, 1_000] {
        for cut in &cut {
            let (url, served) = serve(vec![cut.clone().leak()]);
            let policy = RetryPolicy::background().to_builder().max_retries(0);
            let policy = policy.whole_responses(whole).build().unwrap();
            let agent = Retries::new(policy).build(|config| config.proxy(None));
            let mut response = agent.get(&url).call().unwrap();
            assert!(response.body_mut().read_to_string().is_err(), "{cut:?}");
            served.join().unwrap();
        }
    }
}

/// Knows what a limit affects by the body alone.
struct ByBody;

impl Classify for ByBody {
    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        outcome.status().is_some_and(|status| status == 429)
    }

    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let refused = Verdict::new(Class::Throttled, Reach::Refused);
        (outcome.body()?.text() == "object").then(|| refused.scope(Scope::Request))
    }
}

/// Returns `true` if a call that was refused before may go to this host now.
fn is_open(gate: &Gate, host: &str, clock: &ManualRuntime) -> bool {
    let request = GateRequest {
        key: gate.key(host, None),
        kind: CallKind::Retry,
        began: Duration::ZERO,
        deadline: None,
        at_gate: Duration::MAX,
        ends_early: false,
        quotas_at_once: false,
    };
    let clock: Arc<dyn Runtime> = Arc::new(clock.clone());
    let mut passes = pin!(gate.pass(request, &clock, || ()));
    let polled = passes
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(passed) = polled else {
        return false;
    };
    let place = passed.place.unwrap().unwrap();
    gate.end(&place, CallEnd::Other, None, &*clock);
    true
}

/// The bodies come once the gate was seen to be closed.
#[test]
fn a_429_closes_the_gate_before_its_body_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let url = format!("http://{host}/");
    let (closed, seen) = mpsc::channel();
    let server = thread::spawn(move || {
        let streams = [(); 4].map(|()| {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            receive(&mut stream);
            let head = "HTTP/1.1 429 Later\r\nretry-after: 300\r\ncontent-length: 6\r\n\r\n";
            stream.get_mut().write_all(head.as_bytes()).unwrap();
            stream
        });
        // A gate that stays open fails the test, and does not hang it.
        let _seen = seen.recv_timeout(Duration::from_secs(60));
        for mut stream in streams {
            stream.get_mut().write_all(b"object").unwrap();
        }
    });
    let (gate, clock) = (Gate::new(), ManualRuntime::paused());
    let policy = RetryPolicy::background().to_builder().max_retries(0);
    let policy = policy.classifier(ByBody).build().unwrap();
    let retries = Retries::new(policy)
        .gate(gate.clone())
        .runtime(clock.clone());
    let agent = retries.build(|config| config.proxy(None).http_status_as_error(false));
    thread::scope(|calls| {
        let calls = [(); 4].map(|()| calls.spawn(|| agent.get(&url).call()));
        while is_open(&gate, &host, &clock) {
            assert!(
                !calls.iter().all(thread::ScopedJoinHandle::is_finished),
                "open"
            );
            thread::yield_now();
        }
        closed.send(()).unwrap();
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap().status(), 429);
        }
    });
    server.join().unwrap();
    // Each of them was about one object.
    assert!(is_open(&gate, &host, &clock));
}
