//! The door for whoever shares a gate with other processes.
//!
//! [`Gate::with_peers`](super::Gate::with_peers) makes a [`Peer`] for each key with its first call. The gate reports to the peer how its calls
//! end, and the peer tells the gate through a [`KeyGate`](super::KeyGate) when calls of other processes close it or open it.

use std::time::Duration;

/// What a gate reports to whoever shares one of its keys with other processes.
///
/// All methods but [`wake`](Self::wake) are called with a lock of the key held: they must return soon, and must not use
/// the key's [`KeyGate`](super::KeyGate). A key belongs to its peer until another key takes its place, or the gate is gone; then the peer
/// is dropped.
///
/// ```
/// use http_retry::gate::{Gate, KeyGate, Peer};
/// use http_retry::policy::Moment;
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
///
/// /// Closes the gate of every host when one of them closes.
/// #[derive(Clone, Default)]
/// struct Together(Arc<Mutex<(Vec<KeyGate>, Option<Duration>)>>);
///
/// impl Peer for Together {
///     fn succeeded(&self, _: u64, _: bool) {}
///     fn refused(&self, asked: Option<Duration>, closed: bool) {
///         if closed {
///             self.0.lock().unwrap().1 = asked.or(Some(Duration::from_secs(1)));
///         }
///     }
///     fn reopened(&self) {}
///     fn wake(&self) {
///         let Some(pause) = self.0.lock().unwrap().1.take() else { return };
///         let all = self.0.lock().unwrap().0.clone();
///         for gate in all {
///             gate.close(Moment::default(), pause, false); // the time is that of your runtime
///         }
///     }
/// }
///
/// let together = Together::default();
/// let gate = Gate::new().with_peers(move |key| {
///     together.0.lock().unwrap().0.push(key.gate);
///     Arc::new(together.clone())
/// });
/// ```
pub trait Peer: Send + Sync + 'static {
    /// Calls have succeeded. `since_refusal` is `true` if they were sent after the first refused call of a run that has not
    /// ended, so that they count against it.
    fn succeeded(&self, calls: u64, since_refusal: bool);

    /// A call was refused, in a way that counts as a vote to close the gate; it asked for this pause, if for any. `closed`
    /// is `true` if the gate closes by it.
    fn refused(&self, asked: Option<Duration>, closed: bool);

    /// Successes of this process have opened the gate before its pause was over.
    fn reopened(&self);

    /// Called after each of the others, and whenever the gate has decided something, without a lock: the time to wake a
    /// task that has something to send.
    fn wake(&self);
}
