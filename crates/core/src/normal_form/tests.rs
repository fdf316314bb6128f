//! Spellings and their normal forms.

use super::*;
use proptest::prelude::*;

/// The authority of a URI in its normal form.
fn public(uri: &str) -> String {
    let uri: Uri = uri.parse().unwrap();
    let authority = uri.authority().unwrap().as_str();
    let of_uri = authority_of_uri(authority, || uri.scheme_str());
    assert_eq!(
        of_uri,
        normal_authority(authority, uri.scheme_str()),
        "{uri}"
    );
    of_uri.into_owned()
}

#[test]
fn a_path_has_one_normal_form() {
    for (path, normal) in [
        ("/", "/"),
        ("//", "/"),
        ("/v1/pay", "/v1/pay"),
        ("//v1///pay", "/v1/pay"),
        ("//v1/./%70ay/%c3%a9", "/v1/pay/%C3%A9"),
        ("/v1/pay/", "/v1/pay/"),
        ("/v1/pay//", "/v1/pay/"),
        ("/%76%31/%70ay", "/v1/pay"),
        ("/./v1/./pay/.", "/v1/pay/"),
        ("/x/../v1/pay/..", "/v1/"),
        ("/../../v1/pay", "/v1/pay"),
        ("/x/%2e%2E/v1/%2e/pay", "/v1/pay"),
        ("/x//../v1", "/x/v1"),
        ("//../v1", "/v1"),
        ("/x/y/..//../v1", "/x/v1"),
        ("/..", "/"),
        ("/.well-known/..x/...", "/.well-known/..x/..."),
        // Reserved characters mean something else encoded than as they are.
        ("/v1%2fpay;a=b,c", "/v1%2Fpay;a=b,c"),
        ("/a:b@c!$&'()*+,;=~_-.", "/a:b@c!$&'()*+,;=~_-."),
        // An encoded percent is decoded once, and one that begins no escape is data.
        ("/%2576/%25", "/%2576/%25"),
        ("/100%/%7/%zz/%", "/100%25/%257/%25zz/%25"),
        ("/%%37%36", "/%2576"),
        // Bytes that may not stand in a path, UTF-8 or not.
        ("/caf\u{e9}/%ff%c3%a9", "/caf%C3%A9/%FF%C3%A9"),
        ("/a\\b{c}\"|^`[]", "/a%5Cb%7Bc%7D%22%7C%5E%60%5B%5D"),
        // No paths, but targets of their own.
        ("", ""),
        ("*", "*"),
        ("orders/%76", "orders/%76"),
    ] {
        assert_eq!(normal_path(path), normal, "{path}");
        let again = normal_path(normal);
        assert_eq!(again, normal);
        assert!(matches!(again, Cow::Borrowed(_)), "{normal} was copied");
    }
}

#[test]
fn an_authority_has_one_normal_form() {
    for (uri, normal) in [
        ("https://api.example/", "api.example"),
        ("https://API.Example./", "api.example"),
        ("https://me:secret@api.example..:8443/", "api.example:8443"),
        ("https://api.example:/", "api.example"),
        ("https://api.example:443/", "api.example"),
        ("https://api.example:00443/", "api.example"),
        ("HTTP://api.example.:80/", "api.example"),
        ("http://api.example:443/", "api.example:443"),
        ("https://api.example:80/", "api.example:80"),
        ("https://api.example:000008080/", "api.example:8080"),
        ("https://api.example.:8080/", "api.example:8080"),
        ("https://[::1]/", "[::1]"),
        ("https://[0:0::0001]:443/", "[::1]"),
        ("https://[FE80::1]:8443/", "[fe80::1]:8443"),
        ("https://user@[::1]:443/", "[::1]"),
        ("https://./", "."),
    ] {
        assert_eq!(public(uri), normal, "{uri}");
        let again = normal_authority(normal, None);
        assert_eq!(again, normal);
        let is_copied = matches!(again, Cow::Owned(_)) && !normal.contains('[');
        assert!(!is_copied, "{normal} was copied");
    }
    // Only a `Host` header may have these.
    assert_eq!(
        normal_authority("%61PI.example:80", Some("http")),
        "api.example"
    );
    assert_eq!(normal_authority("api.example:80", None), "api.example:80");
}

#[test]
fn an_authority_is_public_wherever_its_capitals_and_user_stand() {
    for length in 1..20 {
        let host = "a".repeat(length);
        assert_eq!(
            public(&format!("http://{host}:8080/A@B")),
            format!("{host}:8080")
        );
        assert_eq!(public(&format!("https://{host}:B@{host}:443")), host);
        for digits in 1..6 {
            let port = "7".repeat(digits);
            assert_eq!(
                public(&format!("http://{host}.:{port}")),
                format!("{host}:{port}")
            );
            assert_eq!(
                public(&format!("http://{host}:0{port}")),
                format!("{host}:{port}")
            );
        }
        for at in 0..length {
            let mut capital = host.clone();
            capital.replace_range(at..=at, "A");
            assert_eq!(public(&format!("http://{capital}:80/")), host, "{capital}");
        }
    }
}

