//! Bodies whose bytes can be replaced.

use bytes::Bytes;
use std::any::Any;

/// Replaces the bytes of a body that is plain text or bytes. Returns `false` if it is neither, or if the function
/// returns `None`.
pub(crate) fn rewrite_bytes(
    body: &mut dyn Any,
    with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
) -> bool {
    if let Some(text) = body.downcast_mut::<String>() {
        let other = with(text.as_bytes()).and_then(|other| String::from_utf8(other).ok());
        return put(text, other);
    }
    if let Some(bytes) = body.downcast_mut::<Vec<u8>>() {
        let other = with(bytes);
        return put(bytes, other);
    }
    if let Some(bytes) = body.downcast_mut::<Bytes>() {
        let other = with(bytes).map(Bytes::from);
        return put(bytes, other);
    }
    false
}

fn put<T>(place: &mut T, other: Option<T>) -> bool {
    let changed = other.is_some();
    other.into_iter().for_each(|other| *place = other);
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
