//! The store on a Redis or Valkey server. Only this module uses the crate `redis`.

mod connection;
mod failure;
#[cfg(test)]
mod tests;

use super::budget::{BudgetReply, BudgetReport};
use super::gate::{GateReply, GateReport};
use super::names::{BudgetKeys, GateKeys};
use super::store::{Reply, Store, Subscriber, ends_connection};
use ::redis::aio::MultiplexedConnection;
use ::redis::{Client, Cmd, ErrorKind, RedisConnectionInfo, RedisError, cmd};
use connection::RedisConnection;
use http_retry_core::ConfigError;
use http_retry_core::report::LeaveReason;
use sha1_smol::Sha1;
use std::sync::Arc;
use std::time::Duration;

/// A server that keeps the state of a fleet.
pub(super) struct RedisStore {
    connection: RedisConnection,
    budget: Script,
    gate: Script,
}

/// The longest time that a reply may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);

impl RedisStore {
    /// Returns the server at a URL. It does not connect yet.
    pub(super) fn open(url: &str) -> Result<Self, ConfigError> {
        let client = Client::open(url).map_err(|error| bad_url(url, &error))?;
        let info = client.get_connection_info();
        // `CLIENT SETINFO` would need one more right for the user.
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self::with(client, settings))
    }

    /// Returns the server that a client connects to.
    pub(super) fn of(client: Client) -> Self {
        let settings = client.get_connection_info().redis_settings().clone();
        Self::with(client, settings)
    }

    fn with(client: Client, settings: RedisConnectionInfo) -> Self {
        Self {
            connection: RedisConnection::new(client, settings),
            budget: Script::new(include_str!("budget.lua")),
            gate: Script::new(include_str!("gate.lua")),
        }
    }

    /// Returns the address of the server.
    pub(super) fn address(&self) -> String {
        self.connection.address().to_string()
    }

    /// Runs a script that takes and returns numbers. It is sent again if the server does not know the script yet.
    async fn run(
        &self,
        script: &Script,
        keys: &[&str],
        numbers: &[i64],
    ) -> Result<Vec<i64>, LeaveReason> {
        self.send(script, &script.command(keys, numbers)).await
    }

    async fn send(&self, script: &Script, command: &Cmd) -> Result<Vec<i64>, LeaveReason> {
        let mut open = self.connection.get().await?;
        let reply = evaluate(&mut open.commands, script, command);
        self.within(open.number, reply).await
    }

    /// Subscribes to a channel until the connection ends; only the next subscription opens a new one.
    async fn subscribe_to(
        &self,
        channel: &str,
        subscriber: &Arc<dyn Subscriber>,
    ) -> Result<(), LeaveReason> {
        let mut open = self.connection.get().await?;
        if !open.has_pushes {
            return Err(LeaveReason::NoPush);
        }
        let subscribers = self.connection.subscribers();
        // Before the command, since the first notice may arrive before its reply.
        subscribers.add(open.number, channel, subscriber);
        let subscribed = open.commands.subscribe(channel);
        self.within(open.number, subscribed).await
    }

    /// Returns the reply if it is in time. Without one the connection is given up: a network that fails silently would
    /// block it for minutes.
    async fn within<T>(
        &self,
        connection: u64,
        reply: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, LeaveReason> {
        let (reason, is_unreadable) = match tokio::time::timeout(RESPONSE_TIMEOUT, reply).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => (failure::reason(&error), failure::is_unreadable(&error)),
            Err(_) => (LeaveReason::Timeout, false),
        };
        if is_unreadable || ends_connection(reason) {
            self.connection.give_up(connection);
        }
        Err(reason)
    }
}

impl Store for RedisStore {
    fn settle_budget<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        report: &'a BudgetReport,
    ) -> Reply<'a, BudgetReply> {
        Box::pin(async move {
            let keys = [keys.budget.as_str(), keys.record.as_str()];
            let numbers = self.run(&self.budget, &keys, &report.numbers()).await?;
            BudgetReply::of(&numbers).ok_or(LeaveReason::Script)
        })
    }

    fn step_gate<'a>(&'a self, keys: &'a GateKeys, report: &'a GateReport) -> Reply<'a, GateReply> {
        Box::pin(async move {
            // The channel is an argument and not a key: the script only publishes to it.
            let mut command = self.gate.command(&[&keys.gate], &report.numbers());
            command.arg(&keys.channel);
            let numbers = self.send(&self.gate, &command).await?;
            GateReply::of(&numbers).ok_or(LeaveReason::Script)
        })
    }

    fn subscribe<'a>(
        &'a self,
        keys: &'a GateKeys,
        subscriber: &'a Arc<dyn Subscriber>,
    ) -> Reply<'a, ()> {
        Box::pin(self.subscribe_to(&keys.channel, subscriber))
    }
}

/// A script, and the hash by which a server knows it once it is loaded.
struct Script {
    source: &'static str,
    hash: String,
}

impl Script {
    fn new(source: &'static str) -> Self {
        let hash = Sha1::from(source).digest().to_string();
        Self { source, hash }
    }

    /// Returns the command that runs it by its hash.
    fn command(&self, keys: &[&str], numbers: &[i64]) -> Cmd {
        let mut command = cmd("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        command.arg(numbers);
        command
    }

    /// Returns the command that loads it.
    fn load(&self) -> Cmd {
        let mut command = cmd("SCRIPT");
        command.arg("LOAD").arg(self.source);
        command
    }
}

async fn evaluate(
    connection: &mut MultiplexedConnection,
    script: &Script,
    command: &Cmd,
) -> Result<Vec<i64>, RedisError> {
    match command.query_async(connection).await {
        // A restart of the server, or `SCRIPT FLUSH`, loses loaded scripts.
        Err(error) if failure::is_unknown_script(&error) => {
            let _: String = script.load().query_async(connection).await?;
            command.query_async(connection).await
        }
        reply => reply,
    }
}

/// Returns the problem with a URL without quoting it, since it may hold a password.
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
