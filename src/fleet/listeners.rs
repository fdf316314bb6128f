//! Who hears what is told in which channel.

use super::core::lock;
use super::store::Hear;
use crate::gate::GatePush;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PUSH: GatePush = GatePush {
        change: 3,
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
