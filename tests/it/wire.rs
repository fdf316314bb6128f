//! Real sockets: every failure that a real network makes.

mod bodies;
mod broken_answers;
mod cancel;
mod connection;
mod connections;
mod documents;
mod exactly_once;
mod fresh_connection;
mod http2;
mod limits;
pub(crate) mod own_bodies;
mod proxies;
mod redirects;
pub(crate) mod schedules;
mod server;
pub(crate) mod shared_body;
mod stacks;
mod table;
mod tls;
mod whole_responses;
