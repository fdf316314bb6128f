use super::*;
use proptest::prelude::*;

fn a_part() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        ": ping",
        "event: error",
        "event: ping",
        "data: {\"choices\":[]}",
        "data: {\"type\":\"message_start\"}",
        "data: {\"error\":",
        "data: \"b\\u00e9sy\"}",
        "data: {\"error\":\"é😀\"}",
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}",
        "data: [DONE]",
        "data: {\"type\":\"ping\"}",
        "event: message_start",
        "data",
        "id: 1",
        "retry: 5",
        "\u{feff}",
        "{\"error\": {\"message\": \"}\"}}",
        "{\"choices\":\n[]}",
        " [ {}",
        "\0",
    ]);
    prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => "[a-z:{}\\[\\]\" ]{0,8}"]
}

pub(super) fn a_stream() -> impl Strategy<Value = Vec<u8>> {
    let end = prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r", ""]);
    prop::collection::vec((a_part(), end), 0..8)
        .prop_map(|parts| {
            parts
                .into_iter()
                .map(|(part, end)| part + end)
                .collect::<String>()
        })
        .prop_map(String::into_bytes)
}

/// The decision for a stream in pieces, and whether its end had to be seen first.
fn in_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Peeked, bool) {
    let mut peek = Peek::new();
    let mut last = Peeked::Hold;
    for piece in pieces {
        last = peek.feed(piece);
        if last != Peeked::Hold {
            break;
        }
    }
    let ended = last == Peeked::Hold;
    (peek.end(), ended)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_split_gives_the_same_decision(stream in a_stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let whole = in_pieces(std::iter::once(&stream[..]));
        prop_assert_eq!(&in_pieces(stream.chunks(1)), &whole);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
        prop_assert_eq!(&in_pieces(pieces), &whole);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (seen, _) = decide(&bytes);
        prop_assert_ne!(seen, Peeked::Hold);
    }

    #[test]
    fn an_error_is_json(stream in a_stream()) {
        if let (Peeked::Error(error), _) = decide(&stream) {
            prop_assert!(serde_json::from_slice::<Value>(&error).is_ok_and(|error| error.is_object()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_long_stream_is_decided_wherever_it_is_cut(place in 0_usize..300, step in 1_usize..5_000) {
        let filler = MAX_HOLD_BYTES - FAIL.len() - 150 + place;
        let mut stream = vec![b'x'; filler];
        stream[0] = b':';
        stream.extend_from_slice(b"\n\n");
        stream.extend_from_slice(FAIL.as_bytes());
        let whole = in_pieces(std::iter::once(&stream[..]));
        prop_assert_eq!(in_pieces(stream.chunks(step)), whole);
    }
}
