//! What comes back, after how many requests and after which waits.

use super::*;
use http_retry::policy::{Decimal, DelaySource, Moment};
use http_retry::runtime::{Runtime, Sleep};
use http_retry::{Class, Methods, RetryBudget, StopReason};
use reqwest::Method;

const LONGEST_DRAIN: Duration = Duration::from_secs(60);

#[tokio::test]
async fn two_failures_and_a_success_report_three_attempts() {
    let server = answering_statuses([503, 503, 200]).await;
    let response = client(retries(4)).get(server.uri()).send().await.unwrap();

    assert_eq!(response.status(), 200);
    let report = report_of(&response);
    assert_eq!(statuses_of(&report), [Some(503), Some(503), Some(200)]);
    assert_eq!((report.attempt_count, report.retries()), (3, 2));
    assert_eq!(report.stop, StopReason::Succeeded);
    assert_eq!(report.waited, SECOND * 2);
    assert_eq!(report.tokens_left, Some(Decimal::from(18.1)));
    assert_eq!(requests(&server).await.len(), 3);
}

#[tokio::test]
async fn a_success_at_once_has_no_report() {
    let server = answering_statuses([200]).await;
    let response = client(retries(4)).get(server.uri()).send().await.unwrap();
    assert!(response.extensions().get::<RetryReport>().is_none());
    assert_eq!(requests(&server).await.len(), 1);
}

#[tokio::test]
async fn each_attempt_is_the_same_request() {
    let server = answering_statuses([503, 503, 200]).await;
    let request = client(retries(4))
        .put(format!("{}/a?b=c", server.uri()))
        .header("x-detail", "1")
        .body("all of it");
    request.send().await.unwrap();

    let received = requests(&server).await;
    assert_eq!(received.len(), 3);
    for attempt in &received {
        assert_eq!(
            (&attempt.method, &attempt.url),
            (&Method::PUT, &received[0].url)
        );
        assert_eq!(attempt.headers, received[0].headers);
        assert_eq!(attempt.headers["x-detail"], "1");
        assert_eq!(attempt.body, b"all of it");
    }
}

#[tokio::test]
async fn the_server_is_not_asked_again_before_the_time_it_names() {
    let busy = ResponseTemplate::new(503).insert_header("retry-after", "7");
    let server = answering([busy, ResponseTemplate::new(200)]).await;
    let runtime = ManualRuntime::new();
    let client = client(retries(4).runtime(runtime.clone()));
    let response = client.get(server.uri()).send().await.unwrap();

    let [waited] = runtime.sleeps()[..] else {
        panic!("one wait: {:?}", runtime.sleeps());
    };
    let least = SECOND * 7;
    assert!(waited >= least && waited <= least + least / 5, "{waited:?}");
    let report = report_of(&response);
    assert_eq!(report.attempts[0].class, Class::Throttled);
    assert_eq!(report.attempts[0].asked, Some(least));
    assert_eq!(report.attempts[1].delay_source, Some(DelaySource::Server));
}

#[tokio::test]
async fn a_retry_after_date_is_measured_by_its_response() {
    let busy = ResponseTemplate::new(503)
        .insert_header("date", "Fri, 31 Dec 1999 23:59:00 GMT")
        .insert_header("retry-after", "Fri, 31 Dec 1999 23:59:30 GMT");
    let server = answering([busy, ResponseTemplate::new(200)]).await;
    let response = client(retries(4)).get(server.uri()).send().await.unwrap();
    let asked = report_of(&response).attempts[0].asked;
    assert_eq!(asked, Some(SECOND * 30));
}

#[tokio::test]
async fn a_retry_after_that_is_not_valid_is_ignored() {
    let busy = ResponseTemplate::new(503).insert_header("retry-after", "soon");
    let server = answering([busy, ResponseTemplate::new(200)]).await;
    let response = client(retries(4)).get(server.uri()).send().await.unwrap();
    let report = report_of(&response);
    assert_eq!(report.attempts[0].asked, None);
    assert!(report.attempts[0].unreadable().eq(["retry-after"]));
    assert_eq!(report.waited, SECOND);
}

#[tokio::test]
async fn a_server_that_asks_for_too_long_is_not_waited_for() {
    let busy = ResponseTemplate::new(503).insert_header("retry-after", "3600");
    let server = answering([busy]).await;
    let runtime = ManualRuntime::new();
    let client = client(retries(4).runtime(runtime.clone()));
    let response = client.get(server.uri()).send().await.unwrap();

    assert_eq!(response.headers()["retry-after"], "3600");
    assert_eq!(report_of(&response).stop, StopReason::ServerDelayTooLong);
    assert_eq!(requests(&server).await.len(), 1);
    assert!(runtime.sleeps().is_empty());
}

/// How many requests a POST makes that is answered this.
async fn posts(policy: RetryPolicy, key: Option<&str>, answer: ResponseTemplate) -> usize {
    let server = answering([answer]).await;
    let client = client(of_policy(policy));
    let mut request = client.post(server.uri()).body("order");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    request.send().await.unwrap();
    requests(&server).await.len()
}

