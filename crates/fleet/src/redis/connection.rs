//! The only connection of a fleet, opened when it is needed, and given up by the first user that finds it broken.

use super::failure;
use crate::gate::GateNotice;
use crate::store::Subscribers;
use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ProtocolVersion, PushInfo, PushKind,
    RedisConnectionInfo, RedisError, Value,
};
use http_retry_core::report::LeaveReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// A connection that all commands share.
pub(super) struct RedisConnection {
    client: Client,
    settings: RedisConnectionInfo,
    /// The number of connections that were tried.
    tries: AtomicU64,
    /// The result of the last try.
    last: Mutex<Result<Open, LeaveReason>>,
    inbound: Arc<Inbound>,
}

/// The receiver of pushed messages.
#[derive(Default)]
struct Inbound {
    /// The number of the last connection that ended.
    ended: AtomicU64,
    subscribers: Subscribers,
}

/// An open connection.
#[derive(Clone)]
pub(super) struct Open {
    /// 1 for the first that was tried, and so on.
    pub(super) number: u64,
    pub(super) commands: MultiplexedConnection,
    /// `true` if the server pushes notices on it.
    pub(super) has_pushes: bool,
}

/// The longest time that a new connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(250);

impl RedisConnection {
    pub(super) fn new(client: Client, settings: RedisConnectionInfo) -> Self {
        Self {
            client,
            settings,
            tries: AtomicU64::new(0),
            last: Mutex::new(Err(LeaveReason::Unreachable)),
            inbound: Arc::default(),
        }
    }

    pub(super) fn address(&self) -> &ConnectionAddr {
        self.client.get_connection_info().addr()
    }

    pub(super) fn subscribers(&self) -> &Subscribers {
        &self.inbound.subscribers
    }

    /// Returns the open connection, or opens a new one. A caller that waited for another one's failed try does not try
    /// again, so that a thousand services wait for one try and not for a thousand.
    pub(super) async fn get(&self) -> Result<Open, LeaveReason> {
        // Read before the lock: a higher number afterwards means that another caller has tried meanwhile.
        let before = self.tries.load(Ordering::Relaxed);
        let mut last = self.last.lock().await;
        let tries = self.tries.load(Ordering::Relaxed);
        let is_settled = match &*last {
            // A loss that is seen too late costs one failed command, which reports it again.
            Ok(_) => self.inbound.ended.load(Ordering::Relaxed) < tries,
            Err(_) => tries != before,
        };
        if !is_settled {
            let number = tries.saturating_add(1);
            // If the future is dropped during the open, the next caller must not find the old connection, and the try
            // does not count.
            *last = Err(LeaveReason::Unreachable);
            *last = self.open(number).await;
            self.tries.store(number, Ordering::Relaxed);
        }
        last.clone()
    }

    /// Gives up a connection.
    pub(super) fn give_up(&self, number: u64) {
        self.inbound.end(number);
    }

    /// Opens a connection with RESP3, which delivers messages on it. A server without RESP3 still serves budgets.
    async fn open(&self, number: u64) -> Result<Open, LeaveReason> {
        let inbound = Arc::clone(&self.inbound);
        let config =
            unbounded().set_push_sender(move |push: PushInfo| inbound.receive(number, &push));
        let opened = match self.open_with(ProtocolVersion::RESP3, &config).await {
            Err(error) if failure::is_older_protocol(&error) => {
                let opened = self.open_with(ProtocolVersion::RESP2, &unbounded()).await;
                opened.map(|commands| (commands, false))
            }
            opened => opened.map(|commands| (commands, true)),
        };
        let (commands, has_pushes) = opened.map_err(|error| failure::reason(&error))?;
        Ok(Open {
            number,
            commands,
            has_pushes,
        })
    }

    async fn open_with(
        &self,
        protocol: ProtocolVersion,
        config: &AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, RedisError> {
        let settings = self.settings.clone().set_protocol(protocol);
        let info = self.client.get_connection_info().clone();
        let client = Client::open(info.set_redis_settings(settings))?;
        client
            .get_multiplexed_async_connection_with_config(config)
            .await
    }
}

/// Returns a configuration without a response timeout: the caller bounds the time of a reply, which may take several
/// commands.
fn unbounded() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(None)
}

impl Inbound {
    /// Handles a pushed message. The client's closure type can fail; this one never does.
    fn receive(&self, number: u64, push: &PushInfo) -> Result<(), ()> {
        match push.kind {
            PushKind::Disconnection => self.end(number),
            PushKind::Message => {
                if let Some((channel, notice)) = message(&push.data) {
                    self.subscribers.notify(number, channel, notice);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&self, number: u64) {
        // An older connection may be reported as ended after a newer one.
        self.ended.fetch_max(number, Ordering::Relaxed);
        self.subscribers.remove_connection(number);
    }
}

/// Parses the channel and the notice of a message.
fn message(data: &[Value]) -> Option<(&str, GateNotice)> {
    let [Value::BulkString(channel), Value::BulkString(text)] = data else {
        return None;
    };
    let notice = GateNotice::of(std::str::from_utf8(text).ok()?)?;
    Some((std::str::from_utf8(channel).ok()?, notice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(text: &str) -> Option<(String, GateNotice)> {
        let data = ["a", text].map(|text| Value::BulkString(text.as_bytes().to_vec()));
        message(&data).map(|(channel, notice)| (channel.to_owned(), notice))
    }

    #[test]
    fn malformed_notices_are_ignored() {
        let notice = GateNotice {
            change: 3,
            closed: Duration::from_millis(1_500),
        };
        assert_eq!(received("3:1500"), Some(("a".to_owned(), notice)));
        let long = "1".repeat(1_000_000);
        for text in [
            "",
            "1",
            ":",
            "-1:5",
            "1:-5",
            "1:2:3",
            "1e3:5",
            "+1:5",
            "1:+5",
            "00000000000000001:5",
            "9007199254740992:1",
            "4503599627370497:1",
            &long,
            &format!("1:{long}"),
        ] {
            assert_eq!(received(text), None, "{text}");
        }
    }
}
