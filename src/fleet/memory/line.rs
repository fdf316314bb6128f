//! The way of one process to a store in memory, and back.

use super::{Health, MemoryStore};
use crate::budget::fleet::{BudgetAnswer, BudgetWords, LeaveReason};
use crate::fleet::listeners::Listeners;
use crate::fleet::names::{BudgetKeys, GateKeys};
use crate::fleet::store::{Answer, Hear, Store, ends_connection};
use crate::gate::{GateAnswer, GatePush, GateWords};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// A connection, and who hears what by it.
pub(super) struct Line {
    pub(super) store: MemoryStore,
    pub(super) listeners: Listeners,
}

/// The number of the connection: the next one, after it was lost, is the same to those who listen.
const CONNECTION: u64 = 1;

/// The longest that an answer may take.
const RESPONSE: Duration = Duration::from_secs(1);

impl Line {
    /// The connection ends.
    pub(super) fn lose(&self) {
        self.listeners.lose(CONNECTION);
    }

    /// A command is on its way; whether it is taken.
    async fn reaches_store(&self) -> Result<(), LeaveReason> {
        self.store.state().commands += 1;
        self.half_way().await;
        let health = self.store.state().health;
        let failed = match health {
            Health::Well => return Ok(()),
            Health::Fails(reason) => {
                self.half_way().await;
                reason
            }
            Health::Hangs => {
                self.store.0.runtime.sleep(RESPONSE).await;
                LeaveReason::Timeout
            }
        };
        if ends_connection(failed) {
            self.lose();
        }
        Err(failed)
    }

    async fn half_way(&self) {
        let latency = self.store.state().latency;
        if !latency.is_zero() {
            self.store.0.runtime.sleep(latency / 2).await;
        }
    }
}

impl Store for Arc<Line> {
    fn settle<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        words: &'a BudgetWords,
    ) -> Answer<'a, BudgetAnswer> {
        Box::pin(async move {
            self.reaches_store().await?;
            let now = self.store.0.runtime.now();
            let answer = self.store.state().data.settle(keys, words, now);
            self.half_way().await;
            Ok(answer)
        })
    }

    fn step<'a>(&'a self, keys: &'a GateKeys, words: &'a GateWords) -> Answer<'a, GateAnswer> {
        Box::pin(async move {
            self.reaches_store().await?;
            let now = self.store.0.runtime.now();
            let (answer, push) = self.store.state().data.step(keys, words, now);
            if let Some(push) = push {
                self.store.tell(&keys.channel, push);
            }
            self.half_way().await;
            Ok(answer)
        })
    }

    fn listen<'a>(&'a self, keys: &'a GateKeys, listener: &'a Arc<dyn Hear>) -> Answer<'a, ()> {
        Box::pin(async move {
            self.reaches_store().await?;
            if !self.store.state().tells {
                return Err(LeaveReason::Denied);
            }
            self.listeners.add(CONNECTION, &keys.channel, listener);
            self.half_way().await;
            Ok(())
        })
    }
}

impl MemoryStore {
    /// Tells all who listen, after half of the latency.
    fn tell(&self, channel: &str, push: GatePush) {
        let latency = self.state().latency;
        match Handle::try_current() {
            Ok(tokio) if !latency.is_zero() => {
                let (store, channel) = (self.clone(), channel.to_owned());
                let arrives = self.0.runtime.sleep(latency / 2);
                tokio.spawn(async move {
                    arrives.await;
                    store.arrives(&channel, push);
                });
            }
            _ => self.arrives(channel, push),
        }
    }

    fn arrives(&self, channel: &str, push: GatePush) {
        if self.state().health == Health::Hangs {
            return;
        }
        for line in self.lines() {
            line.listeners.tell(CONNECTION, channel, push);
        }
    }
}
