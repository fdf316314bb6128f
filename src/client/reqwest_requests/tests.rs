use super::*;
use crate::client::saved_headers::tests::{Random, entries};
use http::{HeaderValue, Method, Version};
use std::time::Duration;

/// An extension that a program may put into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Note(usize);

/// Any request whose body is bytes, with extensions of its own or without.
fn any_request(random: &mut Random) -> Request {
    let url = any_url(random);
    let mut request = match random.below(2) {
        0 => Request::new(Method::GET, url.parse().unwrap()),
        _ => of_http(random, &url),
    };
    let methods: [&[u8]; 4] = [b"GET", b"POST", b"PURGE", b"X-LONGER-THAN-OTHERS"];
    *request.method_mut() = Method::from_bytes(methods[random.below(4)]).unwrap();
    *request.version_mut() = [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2][random.below(3)];
    *request.headers_mut() = random.map();
    if random.below(2) == 0 {
        let length = random.below(4);
        *request.body_mut() = (length > 0).then(|| Body::from(random.bytes(b"\0az\xff", 90)));
    }
    if random.below(3) == 0 {
        let seconds = random.below(9).try_into().unwrap();
        *request.timeout_mut() = (seconds > 0).then_some(Duration::from_secs(seconds));
    }
    request
}

fn any_url(random: &mut Random) -> String {
    let user = ["", "me@", "me:p%40ss@"][random.below(3)];
    let port = ["", ":80", ":8080"][random.below(3)];
    let path = String::from_utf8(random.bytes(b"/az09%20.~", 30)).unwrap();
    let rest = ["", "?", "?a=b&c=%00", "#d", "?a#d"][random.below(5)];
    format!(
        "http://{user}API.example{port}/{}{rest}",
        path.replace('%', "%25")
    )
}

fn of_http(random: &mut Random, url: &str) -> Request {
    let body = Body::from(random.bytes(b"az", 2_000));
    let mut request = http::Request::post(url).body(body).unwrap();
    if random.below(2) == 0 {
        let note = Note(random.below(1_000));
        request.extensions_mut().insert(note);
    }
    request.try_into().unwrap()
}

/// Returns the text of a request without its extensions, and those.
fn described(request: Request) -> (String, (usize, Option<Note>)) {
    let body = request.body().map(Body::as_bytes);
    let text = format!(
        "{} {} {:?} {:?} {:?} {body:?}",
        request.method(),
        request.url(),
        request.version(),
        entries(request.headers()),
        request.timeout(),
    );
    let request = http::Request::try_from(request).unwrap();
    let extensions = request.extensions();
    (text, (extensions.len(), extensions.get().copied()))
}

/// Returns the request as it is sent, and two copies.
fn attempts((request, saved): (Request, Option<SavedReqwest>)) -> [Request; 3] {
    let (second, saved) = CloneBody::restore(saved.unwrap(), false);
    let (third, last) = CloneBody::restore(saved.unwrap(), true);
    assert!(last.is_none());
    [request, second, third]
}

fn save(request: Request, is_plain: bool) -> (Request, Option<SavedReqwest>) {
    let recorded = 1024;
    CloneBody.save(request, SaveOptions { recorded, is_plain })
}

#[test]
fn all_attempts_are_clones_of_the_request() {
    for seed in 0..10_000 {
        let request = any_request(&mut Random::new(seed));
        let clone = described(request.try_clone().unwrap());
        for attempt in attempts(save(request, false)) {
            assert_eq!(described(attempt), clone, "{seed}");
        }
    }
}

#[test]
fn all_attempts_of_a_plain_request_are_clones() {
    for seed in 0..10_000 {
        let request = any_request(&mut Random::new(seed));
        let (clone, extensions) = described(request.try_clone().unwrap());
        let [first, second, third] = attempts(save(request, true)).map(described);
        assert_eq!(first, (clone.clone(), extensions), "{seed}");
        for (attempt, (_, note)) in [second, third] {
            assert_eq!((attempt, note), (clone.clone(), None), "{seed}");
        }
    }
}

#[test]
fn a_copy_of_bytes_shares_their_memory() {
    let mut request = Request::new(Method::POST, "http://h/".parse().unwrap());
    *request.body_mut() = Some(Body::from(vec![7; 4_096]));
    let address = |request: &Request| request.body().unwrap().as_bytes().unwrap().as_ptr();
    let before = address(&request);
    let (request, saved) = save(request, true);
    assert_eq!(
        [address(&request), address(&saved.unwrap().request)],
        [before; 2]
    );
}

#[test]
fn debug_output_of_a_saved_request_shows_no_secret() {
    const SECRET: &str = "s3cr3t";
    let url = format!("http://me:{SECRET}@first.example/{SECRET}?key={SECRET}");
    let mut request = Request::new(Method::PUT, url.parse().unwrap());
    let value = HeaderValue::from_static(SECRET);
    request.headers_mut().insert("authorization", value);
    *request.body_mut() = Some(SECRET.into());
    let (_, saved) = save(request, false);
    let saved = format!("{saved:?}");
    assert!(saved.contains("PUT") && !saved.contains(SECRET), "{saved}");
}

#[test]
fn host_and_port_are_the_authority_without_user_info() {
    for (url, expected) in [
        ("http://API.example", Some("api.example")),
        ("http://api.example:80/a:1@b", Some("api.example")),
        ("https://api.example:80/", Some("api.example:80")),
        ("http://h:0/", Some("h:0")),
        ("http://h:9/", Some("h:9")),
        ("http://h:10/", Some("h:10")),
        ("http://h:65535", Some("h:65535")),
        ("http://@h:8080/", Some("h:8080")),
        ("http://me@h/", Some("h")),
        ("http://me:p%40ss:1@h:8080?x@y:1", Some("h:8080")),
        ("http://[::1]/", Some("[::1]")),
        ("http://me@[::1]:8080/", Some("[::1]:8080")),
        ("other://me@Host:80#d", Some("Host:80")),
        ("file:///a", None),
        ("data:a@b:1", None),
    ] {
        assert_eq!(host_and_port(&url.parse().unwrap()), expected, "{url}");
    }
}
