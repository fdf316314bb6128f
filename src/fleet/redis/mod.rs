//! The store on a Redis or Valkey server. Nothing outside this folder names the crate `redis`.

mod connection;
mod failure;
mod script;
#[cfg(test)]
mod tests;

pub(crate) use script::Script;

use super::names::{BudgetKeys, GateKeys};
use super::store::{Answer, Hear, Store};
use crate::budget::fleet::{BudgetAnswer, BudgetWords, LeaveReason};
use crate::error::ConfigError;
use crate::gate::{GateAnswer, GateWords};
use ::redis::aio::MultiplexedConnection;
use ::redis::{Client, Cmd, ErrorKind, RedisConnectionInfo, RedisError};
use connection::Connection;
use failure::Failure;
use std::sync::Arc;
use std::time::Duration;

/// A server that keeps what the fleet knows.
pub(crate) struct RedisStore {
    connection: Connection,
    budget: Script,
    gate: Script,
}

/// The longest that an answer may take.
const RESPONSE: Duration = Duration::from_secs(1);

impl RedisStore {
    /// The server at a URL, which is not connected to yet.
    pub(crate) fn open(url: &str) -> Result<Self, ConfigError> {
        let client = Client::open(url).map_err(|error| bad_url(url, &error))?;
        let info = client.get_connection_info();
        // What the server is told of the library is one right more that a user of it needs.
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self::with(client, settings))
    }

    /// The server that a client connects to.
    pub(crate) fn of(client: Client) -> Self {
        let settings = client.get_connection_info().redis_settings().clone();
        Self::with(client, settings)
    }

    fn with(client: Client, settings: RedisConnectionInfo) -> Self {
        Self {
            connection: Connection::new(client, settings),
            budget: Script::new(include_str!("../budget.lua")),
            gate: Script::new(include_str!("../gate.lua")),
        }
    }

    /// Where the server is.
    pub(crate) fn address(&self) -> String {
        self.connection.address().to_string()
    }

    /// Runs a script that takes and gives numbers. It is sent once, and once more if the server does not know it yet.
    pub(crate) async fn run(
        &self,
        script: &Script,
        keys: &[&str],
        numbers: &[i64],
    ) -> Result<Vec<i64>, LeaveReason> {
        self.send(script, &script.command(keys, numbers)).await
    }

    async fn send(&self, script: &Script, command: &Cmd) -> Result<Vec<i64>, LeaveReason> {
        let mut open = self.connection.get().await?;
        let answer = evaluate(&mut open.commands, script, command);
        self.within(open.number, answer).await
    }

    /// Hears what is told in a channel, until this says that it is lost: with the connection, of which only the next
    /// subscription makes a new one.
    pub(crate) async fn subscribe(
        &self,
        channel: &str,
        listener: &Arc<dyn Hear>,
    ) -> Result<(), LeaveReason> {
        let mut open = self.connection.get().await?;
        if !open.hears {
            return Err(LeaveReason::NoPush);
        }
        let listeners = self.connection.listeners();
        listeners.add(open.number, channel, listener);
        let subscribed = open.commands.subscribe(channel);
        self.within(open.number, subscribed).await
    }

    /// What comes in time. Without an answer the connection is given up: a network that is cut without a word would hold
    /// it for minutes.
    async fn within<T>(
        &self,
        connection: u64,
        answer: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, LeaveReason> {
        let failure = match tokio::time::timeout(RESPONSE, answer).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Failure::of(&error),
            Err(_) => Failure::silence(),
        };
        if failure.ends_connection {
            self.connection.give_up(connection);
        }
        Err(failure.reason)
    }
}

impl Store for RedisStore {
    fn settle<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        words: &'a BudgetWords,
    ) -> Answer<'a, BudgetAnswer> {
        Box::pin(async move {
            let keys = [keys.budget.as_str(), keys.record.as_str()];
            let numbers = self.run(&self.budget, &keys, &words.numbers()).await?;
            BudgetAnswer::of(&numbers).ok_or(LeaveReason::Script)
        })
    }

    fn step<'a>(&'a self, keys: &'a GateKeys, words: &'a GateWords) -> Answer<'a, GateAnswer> {
        Box::pin(async move {
            let mut command = self.gate.command(&[&keys.gate], &words.numbers());
            command.arg(&keys.channel);
            let numbers = self.send(&self.gate, &command).await?;
            GateAnswer::of(&numbers).ok_or(LeaveReason::Script)
        })
    }

    fn listen<'a>(&'a self, keys: &'a GateKeys, listener: &'a Arc<dyn Hear>) -> Answer<'a, ()> {
        Box::pin(self.subscribe(&keys.channel, listener))
    }
}

async fn evaluate(
    connection: &mut MultiplexedConnection,
    script: &Script,
    command: &Cmd,
) -> Result<Vec<i64>, RedisError> {
    match command.query_async(connection).await {
        Err(error) if failure::is_unknown_script(&error) => {
            let _: String = script.load().query_async(connection).await?;
            command.query_async(connection).await
        }
        answer => answer,
    }
}

/// What is wrong with a URL, without a word of it: it may hold a password.
fn bad_url(url: &str, error: &RedisError) -> ConfigError {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let allowed = match error.kind() {
        _ if scheme.contains("sentinel") => {
            "must be of a server and not of its sentinels: ask them for the primary, and give a redis::Client of it to \
             Fleet::redis_client"
        }
        _ if scheme.contains("cluster") => {
            "must be of one server, which has all slots: a cluster is not followed"
        }
        ErrorKind::InvalidClientConfig if error.to_string().contains("TLS") => {
            "needs a TLS feature of the crate redis, such as tokio-rustls-comp"
        }
        _ => "must be the URL of a server, such as redis://user:password@host:6379/0",
    };
    ConfigError::new("fleet.redis", "the URL", allowed)
}