#[test]
fn a_pattern_has_the_normal_form_of_its_paths() {
    for (pattern, normal) in [
        ("/v1/*", "/v1/*"),
        ("//v1/./%70ay/*", "/v1/pay/*"),
        ("/x/../v1/*", "/v1/*"),
        ("/v1/..", "/"),
        ("*", "*"),
        ("**", "**"),
        ("*//pay", "*/pay"),
        ("*/./pay/", "*/pay"),
        ("/v1/pay//", "/v1/pay"),
        ("/v1/*/", "/v1/*"),
        ("/", "/"),
        ("//.", "/"),
        ("/*/../../v1", ""),
        ("/*/x/../pay", "/*/pay"),
        ("/*//../pay", "/*/pay"),
        ("/*..", "/*.."),
        ("/..*/.*", "/..*/.*"),
        ("/b\u{fc}cher/*", "/b%C3%BCcher/*"),
        ("/100%*", "/100%25*"),
        ("/%2a", "/%2A"),
        ("/*/..", ""),
        ("*/..", ""),
        ("*/../x", ""),
        ("/v1/*/%2e%2e/pay", ""),
        ("/v1?x", ""),
        ("/v1#x", ""),
        ("v1", ""),
        ("", ""),
    ] {
        assert_eq!(
            path_pattern(pattern).unwrap_or_default(),
            normal,
            "{pattern}"
        );
    }
}

#[test]
fn a_pattern_for_hosts_has_their_normal_form() {
    for (pattern, normal) in [
        ("API.example.", "api.example"),
        ("*.Example.com.:0443", "*.example.com:443"),
        ("[0:0::1]:8443", "[::1]:8443"),
        ("a_b.example", "a_b.example"),
        ("", ""),
        ("*", ""),
        ("*.", ""),
        (".", ""),
        ("*a", ""),
        ("a.*.b", ""),
        ("me@a", ""),
        ("https://a", ""),
        ("a b", ""),
        ("a\u{7f}b", ""),
        ("b\u{fc}cher.example", ""),
    ] {
        assert_eq!(
            host_pattern(pattern).unwrap_or_default(),
            normal,
            "{pattern}"
        );
    }
}

#[test]
fn a_host_with_a_port_that_no_server_has_is_none() {
    for text in [
        "a:", "a:0", "a:http", "a:+80", "a:65536", "a:1:2", "fe80::1", "[::1", "[::1]80",
    ] {
        assert!(host_pattern(text).is_err(), "{text}");
    }
    for text in ["a", "a:1", "*.a:65535", "[::1]", "[::1]:443"] {
        assert_eq!(host_pattern(text).as_deref(), Ok(text));
    }
}

proptest! {
    /// The normal form of a normal form is itself, whatever a path holds.
    #[test]
    fn a_path_is_normalized_once(path in "/([/.%2eE76fF\u{e9}a;*]|%2e|%2F|%25){0,16}") {
        let normal = normal_path(&path);
        prop_assert!(normal.starts_with('/'));
        prop_assert!(!normal.contains("//") && !normal.split('/').any(|one| one == "." || one == ".."));
        let again = normal_path(&normal);
        prop_assert!(matches!(again, Cow::Borrowed(_)), "{} {} {}", path, normal, again);
    }

    /// A path as a pattern without `*` has the normal form of the path but for its final slash, and matches it.
    #[test]
    fn a_path_is_its_own_pattern(path in "/([/.%2e76a]|%2e|%2F){0,16}") {
        let pattern = path_pattern(&path).unwrap();
        let normal = normal_path(&path);
        prop_assert_eq!(pattern.trim_end_matches('/'), normal.trim_end_matches('/'));
        let with_slash = normal_path(&format!("{path}/")).into_owned();
        prop_assert!(matches_path(&pattern, &normal) && matches_path(&pattern, &with_slash));
    }

    #[test]
    fn an_authority_is_normalized_once(authority in "[aA1.]{1,4}(:[0-9]{0,7})?", scheme in "https?") {
        let normal = normal_authority(&authority, Some(&scheme)).into_owned();
        let again = normal_authority(&normal, Some(&scheme));
        prop_assert!(matches!(again, Cow::Borrowed(_)), "{} {} {}", authority, normal, again);
        prop_assert_eq!(&*again, &*normal);
    }
}

#[test]
fn a_base_url_has_a_port_that_a_server_can_have() {
    let has_base = |at: &str| base_url(&format!("https://{at}/v1")).is_ok();
    assert!(has_base("a") && has_base("a:8443") && has_base("[::1]:8443"));
    assert!(!has_base("a:99999") && !has_base("a:0"));
}
