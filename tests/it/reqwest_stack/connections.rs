//! What becomes of the connection of an attempt that failed.

use super::server::{Reply, Server};
use super::*;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};

/// Every wait gives way to the other tasks, but the one that limits the reading of a body, which never ends.
#[derive(Clone, Default)]
struct Patient(ManualRuntime);

impl Runtime for Patient {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn moment(&self) -> Moment {
        self.0.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        const TURNS: u32 = 100;
        if duration != SECOND {
            return Box::pin(std::future::pending());
        }
        Box::pin(async {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
        })
    }
}

fn patient(bytes: usize) -> ClientWithMiddleware {
    let retries = RetryMiddleware::new(every_second(3)).runtime(Patient::default());
    client(retries.drain_before_retry(bytes, SECOND * 60))
}

#[tokio::test]
async fn four_attempts_with_long_error_pages_share_one_connection() {
    let page = "x".repeat(64 * 1024);
    let mut server = Server::start([Reply::with_body(503, &page)]).await;
    let last = patient(128 * 1024).get(&server.url).send().await.unwrap();
    assert_eq!(last.status(), 503);
    assert_eq!(last.text().await.unwrap(), page);
    assert_eq!(server.other_requests().len(), 4);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_long_error_page_costs_its_connection_not_the_retry() {
    let page = "x".repeat(4 * 1024 * 1024);
    let mut server = Server::start([Reply::with_body(503, &page)]).await;
    let last = patient(1024).get(&server.url).send().await.unwrap();
    assert_eq!(last.text().await.unwrap(), page);
    assert_eq!(server.other_requests().len(), 4);
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn an_endless_error_page_costs_its_connection_only() {
    let endless = "HTTP/1.1 503 So\r\ncontent-length: 9\r\n\r\nsorry";
    let mut server = Server::start([Reply::Answer(endless.into()), Reply::status(200)]).await;
    let runtime = ManualRuntime::new();
    let client = client(retries(3).runtime(runtime.clone()));
    assert_eq!(client.get(&server.url).send().await.unwrap().status(), 200);
    assert_eq!(server.other_requests().len(), 2);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_to_wait_for() {
    let head_only = "HTTP/1.1 503 So\r\ncontent-length: 9\r\n\r\n";
    let mut server = Server::start([Reply::Answer(head_only.into())]).await;
    let last = patient(1024).head(&server.url).send().await.unwrap();
    assert_eq!(last.headers()["content-length"], "9");
    assert_eq!(server.other_requests().len(), 4);
    assert_eq!(server.connections(), 1);
}
