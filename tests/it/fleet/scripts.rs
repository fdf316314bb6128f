//! What a server was asked so far, for the tests and for the bench of fleets.

use super::server::Server;

/// How many scripts the server has run.
pub(crate) fn scripts(server: &Server) -> u64 {
    let stats = server.ask(&["INFO", "commandstats"]).unwrap();
    let stats: String = redis::from_redis_value(stats).unwrap();
    let calls = stats.lines().find_map(|line| {
        let numbers = line.strip_prefix("cmdstat_evalsha:calls=")?;
        numbers.split(',').next()?.parse().ok()
    });
    calls.unwrap_or_default()
}
