//! The store of a fleet, and the subscribers to its channels.

use super::budget::{BudgetReply, BudgetReport};
use super::gate::{GateNotice, GateReply, GateReport};
use super::names::{BudgetKeys, GateKeys};
use super::sync::lock;
use http_retry_core::report::LeaveReason;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};

/// A reply, which arrives within about a second or fails. The command may run even if the reply is dropped.
pub(super) type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, LeaveReason>> + Send + 'a>>;

/// A store that keeps the state of a fleet. Every step is atomic.
pub(super) trait Store: Send + Sync + 'static {
    fn settle_budget<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        report: &'a BudgetReport,
    ) -> Reply<'a, BudgetReply>;

    fn step_gate<'a>(&'a self, keys: &'a GateKeys, report: &'a GateReport) -> Reply<'a, GateReply>;

    /// Subscribes to a gate's channel, until the subscriber's `on_lost` is called.
    fn subscribe<'a>(
        &'a self,
        keys: &'a GateKeys,
        subscriber: &'a Arc<dyn Subscriber>,
    ) -> Reply<'a, ()>;
}

/// A subscriber to a channel.
pub(super) trait Subscriber: Send + Sync + 'static {
    fn notified(&self, notice: GateNotice);

    /// Called when no more notices will arrive; some may have been missed.
    fn on_lost(&self);
}

/// Returns `true` if only a new connection can show that such a failure is over: after a failover the same address may
/// lead to the new primary, and after a change of the password the same credentials may be valid.
pub(super) fn ends_connection(reason: LeaveReason) -> bool {
    matches!(
        reason,
        LeaveReason::Timeout | LeaveReason::Unreachable | LeaveReason::Auth | LeaveReason::ReadOnly
    )
}

/// The subscribers by channel, each with the number of the connection that delivers its notices.
#[derive(Default)]
pub(super) struct Subscribers(Mutex<Channels>);

type Channels = HashMap<String, Vec<(u64, Weak<dyn Subscriber>)>>;

impl Subscribers {
    /// Adds a subscriber to a channel of that connection.
    pub(super) fn add(&self, connection: u64, channel: &str, subscriber: &Arc<dyn Subscriber>) {
        let subscriber = (connection, Arc::downgrade(subscriber));
        let mut channels = lock(&self.0);
        // Nothing else removes the subscribers of gates that were dropped.
        channels.retain(|_, all| {
            all.retain(|(_, subscriber)| subscriber.strong_count() > 0);
            !all.is_empty()
        });
        let all = channels.entry(channel.to_owned()).or_default();
        // A subscriber whose subscription failed before is in the list already.
        let is_there = |(by, known): &(u64, Weak<dyn Subscriber>)| {
            *by == connection && known.ptr_eq(&subscriber.1)
        };
        if !all.iter().any(is_there) {
            all.push(subscriber);
        }
    }

    /// Passes on a notice from a channel of that connection.
    pub(super) fn notify(&self, connection: u64, channel: &str, notice: GateNotice) {
        // Collected first, so that subscribers are called without the lock.
        for subscriber in self.on_channel(connection, channel) {
            subscriber.notified(notice);
        }
    }

    /// Removes all subscribers of a connection that has ended.
    pub(super) fn remove_connection(&self, connection: u64) {
        let mut lost = Vec::new();
        lock(&self.0).retain(|_, all| {
            let mut remaining = Vec::new();
            for (by, subscriber) in all.drain(..) {
                if by == connection {
                    lost.extend(subscriber.upgrade());
                } else {
                    remaining.push((by, subscriber));
                }
            }
            *all = remaining;
            !all.is_empty()
        });
        // Called without the lock, since subscribers take locks of their own.
        for subscriber in lost {
            subscriber.on_lost();
        }
    }

    fn on_channel(&self, connection: u64, channel: &str) -> Vec<Arc<dyn Subscriber>> {
        let channels = lock(&self.0);
        let all = channels.get(channel).into_iter().flatten();
        all.filter(|(by, _)| *by == connection)
            .filter_map(|(_, subscriber)| subscriber.upgrade())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const NOTICE: GateNotice = GateNotice {
        change: 3,
        closed: Duration::from_millis(1_500),
    };

    #[derive(Default)]
    struct Recorder {
        notices: Mutex<Vec<Option<GateNotice>>>,
    }

    impl Subscriber for Recorder {
        fn notified(&self, notice: GateNotice) {
            self.notices.lock().unwrap().push(Some(notice));
        }

        fn on_lost(&self) {
            self.notices.lock().unwrap().push(None);
        }
    }

    #[test]
    fn a_subscriber_is_notified_until_its_connection_ends() {
        let (subscribers, recorder) = (Subscribers::default(), Arc::new(Recorder::default()));
        let subscriber: Arc<dyn Subscriber> = Arc::clone(&recorder) as _;
        subscribers.add(7, "a", &subscriber);
        for (connection, channel) in [(7, "a"), (7, "b"), (8, "a")] {
            subscribers.notify(connection, channel, NOTICE);
        }
        subscribers.remove_connection(8);
        subscribers.remove_connection(7);
        subscribers.notify(7, "a", NOTICE);
        assert_eq!(*recorder.notices.lock().unwrap(), [Some(NOTICE), None]);
    }

    #[test]
    fn a_repeated_subscription_is_notified_once() {
        let (subscribers, recorder) = (Subscribers::default(), Arc::new(Recorder::default()));
        let subscriber: Arc<dyn Subscriber> = Arc::clone(&recorder) as _;
        for connection in [1, 1, 2, 2] {
            subscribers.add(connection, "a", &subscriber);
        }
        subscribers.notify(2, "a", NOTICE);
        assert_eq!(recorder.notices.lock().unwrap().len(), 1);
    }

    #[test]
    fn dropped_subscribers_are_removed() {
        let subscribers = Subscribers::default();
        for _ in 0..3 {
            let subscriber: Arc<dyn Subscriber> = Arc::new(Recorder::default());
            subscribers.add(1, "a", &subscriber);
        }
        assert_eq!(lock(&subscribers.0).values().flatten().count(), 1);
    }
}
