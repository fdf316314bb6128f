//! Request headers that depend on the body.

use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Returns `true` if the body may be changed: it is sent without a coding, and no header depends on its bytes.
///
/// A content coding other than `identity` hides the text. A digest, a checksum or a signature would no longer match,
/// and only the inner layer that made it can make it again: put the retry layer outside of that one.
///
/// # Source
///
/// RFC 9530 (`content-digest`, `repr-digest`), RFC 3230 (`digest`), RFC 9421 (`signature`), AWS Signature Version 4 and
/// similar schemes (an `authorization` scheme that names an HMAC, `x-amz-content-sha256`, `x-amz-checksum-*`).
pub(super) fn may_cut(headers: &HeaderMap) -> bool {
    let encoded = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !is_identity(coding));
    let vouched = headers.keys().any(depends_on_body);
    let signed = headers.get_all(AUTHORIZATION).iter().any(signs);
    !encoded && !vouched && !signed
}

/// Adjusts the headers to a changed body of this length: sets `content-length`, and removes idempotency keys, since
/// they identify the original body.
///
/// No length is set if there is a transfer coding, or if the request has no room for more headers: the client then sets
/// it.
pub(super) fn fix_headers(headers: &mut HeaderMap, length: usize) {
    headers.remove("idempotency-key");
    headers.remove("x-idempotency-key");
    headers.remove(CONTENT_LENGTH);
    if !headers.contains_key(TRANSFER_ENCODING) {
        let _ = headers.try_insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

fn is_identity(coding: &HeaderValue) -> bool {
    let name = coding.as_bytes().trim_ascii();
    name.is_empty() || name.eq_ignore_ascii_case(b"identity")
}

/// Returns `true` if a header with this name depends on the body. `want-...` asks the server for a digest of its
/// response.
fn depends_on_body(name: &HeaderName) -> bool {
    const ENDS: [&str; 5] = [
        "digest",
        "signature",
        "signature-input",
        "content-md5",
        "content-sha256",
    ];
    let name = name.as_str();
    let made = ENDS.iter().any(|end| name.ends_with(end));
    name.starts_with("x-amz-checksum-") || made && !name.starts_with("want-")
}

/// Returns `true` if the credentials cover the body: a scheme that names an HMAC, AWS's, an HTTP signature, or HTTP
/// digest with integrity protection.
fn signs(credentials: &HeaderValue) -> bool {
    let text = String::from_utf8_lossy(credentials.as_bytes()).to_ascii_lowercase();
    let scheme = text.split_ascii_whitespace().next().unwrap_or_default();
    let by_scheme = scheme.contains("hmac") || scheme.starts_with("aws") || scheme == "signature";
    by_scheme || scheme == "digest" && text.contains("auth-int")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        let mut map = HeaderMap::new();
        map.extend(lines.iter().map(line));
        map
    }

    #[test]
    fn plain_bodies_may_be_cut() {
        for lines in [
            &[][..],
            &[("authorization", "Bearer sk-hmac")],
            &[("content-encoding", "identity"), ("content-length", "9")],
            &[("content-encoding", "")],
            &[("authorization", "Basic QVdTNA==")],
            &[("authorization", "Digest username=\"u\", qop=auth")],
            &[("want-content-digest", "sha-256=1")],
            &[("x-api-key", "k"), ("anthropic-version", "2023-06-01")],
        ] {
            assert!(may_cut(&headers(lines)), "{lines:?}");
        }
    }

    #[test]
    fn encoded_and_signed_bodies_are_left_alone() {
        for line in [
            ("content-encoding", "gzip"),
            ("content-encoding", "identity, zstd"),
            ("content-digest", "sha-256=:X48E9q:"),
            ("repr-digest", "sha-256=:X48E9q:"),
            ("digest", "SHA-256=X48E9q"),
            ("content-md5", "Q2hlY2s="),
            ("signature", "sig1=:MEQC:"),
            ("signature-input", "sig1=(\"content-digest\")"),
            ("x-hub-signature", "sha1=0"),
            ("authorization", "AWS4-HMAC-SHA256 Credential=A/b"),
            ("authorization", "AWS4-ECDSA-P256-SHA256 Credential=A"),
            ("authorization", "aws4-hmac-sha256 Credential=A/b"),
            ("authorization", "Signature keyId=\"k\""),
            ("authorization", "HMAC-SHA256 Credential=k"),
            ("authorization", "Digest username=\"u\", qop=auth-int"),
            ("x-amz-content-sha256", "e3b0c442"),
            ("x-ms-content-sha256", "e3b0c442"),
            ("x-amz-checksum-crc32", "AAAA"),
        ] {
            assert!(!may_cut(&headers(&[line])), "{line:?}");
        }
        let two = [("content-encoding", "identity"), ("content-encoding", "br")];
        assert!(!may_cut(&headers(&two)));
    }

    #[test]
    fn the_length_is_stated_anew_and_the_old_key_goes() {
        let mut map = headers(&[
            ("content-length", "100"),
            ("content-length", "100"),
            ("idempotency-key", "a"),
            ("x-idempotency-key", "b"),
            ("content-type", "application/json"),
        ]);
        fix_headers(&mut map, 75);
        let wanted = [
            ("content-length", "75"),
            ("content-type", "application/json"),
        ];
        assert_eq!(map, headers(&wanted));
    }

    #[test]
    fn a_full_map_does_not_keep_an_old_length() {
        let mut map = headers(&[("content-length", "100")]);
        for n in 1..24_576 {
            map.insert(HeaderName::try_from(format!("x-{n}")).unwrap(), n.into());
        }
        fix_headers(&mut map, 75);
        assert_eq!(map["content-length"], "75");
        map.remove(CONTENT_LENGTH);
        map.insert("x-0", 0.into());
        fix_headers(&mut map, 75);
        assert!(!map.contains_key(CONTENT_LENGTH));
    }

    #[test]
    fn a_transfer_coding_stays_without_a_length() {
        let mut map = headers(&[("transfer-encoding", "chunked"), ("content-length", "9")]);
        fix_headers(&mut map, 7);
        assert_eq!(map, headers(&[("transfer-encoding", "chunked")]));
    }
}
