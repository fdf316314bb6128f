//! The ways to answer a request for the rest, honest and not, on both stacks: a body is whole, or an error.

use super::clients::{Stack, why};
use super::raw::{Reply, server};
use super::steered::Steered;
use super::world::File;
use std::ops::Range;
use std::time::Duration;

/// What the server does with the request for the rest of a file of `T` bytes, which begins at `F` and ends at `L`: a
/// status, headers, the bytes that it sends (of the file, or of another), and what tower makes of it. What reqwest decodes
/// it takes the coding's name from, so that the bytes have to tell.
const WAYS: &str = r#"
the rest                     | 206 | content-range: bytes F-L/T; etag: "a"; content-length: N                      | rest  | whole
no length                    | 206 | content-range: bytes F-L/T; etag: "a"                                         | rest  | whole
an upper-case unit           | 206 | content-range: Bytes F-L/T; etag: "a"; content-length: N                      | rest  | whole
the coding of no coding      | 206 | content-range: bytes F-L/T; etag: "a"; content-length: N; content-encoding: identity | rest | whole
the whole under the tag      | 200 | etag: "a"; content-length: T                                                  | whole | whole
no total                     | 206 | content-range: bytes F-L/*; etag: "a"; content-length: N                      | rest  | wrong_range
another total                | 206 | content-range: bytes F-L/9T; etag: "a"; content-length: N                     | rest  | wrong_range
no range                     | 206 | etag: "a"; content-length: N                                                  | rest  | wrong_range
another unit                 | 206 | content-range: items F-L/T; etag: "a"; content-length: N                      | rest  | wrong_range
a range that is none         | 206 | content-range: bytes; etag: "a"; content-length: N                            | rest  | wrong_range
from the start               | 206 | content-range: bytes 0-L/T; etag: "a"; content-length: T                      | whole | wrong_range
one byte late                | 206 | content-range: bytes G-L/T; etag: "a"                                         | late  | wrong_range
a range twice                | 206 | content-range: bytes F-L/T; content-range: bytes F-L/T; etag: "a"             | rest  | wrong_range
two ranges                   | 206 | content-range: bytes F-L/T; content-range: bytes 0-L/T; etag: "a"             | rest  | wrong_range
multipart                    | 206 | content-type: multipart/byteranges; etag: "a"                                 | rest  | wrong_range
another length               | 206 | content-range: bytes F-L/T; etag: "a"; content-length: T                      | whole | wrong_range
another tag                  | 206 | content-range: bytes F-L/T; etag: "b"; content-length: N                      | other | changed
a weak tag                   | 206 | content-range: bytes F-L/T; etag: W/"a"; content-length: N                    | rest  | changed
no tag                       | 206 | content-range: bytes F-L/T; content-length: N                                 | other | changed
a tag without quotes         | 206 | content-range: bytes F-L/T; etag: a; content-length: N                        | rest  | changed
two tags                     | 206 | content-range: bytes F-L/T; etag: "a"; etag: "b"; content-length: N           | rest  | changed
a date for a tag             | 206 | content-range: bytes F-L/T; last-modified: Thu, 01 Jan 2026 00:00:00 GMT      | other | changed
the whole of another         | 200 | etag: "b"; content-length: T                                                  | other | changed
the whole of who knows       | 200 | content-length: T                                                             | other | changed
412                          | 412 | content-length: 0                                                             | none  | changed
416                          | 416 | content-range: bytes */T; content-length: 0                                   | none  | changed
a whole of another length    | 200 | etag: "a"; content-length: 9T                                                 | whole | range_ignored
a rest that is encoded       | 206 | content-range: bytes F-L/T; etag: "a"; content-length: N; content-encoding: gzip | rest | encoded
the same tag for other bytes | 206 | content-range: bytes F-L/T; etag: "a"; content-length: N                      | other | wrong_overlap
more than there is           | 206 | content-range: bytes F-L/T; etag: "a"                                         | more  | too_long
404                          | 404 | content-length: 0                                                             | none  | head_failed
204                          | 204 | etag: "a"                                                                     | none  | head_failed
304                          | 304 | etag: "a"                                                                     | none  | head_failed
503 for ever                 | 503 | content-length: 0                                                             | none  | head_failed
no HTTP                      | -   |                                                                               | none  | head_failed
"#;

/// In an ordinary run.
const FEW: usize = 2;

struct Cut {
    file: File,
    at: usize,
}

impl Cut {
    fn of(number: usize) -> Self {
        let file = File {
            start: 1 + number * 4099,
            length: 1500 + number * 37,
        };
        let at = 1025 + number * 613 % (file.length - 1025);
        Self { file, at }
    }

    fn from(&self) -> usize {
        self.at.saturating_sub(1024)
    }

    fn first(&self) -> Reply {
        let head = format!("content-length: {}\r\netag: \"a\"", self.file.length);
        Reply::new("200 OK", &head).sends(&self.file.bytes(0..self.at))
    }

    fn sent(&self, what: &str) -> Vec<u8> {
        let Self { file, .. } = *self;
        let from = self.from();
        let bytes = |range: Range<usize>| file.bytes(range).to_vec();
        match what {
            "rest" => bytes(from..file.length),
            "late" => bytes(from + 1..file.length),
            "whole" => bytes(0..file.length),
            "more" => bytes(from..file.length + 1),
            "other" => bytes(from + 1..file.length + 1),
            _ => Vec::new(),
        }
    }

    fn reply(&self, status: &str, headers: &str, sends: &str) -> Reply {
        let (from, length) = (self.from(), self.file.length);
        if status == "-" {
            return Reply::raw(b"no answer at all\r\n\r\n");
        }
        let headers = headers
            .replace("F-", &format!("{from}-"))
            .replace("G-", &format!("{}-", from + 1))
            .replace("-L", &format!("-{}", length - 1))
            .replace(": N", &format!(": {}", length - from))
            .replace("9T", &(length + 9).to_string())
            .replace("/T", &format!("/{length}"))
            .replace(": T", &format!(": {length}"))
            .replace("; ", "\r\n");
        Reply::new(&format!("{status} Said"), &headers).sends(&self.sent(sends))
    }
}

fn number() -> usize {
    let told = std::env::var("HTTP_RETRY_SCHEDULES").ok();
    told.map_or(FEW, |number| number.parse::<usize>().unwrap().min(100))
}

#[tokio::test]
async fn the_rest_is_right_or_an_error_however_it_is_answered() {
    let steered = Steered::new(Duration::from_millis(5));
    let ways = WAYS.trim().lines();
    for (row, number) in ways.flat_map(|way| (0..number()).map(move |number| (way, number))) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [what, status, headers, sends, wanted] = cells[..] else {
            panic!("{row}");
        };
        let cut = Cut::of(number);
        for stack in [Stack::Tower, Stack::Middleware] {
            let reply = cut.reply(status, headers, sends);
            let server = server([cut.first(), reply]).await;
            let (read, error) = stack.get(&server.url(), None, &steered).await;
            let seen = error.as_ref().map_or_else(|| "whole".to_owned(), why);
            let what = format!("{what}, {stack:?} {number}: {error:?}");
            match (wanted, stack) {
                ("whole", _) => assert!(read == cut.sent("whole"), "{what}"),
                _ => assert!(read == cut.file.bytes(0..cut.at), "{what}"),
            }
            match (wanted, stack) {
                ("encoded", Stack::Middleware) => assert_ne!(seen, "whole", "{what}"),
                _ => assert_eq!(seen, wanted, "{what}"),
            }
        }
    }
}
