//! A clock that runs only while a server stalls.

use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep, TokioRuntime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// The one limit that every wait for a server has.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// When the limit passes all the same: hyper hands a request to the task of its connection, and one whose connection ends
/// in that moment is never answered, without any layer.
const LOST: Duration = Duration::from_secs(4);
/// The last look at a body that stalls.
const LAST_LOOK: Duration = Duration::from_millis(1);

/// Waits between attempts take no time, and a wait for a server ends only if the server stalls.
#[derive(Debug, Clone)]
pub(crate) struct Steered {
    stalling: Arc<watch::Sender<u32>>,
    passed: Arc<AtomicU32>,
    /// How long the limit takes while a server stalls, for what is still on its way.
    takes: Duration,
}

impl Steered {
    pub(crate) fn new(takes: Duration) -> Self {
        Self {
            takes,
            stalling: Arc::new(watch::Sender::new(0)),
            passed: Arc::default(),
        }
    }

    /// A server stalls.
    pub(crate) fn stalls(&self) {
        self.stalling.send_modify(|stalling| *stalling += 1);
    }

    /// Its client has gone away.
    pub(crate) fn ends_to_stall(&self) {
        self.stalling.send_modify(|stalling| *stalling -= 1);
    }
}

impl Runtime for Steered {
    fn now(&self) -> Duration {
        LIMIT * self.passed.load(Ordering::Relaxed)
    }

    fn moment(&self) -> Moment {
        Moment::new(self.now())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let Self {
            stalling,
            passed,
            takes,
        } = self.clone();
        match duration {
            LIMIT => Box::pin(async move {
                let mut stalling = stalling.subscribe();
                let stall = async {
                    loop {
                        stalling.wait_for(|stalling| *stalling > 0).await.unwrap();
                        TokioRuntime.sleep(takes).await;
                        if *stalling.borrow() > 0 {
                            break;
                        }
                    }
                };
                let _lost = tokio::time::timeout(LOST, stall).await;
                passed.fetch_add(1, Ordering::Relaxed);
            }),
            LAST_LOOK => TokioRuntime.sleep(duration),
            _ => Box::pin(std::future::ready(())),
        }
    }
}
