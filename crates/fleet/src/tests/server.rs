//! A Redis or Valkey server of a test's own, for the tests inside the crate and outside of it. They are ignored by
//! default, since not every machine has one; `cargo test .. -- --ignored` runs them, and they fail without a server.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A server on a free port of this machine that keeps nothing on disk; it ends with this value.
pub(crate) struct Server {
    engine: String,
    arguments: Vec<String>,
    port: u16,
    process: Child,
}

/// Names the engine to start. Default: the first on PATH.
const CHOSEN: &str = "HTTP_RETRY_SERVER";

impl Server {
    /// Starts a server, and returns it once it replies.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let engine = engine().expect("redis-server or valkey-server is on PATH");
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        // Another program may take the port between the look and the start.
        let started = (0..10).find_map(|_| {
            let port = free_port();
            let process = started(&engine, port, &arguments)?;
            Some((port, process))
        });
        let (port, process) = started.expect("the engine starts");
        Self {
            engine,
            arguments,
            port,
            process,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn connect(&self) -> redis::RedisResult<redis::Connection> {
        redis::Client::open(self.url())?.get_connection()
    }

    /// Sends a command on a connection of its own, and returns the reply.
    pub(crate) fn ask(&self, report: &[&str]) -> redis::RedisResult<redis::Value> {
        let mut connection = self.connect()?;
        let mut command = redis::cmd(report[0]);
        command.arg(&report[1..]).query(&mut connection)
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again, on the same port and with nothing in it.
    pub(crate) fn start_again(&mut self) {
        self.kill();
        let process = started(&self.engine, self.port, &self.arguments);
        self.process = process.expect("the port is still free");
    }

    /// Stops it, so that it neither replies nor closes its connections, until `go_on`.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the engine to start, or `None` if there is none on PATH.
pub(crate) fn engine() -> Option<String> {
    let is_there = |name: &String| {
        let mut version = Command::new(name);
        version.arg("--version").stdout(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    if let Ok(chosen) = std::env::var(CHOSEN) {
        assert!(
            is_there(&chosen),
            "{CHOSEN} names {chosen}, which is not on PATH"
        );
        return Some(chosen);
    }
    let known = ["redis-server", "valkey-server"].map(str::to_owned);
    known.into_iter().find(is_there)
}

fn free_port() -> u16 {
    let subscriber = TcpListener::bind("127.0.0.1:0").unwrap();
    subscriber.local_addr().unwrap().port()
}

/// Starts a server, and waits until it replies to `PING`. Returns `None` if it ends before.
fn started(engine: &str, port: u16, arguments: &[String]) -> Option<Child> {
    let mut process = Command::new(engine)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let ready = lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept")));
    // Its output must be read, or it blocks.
    std::thread::spawn(move || lines.count());
    let client = redis::Client::open(("127.0.0.1", port)).unwrap();
    let answers = || {
        let mut connection = client.get_connection()?;
        redis::cmd("PING").query::<redis::Value>(&mut connection)
    };
    // A reply that asks for a password counts too.
    let is_up = ready && !answers().is_err_and(|error| error.is_io_error());
    if !is_up {
        let _ = process.kill();
        let _ = process.wait();
    }
    is_up.then_some(process)
}