#[tokio::test]
async fn a_post_is_repeated_only_where_it_was_not_processed() {
    let status = ResponseTemplate::new;
    assert_eq!(posts(every_second(2), None, status(500)).await, 1);
    assert_eq!(posts(every_second(2), None, status(503)).await, 1);
    assert_eq!(posts(every_second(2), None, status(429)).await, 3);
    assert_eq!(posts(every_second(2), None, status(408)).await, 3);
    let inviting = |code| status(code).insert_header("retry-after", "1");
    assert_eq!(posts(every_second(2), None, inviting(413)).await, 3);
    assert_eq!(posts(every_second(2), None, inviting(503)).await, 1);
}

#[tokio::test]
async fn a_post_that_may_be_processed_twice_is_repeated_like_a_get() {
    let answer = ResponseTemplate::new(500);
    assert_eq!(
        posts(every_second(2), Some("order-7"), answer.clone()).await,
        3
    );
    let every_method = every_second(2).to_builder().methods(Methods::All);
    assert_eq!(posts(every_method.build().unwrap(), None, answer).await, 3);
}

#[tokio::test]
async fn an_answer_that_repeating_cannot_help_comes_at_once() {
    for status in [400, 404, 410] {
        let server = answering_statuses([status]).await;
        let response = client(retries(4)).get(server.uri()).send().await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(report_of(&response).stop, StopReason::NotRetryable);
        assert_eq!(requests(&server).await.len(), 1);
    }
}

fn sorry() -> ResponseTemplate {
    ResponseTemplate::new(502)
        .insert_header("date", "Fri, 31 Dec 1999 23:59:00 GMT")
        .append_header("set-cookie", "a=1")
        .append_header("set-cookie", "b=2")
        .set_body_string("sorry")
}

/// Everything about a response that a caller may look at.
async fn whole(response: reqwest::Response) -> String {
    let head = format!(
        "{:?} {} {} {:?} {:?} {:?}",
        response.version(),
        response.status(),
        response.url(),
        response.headers(),
        response.content_length(),
        response.remote_addr(),
    );
    format!("{head} {}", response.text().await.unwrap())
}

#[tokio::test]
async fn the_last_answer_comes_back_as_it_was() {
    let server = answering([sorry()]).await;
    let url = format!("{}/a?b=c", server.uri());
    let wanted = whole(plain_client().get(&url).send().await.unwrap()).await;

    let last = client(retries(1)).get(&url).send().await.unwrap();
    assert_eq!(report_of(&last).stop, StopReason::AttemptsExhausted);
    assert_eq!(last.status(), 502);
    assert!(last.error_for_status_ref().unwrap_err().is_status());
    assert_eq!(whole(last).await, wanted);
    assert!(
        wanted.ends_with("sorry") && wanted.contains("b=2"),
        "{wanted}"
    );
}

#[tokio::test]
async fn without_tokens_the_answer_comes_at_once() {
    let server = answering([sorry()]).await;
    let empty = RetryBudget::builder().initial(0).build().unwrap();
    let client = client(retries(4).budget(empty));
    let response = client.get(server.uri()).send().await.unwrap();
    assert_eq!(report_of(&response).stop, StopReason::BudgetExhausted);
    assert_eq!(report_of(&response).tokens_left, Some(Decimal::from(0)));
    assert_eq!(requests(&server).await.len(), 1);
    assert_eq!(response.text().await.unwrap(), "sorry");
}

/// Waits of a second take an hour, and all others never end.
#[derive(Clone)]
struct SlowTimer(ManualRuntime);

impl Runtime for SlowTimer {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn moment(&self) -> Moment {
        self.0.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        if duration != SECOND {
            return Box::pin(std::future::pending());
        }
        let clock = self.0.clone();
        Box::pin(async move { clock.advance(SECOND * 3600) })
    }
}

#[tokio::test]
async fn an_answer_read_before_time_ran_out_comes_back_whole() {
    let server = answering([sorry()]).await;
    let url = format!("{}/a?b=c", server.uri());
    let wanted = whole(plain_client().get(&url).send().await.unwrap()).await;

    let policy = every_second(4).to_builder().deadline(SECOND * 60);
    let retries = RetryMiddleware::new(policy.build().unwrap())
        .runtime(SlowTimer(ManualRuntime::paused()))
        .drain_before_retry(1024, LONGEST_DRAIN);
    let last = client(retries).get(&url).send().await.unwrap();
    let report = report_of(&last);
    assert_eq!(report.stop, StopReason::DeadlineExceeded);
    assert_eq!(
        (report.attempt_count, report.tokens_left),
        (1, Some(Decimal::from(20)))
    );
    assert_eq!(whole(last).await, wanted);
    assert_eq!(requests(&server).await.len(), 2);
}
