//! The interface for sharing a gate with other processes.
//!
//! [`Gate::with_peers`](super::Gate::with_peers) creates a [`Peer`] for each key at its first call. The gate reports
//! the ends of its calls to the peer. The peer uses a [`KeyGate`](super::KeyGate) to close or open the gate on behalf
//! of other processes.

use std::time::Duration;

/// The receiver of a gate's reports, which shares one of its keys with other processes.
///
/// All methods but [`wake`](Self::wake) are called with the key's lock held: they must return soon, and must not use
/// the key's [`KeyGate`](super::KeyGate). The peer is dropped once another key takes its key's slot, or the gate is
/// gone.
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
    /// Reports calls that have succeeded. `since_refusal` is `true` if they were sent after the first refused call of a
    /// run that has not ended, so that they count against it.
    fn succeeded(&self, calls: u64, since_refusal: bool);

    /// Reports a refusal that counts as a vote to close the gate, with the pause that it asked for, if any. `closed` is
    /// `true` if it closes the gate.
    fn refused(&self, asked: Option<Duration>, closed: bool);

    /// Reports that successes of this process have opened the gate before its pause was over.
    fn reopened(&self);

    /// Called without a lock after each of the others, and after every other change of the gate's state. This is the
    /// time to wake a task that has something to send.
    fn wake(&self);
}
