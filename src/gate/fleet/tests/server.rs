//! A server of its own for a test, spoken to over a socket in the temporary folder.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that ends with this value.
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
}

/// One connection.
pub(super) struct Connection(BufReader<UnixStream>);

/// What a server replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Text(String),
    Error(String),
    List(Vec<Reply>),
    Nothing,
}

impl Server {
    /// Nothing where no server is installed, which is an error where `HTTP_RETRY_NEEDS_SERVER` is set.
    pub(super) fn start(name: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("http-retry-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut options: Vec<&str> =
            "--port 0 --save --appendonly no --unixsocket server.sock --dir"
                .split(' ')
                .collect();
        options.insert(3, "");
        let start = |program: &str| {
            let mut command = Command::new(program);
            command.args(&options).arg(&folder).current_dir(&folder);
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .ok()
        };
        let child = start("redis-server").or_else(|| start("valkey-server"));
        let needed = std::env::var_os("HTTP_RETRY_NEEDS_SERVER").is_some();
        assert!(
            child.is_some() || !needed,
            "no redis-server or valkey-server on PATH"
        );
        let mut server = Self {
            child: child?,
            folder,
        };
        server.wait();
        Some(server)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a process takes real time to start"
    )]
    fn wait(&mut self) {
        for _ in 0..3_000 {
            let connected = UnixStream::connect(self.folder.join("server.sock"));
            if let Ok(stream) = connected {
                let reply = Connection(BufReader::new(stream)).ask(&["PING"]);
                assert_eq!(reply, Reply::Text("PONG".to_owned()));
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server did not start");
    }

    pub(super) fn connect(&self) -> Connection {
        let stream = UnixStream::connect(self.folder.join("server.sock")).unwrap();
        Connection(BufReader::new(stream))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Connection {
    pub(super) fn ask<T: AsRef<[u8]>>(&mut self, words: &[T]) -> Reply {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            command.extend(format!("${}\r\n", word.len()).into_bytes());
            command.extend(word);
            command.extend(b"\r\n");
        }
        self.0.get_mut().write_all(&command).unwrap();
        self.read()
    }

    /// What the server says next of its own accord, if it says anything soon.
    pub(super) fn hear(&mut self) -> Option<Reply> {
        let soon = Some(Duration::from_millis(300));
        self.0.get_ref().set_read_timeout(soon).unwrap();
        match self.0.fill_buf() {
            Ok(_) => Some(self.read()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    fn read(&mut self) -> Reply {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let line = line.trim_end();
        let (kind, rest) = line.split_at(1);
        match kind {
            "+" | ":" => Reply::Text(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            "$" | "*" if rest == "-1" => Reply::Nothing,
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                Reply::Text(String::from_utf8(bytes).unwrap())
            }
            "*" => {
                let many = rest.parse::<usize>().unwrap();
                Reply::List((0..many).map(|_| self.read()).collect())
            }
            _ => panic!("{line}"),
        }
    }
}

impl Reply {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }
}
