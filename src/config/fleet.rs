//! `fleet`: budgets and gates that other processes share, and which of a document's they are.

#[cfg(feature = "redis")]
mod joined;
#[cfg(not(feature = "redis"))]
#[path = "fleet/alone.rs"]
mod joined;

#[cfg(test)]
#[cfg(feature = "redis")]
mod tests;

pub(super) use joined::Joined;

use super::block::Node;
use super::fields::{Type, checked, object, table};
use super::schema::{exactly_one, only_with, text_like, with};
use super::types::{duration, name};
use super::words::words;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

table! {
    /// Shares the budgets and gates of all services with the other processes whose documents name the same store and
    /// prefix. The numbers of a budget then mean all of them together, and a pause is one for all. Needs the crate's
    /// feature `redis`. A change takes a restart.
    #[derive(PartialEq)]
    FleetMap("fleet", "A fleet", together()) {
        /// Where the store is, Redis or Valkey: redis://cache:6379. Without a password; for one, give redis_env.
        redis: Arc<str> = url();
        /// The environment variable that has the URL of the store, which may hold a password.
        redis_env: Arc<str> = name();
        /// A fleet that the program gives a name to with RetryConfig::builder().fleet(NAME, ..).
        uses as "use": Arc<str> = name();
        /// What the names of the store's keys begin with: 1 to 64 of A-Z a-z 0-9 . _ - :. Programs whose budgets have other
        /// numbers need another one. Default http-retry.
        prefix: Arc<str> = prefix(), default(&"http-retry");
        /// The longest that a call waits for the store, 1 ms to 1 s; a first attempt does only at the gate. Default 50 ms.
        wait: Duration = duration(), default(&"50ms");
    }
}

/// Whether a service is in the fleet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Membership {
    #[default]
    Member,
    Alone,
}

words! { Membership: "on" => Membership::Member, "off" => Membership::Alone }

const WAYS: [&str; 3] = ["redis", "redis_env", "use"];
const MADE_HERE: [&str; 2] = ["redis", "redis_env"];

fn together() -> Json {
    let own = ["prefix", "wait"].map(|key| only_with(key, &MADE_HERE));
    with(exactly_one(&WAYS), json!({"allOf": own}))
}

pub(super) fn fleet() -> Type<FleetMap> {
    Type {
        read,
        schema: object::<FleetMap>,
    }
}

fn read(node: &Node<'_>) -> Option<FleetMap> {
    let fleet = checked(node, |_: &FleetMap, block| {
        let needless = ["prefix", "wait"].into_iter().find(|key| block.has(key));
        if let Some(key) = needless.filter(|_| block.has("use")) {
            let cause = "has no effect with use: the program sets it";
            block.wrong_at(key, &"", cause);
        }
        match WAYS.iter().filter(|way| block.has(way)).count() {
            0 => Some("names no store: write redis: URL, redis_env: VARIABLE or use: NAME"),
            1 => None,
            _ => Some("names several stores: give one of redis, redis_env and use"),
        }
    })?;
    if cfg!(not(feature = "redis")) {
        let cause =
            "needs the feature redis of the crate http-retry, which this program was built without";
        node.wrong_unseen(cause);
    }
    Some(fleet)
}

/// An error never repeats it, since what is no URL may hold a secret all the same.
fn url() -> Type<Arc<str>> {
    Type {
        read: |node| {
            let url = node.text()?;
            let is_public = !url.contains(['@', '?']);
            if !is_public {
                let cause = "holds a user, a password or a query, which belong in no document: put the URL into an environment variable and write redis_env: VARIABLE";
                node.wrong_unseen(cause);
            }
            is_public.then(|| url.into())
        },
        schema: |_| text_like("^[^@?]+$"),
    }
}

fn prefix() -> Type<Arc<str>> {
    Type {
        read: |node| node.text().map(Arc::from),
        schema: |_| text_like("^[A-Za-z0-9._:-]{1,64}$"),
    }
}
