//! One line of a head, and how much of it is read.

use http::HeaderValue;

/// As many lines of one header as are read, and of all the headers that name one quota of several together.
pub(super) const MOST_LINES: usize = 64;
/// As many bytes of a line as are read; a longer one is not readable.
pub(super) const MOST_BYTES: usize = 1024;

/// The text of a line without the blanks around it.
pub(super) fn text(line: &HeaderValue) -> Option<&str> {
    let short = Some(line.as_bytes()).filter(|line| line.len() <= MOST_BYTES)?;
    std::str::from_utf8(short).ok().map(str::trim_ascii)
}
