//! A clock that jumps, for tests.

use http_retry_core::policy::{Moment, splitmix64};
use http_retry_core::runtime::{Runtime, Sleep};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// A [`Runtime`] for tests: waits take no real time, and randomness repeats.
///
/// By default a wait that is polled moves the clock to its end, or to the end of the first wait that ends before it, so a
/// test does not stop and a time limit cuts what is slower. [`ManualRuntime::paused`] moves only by
/// [`ManualRuntime::advance`]. Clones share the clock, the randomness and the record of waits: give one clone to the layer
/// and keep another. It needs no executor's timer, and no real time passes.
///
/// Only waits take time: an attempt that makes none ends at the time at which it began.
///
/// The keys of [`Runtime::key_entropy`] follow from the seed, the number of the runtime in the process and the number
/// of the key: a test that runs alone gets the same keys each time, and no two requests share one.
///
/// ```
/// use http_retry::runtime::Runtime;
/// use http_retry::testing::ManualRuntime;
/// use std::time::Duration;
///
/// let runtime = ManualRuntime::new();
/// # futures_util::FutureExt::now_or_never(async {
/// runtime.sleep(Duration::from_secs(3600)).await;
/// # }).unwrap();
/// assert_eq!(runtime.sleeps(), [Duration::from_secs(3600)]);
/// ```
///
/// With a layer, the whole story of a request takes no time:
///
/// ```
/// # {
/// use http::Request;
/// use http_retry::RetryPolicy;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use std::time::Duration;
/// use tower::{Layer, ServiceExt};
///
/// # async fn get() -> Result<(), tower::BoxError> {
/// let runtime = ManualRuntime::new().with_random(u64::MAX); // the longest delays
/// let server = Script::new().status(503).status(503).status(200);
/// let layer = RetryLayer::new(RetryPolicy::background()).runtime(runtime.clone());
/// layer.layer(server).oneshot(Request::get("http://a.example/").body(String::new())?).await?;
/// assert_eq!(runtime.sleeps(), [Duration::from_secs(2), Duration::from_secs(4)]);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(get()).unwrap();
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ManualRuntime(Arc<Mutex<World>>);

#[derive(Debug)]
struct World {
    now: Duration,
    wall: Duration,
    random: Random,
    /// The number of runtimes that the process made before.
    number: u64,
    seed: u64,
    keys: u64,
    paused: bool,
    sleeps: Vec<Duration>,
    waiting: Vec<Waker>,
    /// The ends of the waits that are neither over nor dropped, and the number of waits for each.
    ends: BTreeMap<Duration, usize>,
}

#[derive(Debug)]
enum Random {
    Fixed(u64),
    Seeded(u64),
}

impl Default for World {
    fn default() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self {
            now: Duration::ZERO,
            wall: Duration::ZERO,
            random: Random::Seeded(0),
            number: MADE.fetch_add(1, Ordering::Relaxed),
            seed: 0,
            keys: 0,
            paused: false,
            sleeps: Vec::new(),
            waiting: Vec::new(),
            ends: BTreeMap::new(),
        }
    }
}

impl ManualRuntime {
    /// Creates a clock at zero that waits move forward, the wall clock at 1970-01-01T00:00:00Z, and randomness from seed 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a clock that only [`ManualRuntime::advance`] moves, so that a test can look at each wait.
    ///
    /// ```
    /// use futures_util::FutureExt;
    /// use http_retry::runtime::Runtime;
    /// use http_retry::testing::ManualRuntime;
    /// use std::time::Duration;
    ///
    /// let runtime = ManualRuntime::paused();
    /// let mut wait = runtime.sleep(Duration::from_secs(2));
    /// assert!((&mut wait).now_or_never().is_none());
    /// runtime.advance(Duration::from_secs(2));
    /// assert!(wait.now_or_never().is_some());
    /// ```
    #[must_use]
    pub fn paused() -> Self {
        let runtime = Self::new();
        runtime.world().paused = true;
        runtime
    }

