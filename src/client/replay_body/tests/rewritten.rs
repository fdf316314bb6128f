//! Bodies whose recorded bytes are replaced before the next attempt.

use super::*;

/// Sends the first attempt up to this many frames, and then replaces the bytes. Returns the body that the next attempt
/// sends, and the bytes that the function was given.
fn rewritten<B: Body<Data = Bytes, Error = io::Error>>(
    mut first: ReplayBody<B>,
    frames: usize,
    new: Option<&str>,
) -> (Option<ReplayBody<B>>, Option<String>) {
    let mut second = first.replay().unwrap();
    read(&mut first, frames);
    let mut given = None;
    let changed = Replay::rewrite(&mut second, &mut |sent| {
        given = Some(String::from_utf8(sent.to_vec()).unwrap());
        new.map(|new| new.as_bytes().to_vec())
    });
    (changed.then_some(second), given)
}

#[test]
fn a_recorded_body_is_replaced_for_all_later_attempts() {
    for new in ["new", "much longer than before", ""] {
        let (second, given) = rewritten(body(&["ab", "c"], 8), 9, Some(new));
        assert_eq!(given.unwrap(), "abc");
        let mut second = second.unwrap();
        let mut third = second.replay().unwrap();
        for later in [&mut second, &mut third] {
            assert_eq!(read(later, 9), new);
            assert!(next(later).is_none() && later.can_replay(true));
        }
    }
}

#[test]
fn the_trailers_of_the_old_bytes_go_with_them() {
    let frames = vec![
        Ok(Frame::data(Bytes::from_static(b"a"))),
        Ok(Frame::trailers(http::HeaderMap::new())),
    ];
    let (second, _) = rewritten(streamed(frames, DEFAULT_LIMIT), 1, Some("b"));
    assert!(second.is_none(), "the trailers were not sent yet");
    let trailers =
        http::HeaderMap::from_iter([(http::header::ETAG, http::HeaderValue::from_static("7"))]);
    let frames = vec![
        Ok(Frame::data(Bytes::from_static(b"a"))),
        Ok(Frame::trailers(trailers)),
    ];
    let mut first = streamed(frames, DEFAULT_LIMIT);
    let mut second = first.replay().unwrap();
    for _ in 0..2 {
        next(&mut first).unwrap().unwrap();
    }
    assert!(Replay::rewrite(&mut second, &mut |_| Some(b"b".to_vec())));
    let whole = second.collect().now_or_never().unwrap().unwrap();
    assert!(whole.trailers().is_none());
    assert_eq!(whole.to_bytes(), "b");
}

#[test]
fn a_body_that_is_not_recorded_to_its_end_is_not_replaced() {
    let (second, given) = rewritten(body(&["ab", "c"], 8), 1, Some("new"));
    assert!(
        second.is_none() && given.is_none(),
        "a part of it is unread"
    );
    let (second, given) = rewritten(body(&["ab", "c"], 2), 9, Some("new"));
    assert!(second.is_none() && given.is_none(), "it is over the limit");
    let (second, given) = rewritten(failing(), 1, Some("new"));
    assert!(second.is_none() && given.is_none());
}

#[test]
fn a_body_stays_if_the_function_has_no_other_for_it() {
    let mut first = body(&["ab", "c"], 8);
    let mut second = first.replay().unwrap();
    read(&mut first, 9);
    assert!(!Replay::rewrite(&mut second, &mut |_| None));
    assert_eq!(read(&mut second, 9), "abc");
}
