//! Bodies whose bytes can be replaced.

use bytes::Bytes;
use std::any::Any;

/// Replaces the bytes of a body that is plain text or bytes. Returns `false` if it is neither, or if the function
/// returns `None`.
pub(crate) fn rewrite_bytes(
    body: &mut dyn Any,
    with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
) -> bool {
    // By type, since `Replay` covers every body that is `Clone`, and stable Rust has no specialization.
    if let Some(text) = body.downcast_mut::<String>() {
        let new = with(text.as_bytes()).and_then(|new| String::from_utf8(new).ok());
        return replace(text, new);
    }
    if let Some(bytes) = body.downcast_mut::<Vec<u8>>() {
        let new = with(bytes);
        return replace(bytes, new);
    }
    if let Some(bytes) = body.downcast_mut::<Bytes>() {
        let new = with(bytes).map(Bytes::from);
        return replace(bytes, new);
    }
    false
}

fn replace<T>(body: &mut T, new: Option<T>) -> bool {
    let changed = new.is_some();
    new.into_iter().for_each(|new| *body = new);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten<B: PartialEq + 'static>(mut body: B, other: Option<&[u8]>) -> (bool, B) {
        let mut with = |_: &[u8]| other.map(<[u8]>::to_vec);
        let changed = rewrite_bytes(&mut body, &mut with);
        (changed, body)
    }

    #[test]
    fn text_and_bytes_can_be_rewritten_and_nothing_else() {
        let new = Some(&b"new"[..]);
        let text = || "old".to_owned();
        assert_eq!(rewritten(text(), new), (true, "new".to_owned()));
        assert_eq!(rewritten(text(), Some(b"\xff")), (false, text()));
        assert_eq!(rewritten(text(), None), (false, text()));
        assert_eq!(rewritten(vec![1], new), (true, b"new".to_vec()));
        let bytes = Bytes::from_static(b"old");
        assert_eq!(rewritten(bytes, new), (true, Bytes::from_static(b"new")));
        assert_eq!(rewritten(7, new), (false, 7));
    }
}