    /// The same runtime with randomness from this seed, any number: two runtimes with one seed draw the same numbers. Default 0.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        let mut world = self.world();
        (world.random, world.seed) = (Random::Seeded(seed), seed);
        drop(world);
        self
    }

    /// The same runtime with a constant random number: with 0 a backoff's jitter gives the shortest delays, with `u64::MAX` the
    /// longest. The spread beyond a wait that a server asks for is constant too, and somewhere between nothing and a fifth.
    #[must_use]
    pub fn with_random(self, random: u64) -> Self {
        self.world().random = Random::Fixed(random);
        self
    }

    /// The same runtime with its wall clock at `wall` since 1970-01-01T00:00:00Z, for servers that name a date. It advances
    /// with the waits. Default 0.
    #[must_use]
    pub fn with_wall(self, wall: Duration) -> Self {
        self.world().wall = wall;
        self
    }

    /// Moves both clocks by this time, and wakes every wait; a wait that is not over continues. Times saturate.
    pub fn advance(&self, by: Duration) {
        let mut world = self.world();
        world.pass(by);
        let waiting = std::mem::take(&mut world.waiting);
        drop(world);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns the lengths of the waits that ended, in the order in which they did. A wait that was dropped before its end
    /// is not among them.
    #[must_use]
    pub fn sleeps(&self) -> Vec<Duration> {
        self.world().sleeps.clone()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    fn pass(&mut self, by: Duration) {
        self.now = self.now.saturating_add(by);
        self.wall = self.wall.saturating_add(by);
    }

    fn draw(&mut self) -> u64 {
        match &mut self.random {
            Random::Fixed(random) => *random,
            Random::Seeded(state) => {
                *state = state.wrapping_add(1);
                splitmix64(*state)
            }
        }
    }

    /// The number of the runtime in the upper half and that of the key in the lower one, each behind a one-to-one mix.
    fn next_key(&mut self) -> u128 {
        self.keys = self.keys.wrapping_add(1);
        let upper = splitmix64(self.number.wrapping_add(splitmix64(self.seed)));
        let lower = splitmix64(self.keys.wrapping_add(upper));
        u128::from(upper) << 64 | u128::from(lower)
    }

    /// Polls a wait that ends at `until`. Unless paused, this moves the clock, but never past the end of another wait:
    /// whoever polls that one must see that it ended first.
    fn poll(&mut self, until: Duration, waker: &Waker) -> Poll<()> {
        if !self.paused && self.now < until {
            let mut later = self
                .ends
                .range((Bound::Excluded(self.now), Bound::Included(until)));
            let next = later.next().map_or(until, |(end, _)| *end);
            self.pass(next.saturating_sub(self.now));
        }
        if self.now >= until {
            return Poll::Ready(());
        }
        if self.paused {
            self.waiting.push(waker.clone());
        }
        Poll::Pending
    }
}

/// A wait that is neither over nor dropped.
struct Pending {
    runtime: ManualRuntime,
    until: Duration,
}

impl Pending {
    fn new(runtime: ManualRuntime, until: Duration) -> Self {
        let mut world = runtime.world();
        let count = world.ends.entry(until).or_default();
        *count = count.saturating_add(1);
        drop(world);
        Self { runtime, until }
    }
}

impl Pending {
    fn poll(&self, waker: &Waker) -> Poll<()> {
        let mut world = self.runtime.world();
        let polled = world.poll(self.until, waker);
        let is_paused = world.paused;
        drop(world);
        // The wait that ends earlier may belong to nobody who polls it.
        if polled.is_pending() && !is_paused {
            waker.wake_by_ref();
        }
        polled
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut world = self.runtime.world();
        match world.ends.get_mut(&self.until) {
            Some(count) if *count > 1 => *count = count.saturating_sub(1),
            _ => drop(world.ends.remove(&self.until)),
        }
    }
}

impl Runtime for ManualRuntime {
    fn now(&self) -> Duration {
        self.world().now
    }

    fn moment(&self) -> Moment {
        let mut world = self.world();
        let random = world.draw();
        Moment::new(world.now)
            .with_wall(world.wall)
            .with_random(random)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let until = self.now().saturating_add(duration);
        let pending = Pending::new(self.clone(), until);
        Box::pin(async move {
            poll_fn(|cx| pending.poll(cx.waker())).await;
            pending.runtime.world().sleeps.push(duration);
        })
    }

    fn key_entropy(&self) -> u128 {
        self.world().next_key()
    }
}

#[cfg(test)]
mod tests;
