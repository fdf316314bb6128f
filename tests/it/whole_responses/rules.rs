//! Which answers are read, what one that breaks is, and what the caller gets.

use super::server::{Reply, Server, Then};
use super::{End, SECOND, STACKS, Stack, call, get, post, send, whole, with};
use futures_util::FutureExt;
use http_retry::reqwest::RetryMiddleware;
use http_retry::rules::{Condition, Rule};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{
    Backoff, Class, ErrorKind, Methods, Reach, RetryBudget, RetryOverride, RetryReport, StopReason,
};
use std::io;
use tower::{Layer, ServiceExt};

#[test]
fn a_broken_answer_is_a_failed_attempt() {
    for stack in STACKS {
        let replies = [Reply::broken(), Reply::broken(), Reply::fine()];
        let ended = send(stack, whole(100), replies, get());
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
        let report = ended.report.unwrap();
        let first = &report.attempts[0];
        assert_eq!(first.error, Some(ErrorKind::Reset));
        assert_eq!(
            (first.class, first.reach),
            (Class::Transient, Reach::Answered)
        );
        let last = report.attempts[2].status.map(|status| status.as_u16());
        assert_eq!((last, report.stop), (Some(200), StopReason::Succeeded));
    }
}

#[test]
fn an_answer_that_ends_before_its_length_is_broken() {
    let short = || Reply::new(&["al", "l of"], Then::EndsEarly);
    for stack in STACKS {
        let ended = send(stack, whole(2_000), [short(), Reply::fine()], get());
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
        let first = ended.report.unwrap().attempts[0].clone();
        assert_eq!(first.error, Some(ErrorKind::Incomplete));
        assert_eq!(
            (first.class, first.reach),
            (Class::Transient, Reach::Answered)
        );
        let posted = send(stack, whole(2_000), [short(), Reply::fine()], post());
        assert_eq!((posted.attempts(), &*posted.body), (1, &b"all of"[..]));
        assert_eq!(posted.end, End::Broken, "{stack:?}");
        assert_eq!(posted.stop(), StopReason::NotIdempotent, "{stack:?}");
    }
}

#[test]
fn the_last_one_that_ends_before_its_length_ends_with_an_error() {
    let short = || Reply::new(&["al", "l of"], Then::EndsEarly);
    for stack in STACKS {
        let ended = send(stack, whole(2_000), [short()], get());
        assert_eq!((ended.status, ended.end), (Some(200), End::Broken));
        assert_eq!((&*ended.body, ended.attempts()), (&b"all of"[..], 3));
        let slow = whole(2_000).backoff(Backoff::fixed(SECOND * 2));
        for (policy, stop) in [
            (whole(2_000).max_retries(0), StopReason::AttemptsExhausted),
            (slow.deadline(SECOND), StopReason::DeadlineExceeded),
            (
                whole(2_000).stop_on([Condition::failure()]),
                StopReason::NotRetryable,
            ),
        ] {
            let ended = send(stack, policy, [short(), Reply::fine()], get());
            assert_eq!((ended.end, ended.stop()), (End::Broken, stop), "{stack:?}");
            assert_eq!((&*ended.body, ended.attempts()), (&b"all of"[..], 1));
        }
    }
}

#[test]
fn without_a_token_one_that_ends_early_ends_with_an_error() {
    let empty = RetryBudget::builder().capacity(20).initial(0);
    let empty = empty.build().unwrap();
    for stack in STACKS {
        let policy = whole(2_000).build().unwrap();
        let layer = RetryLayer::new(policy.clone()).budget(empty.clone());
        let middleware = RetryMiddleware::new(policy).budget(empty.clone());
        let layers = (layer, middleware.redirects_off());
        let short = Reply::new(&["al", "l of"], Then::EndsEarly);
        let ended = call(stack, layers, Server::new([short, Reply::fine()]), get());
        assert_eq!((&*ended.body, ended.end), (&b"all of"[..], End::Broken));
        assert_eq!(ended.stop(), StopReason::BudgetExhausted, "{stack:?}");
    }
}

