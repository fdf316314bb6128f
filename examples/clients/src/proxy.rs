//! A proxy that passes bytes on, and cuts most connections somewhere.

use crate::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Cutting {
    pub url: String,
    cuts: Arc<AtomicUsize>,
}

impl Cutting {
    /// Passes bytes on, and cuts each connection after at most so many bytes of answers.
    pub async fn start(to: &str, longest: u64, mut random: Random) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let to = to.trim_start_matches("http://").to_owned();
        let cuts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&cuts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let most = (random.next() % longest) as usize;
                let (to, counted) = (to.clone(), Arc::clone(&counted));
                tokio::spawn(async move {
                    if pass(client, &to, most).await.unwrap_or(false) {
                        counted.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        Ok(Self { url, cuts })
    }

    pub fn cuts(&self) -> usize {
        self.cuts.load(Relaxed)
    }
}

/// Whether the connection was cut.
async fn pass(client: TcpStream, to: &str, most: usize) -> std::io::Result<bool> {
    let server = TcpStream::connect(to).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asking = tokio::spawn(async move {
        tokio::io::copy(&mut from_client, &mut to_server)
            .await
            .map(|_| from_client)
    });
    let (mut left, mut buffer) = (most, vec![0; 16 * 1024]);
    loop {
        let read = from_server.read(&mut buffer).await?;
        let passed = &buffer[..read.min(left)];
        to_client.write_all(passed).await?;
        left -= passed.len();
        if read == 0 || left == 0 {
            asking.abort();
            return Ok(read != 0);
        }
    }
}

/// Numbers that are the same in each run (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
