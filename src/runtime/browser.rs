//! The clocks, timers and randomness of the browser.
#![expect(
    clippy::disallowed_methods,
    reason = "this is where time and randomness come from"
)]

use super::{Runtime, Sleep, system_key};
use crate::policy::Moment;
use futures_channel::oneshot;
use gloo_timers::future::TimeoutFuture;
use http_retry_core::runtime::hashed_key;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::OnceLock;
use std::task::Poll;
use std::time::Duration;
use wasm_bindgen_futures::spawn_local;
use web_time::{Instant, SystemTime, UNIX_EPOCH};

/// The clocks, the timers and the random numbers of the browser, in a page or in a worker. Only on
/// `wasm32-unknown-unknown`, where adapters take it by default.
///
/// A browser slows down the timers of a page that is in the background, to one a second or one a minute, and a wait there
/// lasts as much longer.
///
/// # Panics
///
/// Outside of a JavaScript host that has `performance`, `setTimeout` and `crypto`.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "its name is its constructor")]
pub struct BrowserRuntime;

impl Runtime for BrowserRuntime {
    fn now(&self) -> Duration {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        let now = Instant::now();
        now.saturating_duration_since(*EPOCH.get_or_init(|| now))
    }

    fn moment(&self) -> Moment {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment::new(self.now())
            .with_wall(wall)
            .with_random(rand::random())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        // The browser's timers belong to their thread, and a `Sleep` is `Send`: a task has the timer, and ends with it or
        // when the wait is dropped.
        let (mut over, wait) = oneshot::channel::<()>();
        let end = self.now().checked_add(duration);
        spawn_local(async move {
            let mut timer = pin!(until(end));
            poll_fn(|cx| match over.poll_canceled(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => timer.as_mut().poll(cx),
            })
            .await;
            let _ = over.send(());
        });
        Box::pin(async {
            let _ = wait.await;
        })
    }

    fn key_entropy(&self) -> u128 {
        system_key().unwrap_or_else(|| hashed_key(self.moment()))
    }
}

/// The runtime of an adapter that is given none.
pub(crate) use BrowserRuntime as DefaultRuntime;

/// Waits until a time; `None` never comes.
async fn until(end: Option<Duration>) {
    // The longest wait of `setTimeout`, which takes a longer one for none.
    const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);
    let Some(end) = end else {
        return std::future::pending().await;
    };
    loop {
        let left = end.saturating_sub(BrowserRuntime.now());
        if left.is_zero() {
            return;
        }
        // Rounded up: the browser may round down, and be early.
        let millis = left.min(LONGEST).as_nanos().div_ceil(1_000_000);
        TimeoutFuture::new(u32::try_from(millis).unwrap_or(u32::MAX >> 1)).await;
    }
}

/// No error is of this type: the client's own timeouts are read from its errors.
pub(crate) use std::convert::Infallible as Elapsed;

/// `Send` on every other target; here every type is `MaybeSend`, since the browser's own are not `Send`.
pub trait MaybeSend {}

impl<T: ?Sized> MaybeSend for T {}

/// A boxed future, which is `Send` but in the browser.
#[cfg(feature = "reqwest")]
pub(crate) type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + 'a>>;
