//! nginx on HTTP/2, which ends a connection after 10 requests while others are on their way.

use clients::load::{in_time, send};
use clients::{Daemon, Result, Server, answer};
use std::time::Instant;

#[tokio::main]
async fn main() -> Result {
    let backend = Server::start(|_, _| answer(200, "text/plain", "done")).await?;
    let nginx = Daemon::nginx(format!(
        "server {{ listen 127.0.0.1:PORT http2; keepalive_requests 10; location / {{ \
         proxy_pass http://{}; proxy_next_upstream off; }} }}",
        backend.authority()
    ));
    let nginx = nginx.await?;
    let started = Instant::now();
    let results = in_time(send(&nginx.url, 4_000, true)).await?;
    let line = results.check(&[&backend])?;
    println!(
        "nginx, 10 requests a connection of HTTP/2: {line}; {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
