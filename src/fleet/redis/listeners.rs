//! Who hears what is told in which channel.

use crate::fleet::store::{Hear, Told};
use ::redis::{PushInfo, PushKind, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Those who listen, by their channel, each with the number of the connection that it hears by.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Channels>);

type Channels = HashMap<String, Vec<(u64, Weak<dyn Hear>)>>;

impl Listeners {
    /// From now on this one hears what comes by that connection.
    pub(super) fn add(&self, connection: u64, channel: &str, listener: &Arc<dyn Hear>) {
        let listener = (connection, Arc::downgrade(listener));
        let mut channels = self.lock();
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

    pub(super) fn hear(&self, connection: u64, push: &PushInfo) {
        let message = (push.kind == PushKind::Message).then(|| message(&push.data));
        if let Some((channel, told)) = message.flatten() {
            for listener in self.of(connection, channel) {
                listener.told(told);
            }
        }
    }

    /// Nothing comes by that connection any more.
    pub(super) fn lose(&self, connection: u64) {
        let mut lost = Vec::new();
        self.lock().retain(|_, all| {
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
        let channels = self.lock();
        let all = channels.get(channel).into_iter().flatten();
        all.filter(|(by, _)| *by == connection)
            .filter_map(|(_, listener)| listener.upgrade())
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        // Whoever panicked while it held the lock left a list that is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The channel and the content of a message: `opening:milliseconds`. Anybody who may write there can write anything.
fn message(data: &[Value]) -> Option<(&str, Told)> {
    let [Value::BulkString(channel), Value::BulkString(text)] = data else {
        return None;
    };
    let (opening, milliseconds) = std::str::from_utf8(text).ok()?.split_once(':')?;
    let number = |text: &str| {
        let number: u64 = text.parse().ok()?;
        i64::try_from(number).ok().filter(|number| *number < MOST)
    };
    let told = Told {
        opening: number(opening)?,
        milliseconds: number(milliseconds)?,
    };
    Some((std::str::from_utf8(channel).ok()?, told))
}

/// The scripts' numbers are whole below this.
const MOST: i64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Ear {
        heard: Mutex<Vec<Option<Told>>>,
    }

    impl Hear for Ear {
        fn told(&self, told: Told) {
            self.heard.lock().unwrap().push(Some(told));
        }

        fn lost(&self) {
            self.heard.lock().unwrap().push(None);
        }
    }

    fn push(channel: &str, text: &str) -> PushInfo {
        let data = [channel, text].map(|text| Value::BulkString(text.as_bytes().to_vec()));
        PushInfo {
            kind: PushKind::Message,
            data: data.to_vec(),
        }
    }

    #[test]
    fn a_listener_hears_its_channel_until_the_connection_ends() {
        let (listeners, ear) = (Listeners::default(), Arc::new(Ear::default()));
        let listener: Arc<dyn Hear> = Arc::clone(&ear) as _;
        listeners.add(7, "a", &listener);
        for (connection, channel) in [(7, "a"), (7, "b"), (8, "a")] {
            listeners.hear(connection, &push(channel, "3:1500"));
        }
        listeners.lose(8);
        listeners.lose(7);
        listeners.hear(7, &push("a", "3:1500"));
        let told = Told {
            opening: 3,
            milliseconds: 1_500,
        };
        assert_eq!(*ear.heard.lock().unwrap(), [Some(told), None]);
    }

    #[test]
    fn what_the_script_would_not_write_is_not_heard() {
        let (listeners, ear) = (Listeners::default(), Arc::new(Ear::default()));
        let listener: Arc<dyn Hear> = Arc::clone(&ear) as _;
        listeners.add(1, "a", &listener);
        for text in [
            "",
            "1",
            ":",
            "-1:5",
            "1:-5",
            "1:2:3",
            "1e3:5",
            "9007199254740992:1",
        ] {
            listeners.hear(1, &push("a", text));
        }
        assert_eq!(*ear.heard.lock().unwrap(), []);
    }

    #[test]
    fn who_listens_again_by_a_connection_hears_all_once() {
        let (listeners, ear) = (Listeners::default(), Arc::new(Ear::default()));
        let listener: Arc<dyn Hear> = Arc::clone(&ear) as _;
        for connection in [1, 1, 2, 2] {
            listeners.add(connection, "a", &listener);
        }
        listeners.hear(2, &push("a", "3:1500"));
        assert_eq!(ear.heard.lock().unwrap().len(), 1);
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let listeners = Listeners::default();
        for _ in 0..3 {
            let listener: Arc<dyn Hear> = Arc::new(Ear::default());
            listeners.add(1, "a", &listener);
        }
        assert_eq!(listeners.lock().values().flatten().count(), 1);
    }
}
