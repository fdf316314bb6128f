//! What the tests share that play thousands of random schedules.

use super::server::{Act, FaultServer, Received};
use crate::in_time::IN_VAIN;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use std::convert::Infallible;
use std::future::Future;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

const AT_ONCE: usize = 8;
const TRIES: usize = 3;

/// What did not happen in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InVain {
    Lost,
    NoEnd,
    StillOpen,
}

/// A limit that no server asks for by a delay of its own.
pub(crate) const STALLS: Duration = Duration::from_secs(1_000_000);

/// So many bytes of these letters over and over. Thousands of bodies are made and compared: not byte by byte.
pub(crate) fn text(letters: &[u8], length: usize) -> Vec<u8> {
    let mut text = letters.repeat(length.div_ceil(letters.len()));
    text.truncate(length);
    text
}

/// Waits take no time, and a limit of [`STALLS`] is reached only when the server stalls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steered {
    stalled: Arc<Notify>,
}

impl Runtime for Steered {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let stalled = Arc::clone(&self.stalled);
        match duration {
            STALLS => Box::pin(async move { stalled.notified().await }),
            _ => Box::pin(std::future::ready(())),
        }
    }
}

impl Steered {
    /// Lets a limit pass for each time that the server stalls.
    pub(crate) async fn cut_off_stalls(&self, server: &FaultServer) -> Infallible {
        let stalls = |server: &FaultServer| {
            let received = server.received();
            let stalls = received.iter().filter(|request| request.whole);
            stalls.filter(|request| is_stall(request)).count()
        };
        for cut in 0.. {
            server.until(|server| stalls(server) > cut).await;
            self.stalled.notify_one();
        }
        std::future::pending().await
    }
}

/// Plays as many schedules as this, or as `HTTP_RETRY_SCHEDULES` says, side by side, and adds up what was seen; only the
/// one that `HTTP_RETRY_SEED` names, and nothing to add up, where that is set.
pub(crate) async fn play_all<S, F>(schedules: usize, play: fn(usize) -> F) -> Option<S>
where
    S: Default + AddAssign + Send + 'static,
    F: Future<Output = S> + Send + 'static,
{
    let told = std::env::var("HTTP_RETRY_SCHEDULES").ok();
    let schedules = told.map_or(schedules, |number| number.parse().unwrap());
    if let Ok(seed) = std::env::var("HTTP_RETRY_SEED") {
        play(seed.parse().unwrap()).await;
        return None;
    }
    let mut players = JoinSet::new();
    for first in 0..AT_ONCE {
        players.spawn(async move {
            let mut seen = S::default();
            for seed in (first..schedules).step_by(AT_ONCE) {
                seen += play(seed).await;
            }
            seen
        });
    }
    let mut seen = S::default();
    while let Some(some) = players.join_next().await {
        seen += some.unwrap();
    }
    Some(seen)
}

/// Plays once, and again only when the client has lost the request.
///
/// hyper hands a request to the task of its connection through a channel. Where the connection ends in the moment of the
/// handing over, the request can stay in that channel, and its future never ends. It needs no layer to happen, and no
/// layer can tell it from a slow server.
pub(crate) async fn unless_lost<T, F>(play: impl Fn() -> F) -> Result<T, InVain>
where
    F: Future<Output = Result<T, InVain>>,
{
    for _ in 1..TRIES {
        match play().await {
            Err(InVain::Lost) => {}
            ended => return ended,
        }
    }
    play().await
}

/// What a call gives, if it ends.
pub(crate) async fn in_time<T>(
    call: impl Future<Output = T>,
    servers: &[&FaultServer],
) -> Result<T, InVain> {
    let lost = || servers.iter().any(|server| closed_unread(server));
    timeout(IN_VAIN, call)
        .await
        .map_err(|_| if lost() { InVain::Lost } else { InVain::NoEnd })
}

/// Waits until no connection is open.
pub(crate) async fn all_closed(servers: &[&FaultServer]) -> Result<(), InVain> {
    for server in servers {
        let closed = timeout(IN_VAIN, server.until(|server| server.open() == 0)).await;
        closed.map_err(|_| InVain::StillOpen)?;
    }
    Ok(())
}

/// Whether all of the server's connections are closed, and the last one brought no request.
fn closed_unread(server: &FaultServer) -> bool {
    let last = server.connections();
    let unread = last > 0 && server.received().iter().all(|r| r.connection < last);
    unread && server.open() == 0
}

pub(crate) fn is_stall(request: &Received) -> bool {
    matches!(request.act, Some(Act::StallHead | Act::StallBody(_)))
}
