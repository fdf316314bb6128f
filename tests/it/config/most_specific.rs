//! Which service a request belongs to, where more than one takes it.

use super::client::{Client, STACKS, send, statuses};
use super::config;
use http::Request;

/// The matches of two services, the first of which retries once, and the URL that the first must win.
const WON_BY_THE_FIRST: [(&str, &str, &str); 6] = [
    ("{host: a.b}", "{host: '*.b'}", "http://a.b/"),
    ("{host: '*.a.b'}", "{host: '*.b'}", "http://x.a.b/"),
    (
        "{host: [a.long.b, '*.c']}",
        "{host: '*.long.b'}",
        "http://a.long.b/",
    ),
    (
        "{host: [a.b, '*.c']}",
        "{host: '*.b', path: /}",
        "http://a.b/",
    ),
    (
        "{host: ['*.c', '*.long.b']}",
        "{host: '*.b'}",
        "http://x.long.b/",
    ),
    (
        "{path: [/a, /orders/open/*]}",
        "{path: /orders/*}",
        "http://a.b/orders/open/7",
    ),
];

#[test]
fn a_list_is_as_specific_as_its_pattern_that_holds() {
    for (first, second, url) in WON_BY_THE_FIRST {
        for [one, other] in [["a", "b"], ["b", "a"]] {
            let text = format!(
                "
version: 1
retry: {{backoff: none}}
services:
  {one}: {{match: {first}, retry: {{max_retries: 1}}}}
  {other}: {{match: {second}, retry: {{max_retries: 2}}}}
"
            );
            let config = config(&text);
            for stack in STACKS {
                let client = Client::new(statuses(&[503]));
                let request = Request::get(url).body(String::new()).unwrap();
                let ended = send(stack, &config, &client, request);
                assert_eq!(ended.attempts(), 2, "{first} {second} {url} {stack:?}");
            }
        }
    }
}
