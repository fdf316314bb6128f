//! Who hears what is told in which channel, and when a lost subscription is renewed.

use super::core::lock;
use super::store::Hear;
use crate::budget::fleet::{Backoff, LeaveReason};
use crate::gate::GatePush;
use crate::policy::Moment;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// Those who listen, by their channel, each with the number of the connection that it hears by.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Channels>);

type Channels = HashMap<String, Vec<(u64, Weak<dyn Hear>)>>;

impl Listeners {
    /// From now on this one hears what comes by that connection.
    pub(super) fn add(&self, connection: u64, channel: &str, listener: &Arc<dyn Hear>) {
        let listener = (connection, Arc::downgrade(listener));
        let mut channels = lock(&self.0);
        channels.retain(|_, all| {
            all.retain(|(_, listener)| listener.strong_count() > 0);
            !all.is_empty()
        });
        let all = channels.entry(channel.to_owned()).or_default();
        // One whose subscription failed before is there already.
        let is_there =
            |(by, known): &(u64, Weak<dyn Hear>)| *by == connection && known.ptr_eq(&listener.1);
        if !all.iter().any(is_there) {
            all.push(listener);
        }
    }

    /// This comes in a channel by that connection.
    pub(super) fn tell(&self, connection: u64, channel: &str, push: GatePush) {
        for listener in self.of(connection, channel) {
            listener.told(push);
        }
    }

    /// Nothing comes by that connection any more.
    pub(super) fn lose(&self, connection: u64) {
        let mut lost = Vec::new();
        lock(&self.0).retain(|_, all| {
            let mut kept = Vec::new();
            for (by, listener) in all.drain(..) {
                match by == connection {
                    true => lost.extend(listener.upgrade()),
                    false => kept.push((by, listener)),
                }
            }
            *all = kept;
            !all.is_empty()
        });
        for listener in lost {
            listener.lost();
        }
    }

    fn of(&self, connection: u64, channel: &str) -> Vec<Arc<dyn Hear>> {
        let channels = lock(&self.0);
        let all = channels.get(channel).into_iter().flatten();
        all.filter(|(by, _)| *by == connection)
            .filter_map(|(_, listener)| listener.upgrade())
            .collect()
    }
}

/// The back-off of a fleet's subscriptions.
///
/// All gates subscribe on one connection, so they share one back-off: otherwise each of a thousand gates would open a
/// connection of its own that the store drops again. A grant does not end the back-off, and neither does the response to a
/// command: a store can grant both and then drop the connection. Only a subscription that has lasted does.
#[derive(Debug, Default)]
pub(super) struct Resubscription {
    retry_at: Duration,
    backoff: Backoff,
    /// When a failure was counted last, and its reason.
    counted_at: Duration,
    reason: Option<LeaveReason>,
}

/// A subscription that was lost after this time is renewed at once.
const LASTING: Duration = Duration::from_secs(5);

impl Resubscription {
    /// Returns why no gate may subscribe at this time, if none may.
    pub(super) fn held_back(&self, now: Duration) -> Option<LeaveReason> {
        self.reason.filter(|_| now < self.retry_at)
    }

    /// Returns when the next gate may subscribe.
    pub(super) fn retry_at(&self) -> Duration {
        self.retry_at
    }

    /// Counts a subscription that was asked for at `begun` and not granted.
    pub(super) fn fails(&mut self, begun: Duration, reason: LeaveReason, at: Moment) {
        // Gates that subscribed together fail together, which is one failure.
        if begun >= self.counted_at {
            self.counted_at = at.now;
            self.reason = Some(reason);
            self.retry_at = self.backoff.fails(at);
        }
    }

    /// Counts the loss of a subscription that was granted at `granted`.
    pub(super) fn loses(&mut self, granted: Duration, at: Moment) {
        if at.now.saturating_sub(granted) < LASTING {
            self.fails(granted, LeaveReason::Unreachable, at);
        } else if granted >= self.counted_at {
            self.counted_at = at.now;
            self.retry_at = at.now;
            self.backoff = Backoff::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUSH: GatePush = GatePush {
        opening: 3,
        closed: Duration::from_millis(1_500),
    };

    #[derive(Default)]
    struct Ear {
        heard: Mutex<Vec<Option<GatePush>>>,
    }

    impl Hear for Ear {
        fn told(&self, push: GatePush) {
            self.heard.lock().unwrap().push(Some(push));
        }

        fn lost(&self) {
            self.heard.lock().unwrap().push(None);
        }
    }

    #[test]
    fn a_listener_hears_its_channel_until_the_connection_ends() {
        let (listeners, ear) = (Listeners::default(), Arc::new(Ear::default()));
        let listener: Arc<dyn Hear> = Arc::clone(&ear) as _;
        listeners.add(7, "a", &listener);
        for (connection, channel) in [(7, "a"), (7, "b"), (8, "a")] {
            listeners.tell(connection, channel, PUSH);
        }
        listeners.lose(8);
        listeners.lose(7);
        listeners.tell(7, "a", PUSH);
        assert_eq!(*ear.heard.lock().unwrap(), [Some(PUSH), None]);
    }

    #[test]
    fn who_listens_again_by_a_connection_hears_all_once() {
        let (listeners, ear) = (Listeners::default(), Arc::new(Ear::default()));
        let listener: Arc<dyn Hear> = Arc::clone(&ear) as _;
        for connection in [1, 1, 2, 2] {
            listeners.add(connection, "a", &listener);
        }
        listeners.tell(2, "a", PUSH);
        assert_eq!(ear.heard.lock().unwrap().len(), 1);
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let listeners = Listeners::default();
        for _ in 0..3 {
            let listener: Arc<dyn Hear> = Arc::new(Ear::default());
            listeners.add(1, "a", &listener);
        }
        assert_eq!(lock(&listeners.0).values().flatten().count(), 1);
    }
}
