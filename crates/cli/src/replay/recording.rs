//! Recorded responses as text.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use std::io;

/// The most bytes of a recording.
pub(super) const MAX_BYTES: usize = 1 << 20;
const MAX_RESPONSES: usize = 1_000;
const MAX_HEADERS: usize = 100;
const SEPARATOR: &str = "---";

/// The end of a recorded attempt.
#[derive(Debug, Clone)]
pub(super) enum Recorded {
    Response(Response<Bytes>),
    Error(io::ErrorKind),
}

/// Reads the ends of attempts; an error names the response and the line.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Recorded>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let parts: Vec<&[u8]> = split(text);
    if parts.len() > MAX_RESPONSES {
        let count = parts.len();
        return Err(format!(
            "it has {count} responses, and at most {MAX_RESPONSES} are replayed"
        ));
    }
    if parts.is_empty() {
        return Err("it is empty: write HTTP/1.1 503 Service Unavailable".to_owned());
    }
    let read = (1..)
        .zip(parts)
        .map(|(number, part)| one(part).map_err(|cause| format!("response {number}: {cause}")));
    read.collect()
}

/// The texts between lines of three hyphens; an empty text before or after is none.
fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        if line.trim_ascii() == SEPARATOR.as_bytes() {
            parts.extend(text.get(start..at));
            start = end;
        }
        at = end;
    }
    parts.extend(text.get(start..));
    parts.retain(|part| !part.trim_ascii().is_empty());
    parts
}

fn one(text: &[u8]) -> Result<Recorded, String> {
    let text = text.trim_ascii_start();
    let (head, body) = head_and_body(text);
    let head = std::str::from_utf8(head).map_err(|_| "its head is not UTF-8")?;
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    if let Some(name) = first.strip_prefix("error:") {
        return error(name.trim()).map(Recorded::Error);
    }
    let mut words = first.split_whitespace();
    let version = words.next().unwrap_or_default();
    let status = words
        .next()
        .and_then(|code| code.parse::<StatusCode>().ok());
    let Some(status) = status.filter(|_| version.starts_with("HTTP/")) else {
        return Err("line 1 is no status line: write HTTP/1.1 503 or error: timeout".to_owned());
    };
    let mut response = Response::new(Bytes::copy_from_slice(body));
    *response.status_mut() = status;
    for (number, line) in (2..).zip(lines) {
        let pair = line.split_once(':');
        let name = pair.and_then(|(name, _)| HeaderName::from_bytes(name.trim().as_bytes()).ok());
        let value = pair.and_then(|(_, value)| HeaderValue::from_str(value.trim()).ok());
        let (Some(name), Some(value)) = (name, value) else {
            return Err(format!("line {number} is no header: write NAME: VALUE"));
        };
        if response.headers().len() >= MAX_HEADERS {
            return Err(format!(
                "line {number}: it has more than {MAX_HEADERS} headers"
            ));
        }
        response.headers_mut().append(name, value);
    }
    Ok(Recorded::Response(response))
}

fn error(name: &str) -> Result<io::ErrorKind, String> {
    match name {
        "timeout" => Ok(io::ErrorKind::TimedOut),
        "reset" => Ok(io::ErrorKind::ConnectionReset),
        "refused" => Ok(io::ErrorKind::ConnectionRefused),
        _ => Err("line 1 names no known error: write timeout, reset or refused".to_owned()),
    }
}

/// The part before the first empty line, and the one after it.
fn head_and_body(text: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        if line.trim_ascii().is_empty() {
            let head = text.get(..at).unwrap_or_default();
            return (head, text.get(end..).unwrap_or_default());
        }
        at = end;
    }
    (text, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_and_errors_are_read_in_order() {
        let text = b"HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\n\r\n{\"a\": 1}\n---\nerror: timeout\n---\nHTTP/2 200\n";
        let read = parse(text).unwrap();
        let [
            Recorded::Response(first),
            Recorded::Error(error),
            Recorded::Response(last),
        ] = &read[..]
        else {
            panic!("{read:?}");
        };
        assert_eq!(
            (first.status().as_u16(), last.status().as_u16()),
            (429, 200)
        );
        assert_eq!(first.headers()["retry-after"], "3");
        assert_eq!(&first.body()[..], b"{\"a\": 1}\n");
        assert_eq!(*error, io::ErrorKind::TimedOut);
    }

    #[test]
    fn an_error_names_the_response_and_the_line() {
        let cases = [
            ("", "it is empty"),
            ("---\n---\n", "it is empty"),
            ("hello", "response 1: line 1"),
            ("HTTP/1.1 200\n---\nHTTP/1.1 2000", "response 2: line 1"),
            ("HTTP/1.1 200\na: b\nnone\n\n", "response 1: line 3"),
            ("error: other", "response 1: line 1"),
        ];
        for (text, start) in cases {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(start), "{text:?}: {error}");
        }
        assert!(parse(&vec![b'a'; MAX_BYTES + 1]).is_err());
        assert!(parse("HTTP/1.1 200\n---\n".repeat(MAX_RESPONSES + 1).as_bytes()).is_err());
        let headers = format!("HTTP/1.1 200\n{}", "a: b\n".repeat(MAX_HEADERS + 1));
        assert!(parse(headers.as_bytes()).is_err());
    }
}