#[test]
fn the_rest_of_a_longer_one_may_not_end_before_its_length() {
    let short = || Reply::new(&["al", "l of"], Then::EndsEarly);
    for stack in STACKS {
        for reply in [short(), short().header("content-length", "1000")] {
            for request in [get(), post()] {
                let ended = send(stack, whole(100), [reply.clone()], request);
                assert_eq!((&*ended.body, ended.end), (&b"all of"[..], End::Broken));
                assert_eq!(ended.attempts(), 1, "{stack:?}");
            }
        }
        // reqwest's own response is handed on, and its body ends well.
        let unread = match stack {
            Stack::Tower | Stack::Boxed => End::Broken,
            Stack::Middleware => End::Well,
        };
        let off = send(stack, whole(0), [short()], get());
        assert_eq!((&*off.body, off.end), (&b"all of"[..], unread));
    }
}

#[test]
fn a_length_without_a_body_is_no_broken_answer() {
    let empty = || Reply::new(&[], Then::EndsEarly);
    for stack in STACKS {
        for status in [204, 304] {
            let ended = send(stack, whole(2_000), [empty().status(status)], get());
            assert_eq!((ended.attempts(), ended.status), (1, Some(status)));
        }
        let mut head = get();
        *head.method_mut() = http::Method::HEAD;
        let ended = send(stack, whole(2_000), [empty()], head);
        assert_eq!(
            (ended.attempts(), ended.status),
            (1, Some(200)),
            "{stack:?}"
        );
    }
}

#[test]
fn without_it_a_broken_answer_is_the_callers() {
    for stack in STACKS {
        let policies = [
            (whole(0), get()),
            (
                whole(100),
                with(get(), RetryOverride::new().whole_responses(0)),
            ),
        ];
        for (policy, request) in policies {
            let ended = send(stack, policy, [Reply::broken(), Reply::fine()], request);
            assert_eq!((ended.attempts(), ended.end), (1, End::Broken), "{stack:?}");
            assert_eq!(ended.stop(), StopReason::Succeeded);
        }
    }
}

#[test]
fn a_request_may_ask_for_it() {
    for stack in STACKS {
        let own = RetryOverride::new().whole_responses(100);
        let replies = [Reply::broken(), Reply::fine()];
        let ended = send(stack, whole(0), replies, with(get(), own));
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
        assert_eq!(ended.attempts(), 2);
    }
}

#[test]
fn a_post_is_not_repeated_whatever_its_error_says() {
    let refused = whole(100)
        .classify_error(|_: &io::Error| (Class::Transient, Reach::Refused))
        .classify(|outcome| {
            let broken = outcome.error_kind().is_some();
            broken.then_some((Class::Transient, Reach::Unsent))
        });
    for stack in STACKS {
        for policy in [whole(100), refused.clone()] {
            let ended = send(stack, policy, [Reply::broken(), Reply::fine()], post());
            assert_eq!((ended.status, ended.end), (Some(200), End::Broken));
            assert_eq!((&*ended.body, ended.attempts()), (&b"all of"[..], 1));
            assert_eq!(ended.stop(), StopReason::NotIdempotent, "{stack:?}");
        }
        let all = whole(100).methods(Methods::All);
        let ended = send(stack, all, [Reply::broken(), Reply::fine()], post());
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
    }
}

#[test]
fn the_last_one_is_the_callers_with_what_came_of_it() {
    for stack in STACKS {
        let reply = Reply::broken().header("x-said", "once");
        let ended = send(stack, whole(100), [reply], get());
        assert_eq!((ended.status, ended.end), (Some(200), End::Broken));
        assert_eq!((&*ended.body, ended.attempts()), (&b"all of"[..], 3));
        assert_eq!(ended.stop(), StopReason::AttemptsExhausted, "{stack:?}");
    }
}

