//! stream-download: a file is read while it comes in.

mod client;

use clients::{Meant, Result, Server, answer, same};
use std::io::Read;
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let file: Vec<u8> = (0..1_000_000_u32)
        .map(|byte| byte.to_le_bytes()[1])
        .collect();
    let sent = file.clone();
    let server = Server::failing(2, move || answer(200, "audio/mpeg", sent.clone())).await?;
    let started = Instant::now();
    let url = format!("{}/song.mp3", server.url).parse()?;
    let mut reader = client::open(url).await.map_err(|error| error.to_string())?;
    let read = tokio::task::spawn_blocking(move || {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).map(|_| read)
    });
    let read = read.await??;
    let meant = Meant {
        attempts: 3,
        method: "GET",
        target: "/song.mp3",
        body: b"",
    };
    meant.check("stream-download", &server, started)?;
    same(read.len(), file.len())?;
    same(read == file, true)
}
