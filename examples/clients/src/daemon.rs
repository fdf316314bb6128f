//! A server of others, in a folder and a process group of its own.

use crate::Result;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// nginx or haproxy on a port of the loopback. Dropping it ends its processes, and removes its folder.
pub struct Daemon {
    pub url: String,
    pub folder: PathBuf,
    process: Child,
}

impl Daemon {
    /// nginx with this inside of `http { .. }`, where `PORT` is its port and `FOLDER` its folder.
    pub async fn nginx(inside: String) -> Result<Self> {
        // Workers of another user could not read the folder.
        let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let user = if root { "user root;" } else { "" };
        let config = format!(
            "{user} worker_processes 2; worker_shutdown_timeout 1s; daemon off; pid FOLDER/pid; \
             error_log FOLDER/error.log; events {{ worker_connections 2048; }} http {{ access_log off; \
             client_body_temp_path FOLDER/b; proxy_temp_path FOLDER/p; fastcgi_temp_path FOLDER/f; \
             uwsgi_temp_path FOLDER/u; scgi_temp_path FOLDER/s; {inside} }}"
        );
        Self::start(
            "nginx",
            &["-e", "FOLDER/error.log", "-c", "FOLDER/config"],
            &config,
        )
        .await
    }

    /// haproxy with this configuration, where `PORT` is its port.
    pub async fn haproxy(config: String) -> Result<Self> {
        Self::start("haproxy", &["-q", "-db", "-f", "FOLDER/config"], &config).await
    }

    async fn start(program: &str, arguments: &[&str], config: &str) -> Result<Self> {
        let port = free_port()?;
        let folder = std::env::temp_dir().join(format!("http-retry-{program}-{port}"));
        std::fs::create_dir_all(&folder)?;
        let place = folder.to_str().ok_or("a folder whose name is no text")?;
        let config = config.replace("PORT", &port.to_string());
        let config = config.replace("FOLDER", place);
        std::fs::write(folder.join("config"), config + "\n")?;
        let arguments = arguments.iter().map(|word| word.replace("FOLDER", place));
        let process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(std::fs::File::create(folder.join("stderr"))?)
            .process_group(0)
            .spawn()?;
        let mut daemon = Self {
            url: format!("http://127.0.0.1:{port}"),
            folder,
            process,
        };
        daemon.listens(port).await?;
        Ok(daemon)
    }

    /// Waits until it takes connections, for at most 10 s.
    async fn listens(&mut self, port: u16) -> Result {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            let ended = self.process.try_wait()?;
            if ended.is_some() || started.elapsed() > Duration::from_secs(10) {
                let said = std::fs::read_to_string(self.folder.join("stderr"))?;
                return Err(format!("it does not listen ({ended:?}): {said}").into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Reads its configuration again.
    pub fn reload(&self) -> Result {
        self.signal("-HUP", self.process.id().to_string())
    }

    fn signal(&self, signal: &str, to: String) -> Result {
        let sent = Command::new("kill").args([signal, "--", &to]).status()?;
        if sent.success() {
            Ok(())
        } else {
            Err(format!("kill {signal} {to}: {sent}").into())
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.signal("-TERM", self.process.id().to_string());
        let started = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if started.elapsed() > Duration::from_secs(3) {
                // Its group holds its workers, and nobody else.
                let _ = self.signal("-KILL", format!("-{}", self.process.id()));
                let _ = self.process.wait();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}
