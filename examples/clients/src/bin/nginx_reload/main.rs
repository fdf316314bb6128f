//! nginx, reloaded every 150 ms under 20,000 requests: each reload closes connections that the client holds.

use clients::load::{in_time, send};
use clients::{Daemon, Result, Server, answer};
use std::time::{Duration, Instant};
use tokio::time::interval;

const REQUESTS: usize = 20_000;

#[tokio::main]
async fn main() -> Result {
    let backend = Server::start(|_, _| answer(200, "text/plain", "done")).await?;
    let nginx = Daemon::nginx(format!(
        "upstream backend {{ server {}; keepalive 32; }} \
         server {{ listen 127.0.0.1:PORT; location / {{ proxy_pass http://backend; proxy_http_version 1.1; \
         proxy_set_header Connection ''; proxy_next_upstream off; }} }}",
        backend.authority()
    ));
    let nginx = nginx.await?;
    let started = Instant::now();
    let mut reloads = 0;
    let mut ticks = interval(Duration::from_millis(150));
    let sent = in_time(send(&nginx.url, REQUESTS, false));
    tokio::pin!(sent);
    let results = loop {
        tokio::select! {
            results = &mut sent => break results?,
            _ = ticks.tick() => {
                nginx.reload()?;
                reloads += 1;
            }
        }
    };
    let line = results.check(&[&backend])?;
    println!(
        "nginx, {reloads} reloads: {line}; {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
