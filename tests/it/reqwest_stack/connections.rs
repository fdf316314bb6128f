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

#[tokio::test]
async fn an_answer_to_head_has_no_body_to_wait_for() {
    let head_only = "HTTP/1.1 503 So\r\ncontent-length: 9\r\n\r\n";
    let mut server = Server::start([Reply::Answer(head_only.into())]).await;
    let retries = RetryMiddleware::new(every_second(3)).runtime(Patient::default());
    let client = client(retries.drain_before_retry(1024, SECOND * 60));
    let last = client.head(&server.url).send().await.unwrap();
    assert_eq!(last.headers()["content-length"], "9");
    assert_eq!(server.other_requests().len(), 4);
    assert_eq!(server.connections(), 1);
}
