//! A Redis server of a test's own.

use redis::{Client, Connection};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A server on a socket of its own, which ends with this.
pub(super) struct Server {
    process: Child,
    folder: PathBuf,
}

impl Server {
    /// Nothing where there is none on PATH, unless `HTTP_RETRY_NEEDS_SERVER` says that there must be.
    pub(super) fn start() -> Option<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("http-retry-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let engines = ["redis-server", "valkey-server"];
        let started = engines.into_iter().find_map(|engine| {
            let mut command = Command::new(engine);
            command.args(["--port", "0", "--save", "", "--appendonly", "no"]);
            command.args(["--unixsocket", "socket", "--dir"]);
            command.arg(&folder).current_dir(&folder);
            command.stdout(Stdio::piped()).stderr(Stdio::null());
            command.spawn().ok()
        });
        let Some(mut process) = started else {
            let needed = std::env::var_os("HTTP_RETRY_NEEDS_SERVER").is_some();
            assert!(!needed, "no redis-server and no valkey-server on PATH");
            return None;
        };
        let output = BufReader::new(process.stdout.take().unwrap());
        let server = Self { process, folder };
        let ready = |line: &String| line.contains("eady to accept connections");
        let mut lines = output.lines().map_while(Result::ok);
        // Two lines say it, one for each way to connect; the socket's may be the only one.
        assert!(lines.any(|line| ready(&line)), "the server did not start");
        Some(server)
    }

    pub(super) fn connect(&self) -> Connection {
        let socket = self.folder.join("socket");
        let url = format!("redis+unix://{}", socket.display());
        Client::open(url).unwrap().get_connection().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
