//! The server that everybody calls: it has a quota, is well or is down, as it is told.

#![expect(clippy::disallowed_methods, reason = "an example shows real time")]

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The header in which an attempt says its number.
pub(crate) const ATTEMPT: &str = "x-attempt";
/// Calls in a window, after which it answers 429 until the next one begins.
const QUOTA: u32 = 140;
const WINDOW: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Quota,
    Well,
    Outage,
}

impl Phase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Well => "well",
            Self::Outage => "DOWN",
        }
    }
}

/// What it saw so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// First attempts.
    pub(crate) first: u64,
    /// Retries.
    pub(crate) again: u64,
    /// 429s.
    pub(crate) refused: u64,
    /// 503s.
    pub(crate) failed: u64,
}

impl Counts {
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            first: self.first - before.first,
            again: self.again - before.again,
            refused: self.refused - before.refused,
            failed: self.failed - before.failed,
        }
    }

    pub(crate) fn amplification(&self) -> f64 {
        (self.first + self.again) as f64 / self.first.max(1) as f64
    }
}

pub(crate) struct Server {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    phase: AtomicU8,
    first: AtomicU64,
    again: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    /// When the window of the quota began, and how many calls it had.
    window: Mutex<Option<(Instant, u32)>>,
}

const PHASES: [Phase; 3] = [Phase::Quota, Phase::Well, Phase::Outage];

impl Server {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                tokio::spawn(async move { shared.serve(connection).await });
            }
        });
        Ok(Self { url, shared })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn turn(&self, phase: Phase) {
        let place = PHASES.iter().position(|known| *known == phase);
        let place = u8::try_from(place.unwrap_or_default()).unwrap_or_default();
        self.shared.phase.store(place, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        let Shared {
            first,
            again,
            refused,
            failed,
            ..
        } = &*self.shared;
        let [first, again, refused, failed] =
            [first, again, refused, failed].map(|count| count.load(Ordering::Relaxed));
        Counts {
            first,
            again,
            refused,
            failed,
        }
    }
}

impl Shared {
    /// One request on each connection.
    async fn serve(&self, mut connection: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(&mut connection).lines();
        let mut is_first = true;
        while let Some(line) = lines.next_line().await?.filter(|line| !line.is_empty()) {
            if let Some((name, value)) = line.split_once(": ") {
                is_first &= name != ATTEMPT || value == "1";
            }
        }
        let count = if is_first { &self.first } else { &self.again };
        count.fetch_add(1, Ordering::Relaxed);
        let head = self.answer();
        let answer = format!("HTTP/1.1 {head}Connection: close\r\nContent-Length: 0\r\n\r\n");
        connection.write_all(answer.as_bytes()).await
    }

    fn answer(&self) -> &'static str {
        let phase = PHASES.get(usize::from(self.phase.load(Ordering::Relaxed)));
        match phase {
            Some(Phase::Quota) if !self.has_room() => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                "429 Too Many Requests\r\nRetry-After: 1\r\n"
            }
            Some(Phase::Outage) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                "503 Service Unavailable\r\n"
            }
            _ => "200 OK\r\n",
        }
    }

    fn has_room(&self) -> bool {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (_, calls) = match &mut *window {
            Some(open) if now < open.0 + WINDOW => open,
            other => other.insert((now, 0)),
        };
        *calls += 1;
        *calls <= QUOTA
    }
}
