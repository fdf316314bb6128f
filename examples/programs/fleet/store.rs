//! The store: an engine of its own if one is on PATH, else the one that the environment names.

#![expect(clippy::disallowed_methods, reason = "an example shows real time")]

use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::sleep;

const ENGINES: [&str; 2] = ["redis-server", "valkey-server"];
/// Has the URL of the store, which may hold a password, so that no argument shows it.
pub(crate) const VARIABLE: &str = "REDIS_URL";

pub(crate) enum Store {
    /// Ends with this value.
    Own {
        engine: &'static str,
        port: u16,
        process: Option<Child>,
    },
    /// It stays as it is.
    Others { url: String },
}

impl Store {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let Some(engine) = ENGINES.into_iter().find(|engine| is_there(engine)) else {
            println!(
                "Neither redis-server nor valkey-server is on PATH: install one (apt install redis-server) to see the store die."
            );
            let url = std::env::var(VARIABLE).ok();
            let url = url.with_context(|| {
                format!("no engine on PATH, and no {VARIABLE} that names a store to use")
            })?;
            return Ok(Self::Others { url });
        };
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut store = Self::Own {
            engine,
            port,
            process: None,
        };
        store.keep(true).await?;
        Ok(store)
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Own { port, .. } => format!("redis://127.0.0.1:{port}"),
            Self::Others { url } => url.clone(),
        }
    }

    /// Without what may be secret.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Own { engine, port, .. } => format!("{engine} at 127.0.0.1:{port}"),
            Self::Others { .. } => format!("the store that {VARIABLE} names"),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        !matches!(self, Self::Own { process: None, .. })
    }

    /// Keeps it up or down: starts or kills it if it is its own and is not so.
    pub(crate) async fn keep(&mut self, up: bool) -> anyhow::Result<()> {
        let Self::Own {
            engine,
            port,
            process,
        } = self
        else {
            return Ok(());
        };
        match (up, process.take()) {
            (true, None) => {
                *process = Some(started(engine, *port)?);
                answers(*port).await?;
            }
            (false, Some(mut running)) => ended(&mut running),
            (_, running) => *process = running,
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Self::Own {
            process: Some(process),
            ..
        } = self
        {
            ended(process);
        }
    }
}

fn is_there(engine: &str) -> bool {
    let mut version = Command::new(engine);
    version
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Keeps nothing on disk, and is reached from this machine alone.
fn started(engine: &str, port: u16) -> anyhow::Result<Child> {
    let port = port.to_string();
    Command::new(engine)
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port,
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{engine} does not start"))
}

fn ended(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

async fn answers(port: u16) -> anyhow::Result<()> {
    for _ in 0..100 {
        if pong(port).is_ok_and(|answer| answer == *b"+PONG\r\n") {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    bail!("the store at 127.0.0.1:{port} does not answer");
}

fn pong(port: u16) -> std::io::Result<[u8; 7]> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(Duration::from_millis(500)))?;
    connection.write_all(b"PING\r\n")?;
    let mut answer = [0; 7];
    connection.read_exact(&mut answer)?;
    Ok(answer)
}