#[test]
fn an_answer_that_goes_on_is_handed_over_at_once() {
    for stack in STACKS {
        for kind in [
            "text/event-stream",
            "Multipart/X-Mixed-Replace; boundary=x",
            "application/x-ndjson",
            "application/json-seq",
            "application/grpc+proto",
        ] {
            let reply = Reply::stalled().header("content-type", kind);
            let ended = send(stack, whole(100), [reply], get());
            assert_eq!((ended.attempts(), ended.end), (1, End::Open), "{kind}");
        }
        let reply = Reply::stalled().header("content-length", "101");
        let ended = send(stack, whole(100), [reply], get());
        assert_eq!((ended.attempts(), ended.end), (1, End::Open));
    }
}

#[test]
fn a_failed_head_decides_without_its_body() {
    for stack in STACKS {
        let ended = send(stack, whole(100), [Reply::stalled().status(404)], get());
        assert_eq!((ended.status, ended.end), (Some(404), End::Open));
        assert_eq!(ended.stop(), StopReason::NotRetryable, "{stack:?}");
    }
}

#[test]
fn what_is_longer_than_the_limit_comes_whole_but_unprotected() {
    for stack in STACKS {
        let ended = send(stack, whole(8), [Reply::fine()], get());
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
        let exact = [Reply::broken(), Reply::fine()];
        assert!(send(stack, whole(9), exact, get()).is_whole(b"all of it"));
        let broken_later = send(stack, whole(5), [Reply::broken(), Reply::fine()], get());
        assert_eq!(
            (broken_later.attempts(), broken_later.end),
            (1, End::Broken)
        );
        assert_eq!(broken_later.body, b"all of");
    }
}

#[test]
fn only_an_answer_that_ends_pays_into_the_budget() {
    for stack in STACKS {
        let tokens = |reply, request| send(stack, whole(100), [reply], request).tokens;
        assert_eq!(tokens(Reply::fine(), get()), 11, "{stack:?}");
        assert_eq!(tokens(Reply::broken(), post()), 10, "{stack:?}");
        let handed_over = Reply::stalled().header("content-type", "text/event-stream");
        assert_eq!(tokens(handed_over, get()), 11, "{stack:?}");
    }
}

#[test]
fn trailers_come_with_a_whole_response() {
    let reply = Reply::new(&["all"], Then::Trailers);
    let policy = whole(100).build().unwrap();
    let service = RetryLayer::new(policy).layer(Server::new([reply]));
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let body = runtime.unwrap().block_on(async {
        let response = service.oneshot(get()).await.unwrap();
        http_body_util::BodyExt::collect(response.into_body()).await
    });
    let body = body.unwrap();
    assert_eq!(body.trailers().unwrap()["checksum"], "7");
    assert_eq!(body.to_bytes(), "all");
}

#[test]
fn a_decoder_that_complains_of_its_data_is_not_asked_again() {
    for stack in STACKS {
        let bad = Reply::new(&["al"], Then::Fails(io::ErrorKind::InvalidData));
        let ended = send(stack, whole(100), [bad, Reply::fine()], get());
        let report = ended.report.unwrap();
        assert_eq!(report.attempts[0].error, Some(ErrorKind::Decode));
        assert_eq!((ended.end, report.attempt_count), (End::Broken, 1));
    }
}

#[test]
fn a_rule_sees_what_broke_an_answer() {
    let condition = Condition::message("connection reset").unwrap();
    let rule = Rule::when(condition).stop();
    for stack in STACKS {
        let policy = whole(100).rule(rule.clone());
        let ended = send(stack, policy, [Reply::broken(), Reply::fine()], get());
        assert_eq!((ended.end, ended.attempts()), (End::Broken, 1), "{stack:?}");
    }
}

#[test]
fn a_layer_further_in_leaves_the_answer_to_the_outer_one() {
    let layer = || {
        let layer = RetryLayer::new(whole(100).build().unwrap());
        layer.runtime(ManualRuntime::new())
    };
    let inner = layer().layer(Server::new([Reply::broken(), Reply::fine()]));
    let service = layer().layer(inner);
    let response = service.oneshot(get()).now_or_never().unwrap().unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap();
    assert_eq!(report.attempt_count, 2);
}
