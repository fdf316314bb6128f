//! haproxy over two backends, of which one dies in the midst of its work.

use clients::load::{in_time, send};
use clients::{Daemon, Result, Server, answer};
use std::time::{Duration, Instant};

const REQUESTS: usize = 10_000;

#[tokio::main]
async fn main() -> Result {
    let stays = Server::start(|_, _| answer(200, "text/plain", "done")).await?;
    let dies = Server::start(|_, _| answer(200, "text/plain", "done")).await?;
    let haproxy = Daemon::haproxy(format!(
        "defaults\n mode http\n timeout connect 1s\n timeout client 10s\n timeout server 10s\n retries 0\n\
         frontend all\n bind 127.0.0.1:PORT\n default_backend both\n\
         backend both\n server stays {}\n server dies {} check inter 300ms fall 2\n",
        stays.authority(),
        dies.authority()
    ));
    let haproxy = haproxy.await?;
    let started = Instant::now();
    let sent = in_time(send(&haproxy.url, REQUESTS, false));
    tokio::pin!(sent);
    let results = tokio::select! {
        results = &mut sent => results?,
        () = tokio::time::sleep(Duration::from_millis(800)) => {
            dies.die();
            sent.await?
        }
    };
    let line = results.check(&[&stays, &dies])?;
    println!(
        "haproxy, one of two backends dies: {line}; {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
