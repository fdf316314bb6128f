//! As much of HTTP/1.1 as the tests need: one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(other, value)| (other == name).then_some(value.as_str()))
    }

    fn read(stream: &TcpStream) -> Option<Self> {
        let mut lines = BufReader::new(stream);
        let mut line = || {
            let mut text = String::new();
            lines.read_line(&mut text).ok()?;
            Some(text.trim_end().to_owned())
        };
        let first = line()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        while let Some((name, value)) = line()?.split_once(':') {
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self {
            method,
            path,
            headers,
            body: Vec::new(),
        };
        let length = request
            .header("content-length")
            .and_then(|length| length.parse().ok());
        request.body.resize(length.unwrap_or(0), 0);
        lines.read_exact(&mut request.body).ok()?;
        Some(request)
    }
}

/// What becomes of a connection.
pub(crate) struct Response {
    head: String,
    body: Vec<u8>,
    end: End,
}

pub(crate) enum End {
    Whole,
    /// The connection is closed before the response, or after a part of it.
    Cut,
    /// Nothing is sent until the client closes the connection. Then this is called.
    Hang(Box<dyn FnOnce() + Send>),
}

impl Response {
    pub(crate) fn of(status: u16) -> Self {
        Self {
            head: format!("HTTP/1.1 {status} \r\nconnection: close\r\n"),
            body: Vec::new(),
            end: End::Whole,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.head += &format!("{name}: {value}\r\n");
        self
    }

    pub(crate) fn body(self, body: &[u8]) -> Self {
        Self {
            body: body.to_owned(),
            ..self
        }
    }

    pub(crate) fn ending(self, end: End) -> Self {
        Self { end, ..self }
    }

    fn write(self, stream: &mut TcpStream) {
        // A client that is gone needs no response.
        let _ = match self.end {
            End::Hang(gone) => {
                let _ = stream.read(&mut [0]);
                gone();
                Ok(())
            }
            End::Cut if self.body.is_empty() => Ok(()),
            End::Cut => {
                let more = self.body.len() + 1_000;
                write!(stream, "{}content-length: {more}\r\n\r\n", self.head)
                    .and_then(|()| stream.write_all(&self.body))
            }
            End::Whole => {
                let length = self.body.len();
                write!(stream, "{}content-length: {length}\r\n\r\n", self.head)
                    .and_then(|()| stream.write_all(&self.body))
            }
        };
    }
}

/// Responds to every request, each on a thread of its own.
pub(crate) fn serve(
    listener: TcpListener,
    respond: impl Fn(&Request) -> Response + Send + Sync + 'static,
) {
    let respond = Arc::new(respond);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let respond = Arc::clone(&respond);
            thread::spawn(move || {
                if let Some(request) = Request::read(&stream) {
                    respond(&request).write(&mut stream);
                }
            });
        }
    });
}
