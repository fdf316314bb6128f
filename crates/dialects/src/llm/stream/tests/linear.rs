//! The work that a stream makes grows with its length and not with its square, whatever it is made of.

use super::*;
use proptest::prelude::*;

/// The times that each byte may be gone over, besides once as it comes in: as part of its line, as an object that may
/// be whole, at the end of the stream, and as an event.
const TIMES: usize = 6;

/// Asserts that a stream is read in linear time, in one piece and byte by byte.
fn assert_linear(stream: &[u8]) {
    let start = String::from_utf8_lossy(stream.get(..40).unwrap_or(stream));
    for piece in [stream.len().max(1), 1] {
        let work = work::of(|| {
            let mut peek = Peek::new();
            stream.chunks(piece).for_each(|piece| {
                peek.feed(piece);
            });
            peek.end();
        });
        let most = TIMES * stream.len();
        assert!(work <= most, "{start:?}: {work} of {most} bytes");
    }
}

#[test]
fn lines_that_add_to_one_event_are_not_read_again() {
    let quiet = format!("data: {{{}}}\n", "\"a\":0,".repeat(4_000));
    let open = format!("data: {{{}\n", "\"a\":[".repeat(4_000));
    for (start, line) in [
        ("", "data\n"),
        ("", "data:\n"),
        ("", "data: \n"),
        ("", "data: {\n"),
        ("", "data: }\n"),
        ("data: {\n", "data: }\n"),
        ("data: {}\n", "data\n"),
        ("data: {\"choices\":[]}\n", "data\n"),
        ("", "event: a\n"),
        ("data: {}\n", "event: a\n"),
        (quiet.as_str(), "event: a\n"),
        (quiet.as_str(), "data\n"),
        (open.as_str(), "event: a\n"),
        (open.as_str(), "data: }\n"),
        ("", "id\n"),
        ("", ":\n"),
        ("", "\n"),
        ("", "\r"),
        ("", " \n"),
        ("", "data: {\"choices\":[]}\n"),
        ("", "data: {\"choices\":[]}\n\n"),
        ("", "event: ping\ndata\n\n"),
        ("[", "\n"),
        ("{\"a\":\"", "\\\""),
        ("{", "{"),
    ] {
        let mut stream = start.to_owned();
        while stream.len() < MAX_HOLD_BYTES {
            stream.push_str(line);
        }
        assert_linear(stream.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_mix_of_lines_makes_the_work_grow_faster_than_the_stream(
        start in properties::a_stream(),
        repeated in properties::a_stream(),
        times in 1_usize..3_000,
    ) {
        let mut stream = start;
        stream.extend(repeated.repeat(times).iter().take(MAX_HOLD_BYTES));
        assert_linear(&stream);
    }
}
